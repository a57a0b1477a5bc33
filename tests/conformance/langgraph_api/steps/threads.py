"""Threads: create, read, update, search, copy, prune and expire."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene


async def create(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    await call("empty", threads.create())
    known = str(uuid4())
    await call("metadata and id", threads.create(metadata={"a": 1, "deep": {"b": [2]}}, thread_id=known))
    await call("duplicate", threads.create(thread_id=known))
    await call("duplicate, raise", threads.create(thread_id=known, if_exists="raise"))
    await call("duplicate, do_nothing", threads.create(thread_id=known, if_exists="do_nothing"))
    await call("graph", threads.create(graph_id="steps"))
    await call("graph and metadata", threads.create(graph_id="steps", metadata={"a": 1}))
    await call("unknown graph", threads.create(graph_id="nowhere"))
    await call("id that is no UUID", threads.create(thread_id="abc"))
    wrong: Any = "replace"
    await call("unknown if_exists", threads.create(if_exists=wrong))
    wrong = [1]
    await call("metadata that is no object", threads.create(metadata=wrong))
    await call("without a body", scene.client.http.post("/threads", json=None))
    await call("body that is a list", scene.client.http.post("/threads", json=[]))


async def supersteps(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    steps: Any = [
        {"updates": [{"values": {"log": ["a"]}, "as_node": "__input__"}]},
        {"updates": [{"values": {"log": ["b"]}, "as_node": "first"}]},
    ]
    made = await call("create", threads.create(graph_id="steps", supersteps=steps))
    await call("get", threads.get(made["thread_id"]))
    await call("state", threads.get_state(made["thread_id"]))
    await call("history", threads.get_history(made["thread_id"]))
    await call("run from there", scene.client.runs.wait(made["thread_id"], "steps", input=None))
    await call("without a graph", threads.create(supersteps=steps))
    steps = [{"updates": [{"values": {"log": ["a"]}, "as_node": "nobody"}]}]
    await call("unknown node", threads.create(graph_id="steps", supersteps=steps))


async def read(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    thread = await scene.thread(metadata={"a": 1})
    await call("get", threads.get(thread))
    await call("include ttl", threads.get(thread, include=["ttl"]))
    await call("include something unknown", threads.get(thread, include=["color"]))
    await call("get an unknown one", threads.get(UNKNOWN))
    await call("get an id that is no UUID", threads.get("abc"))
    await call("run", scene.client.runs.wait(thread, "steps", input={"log": ["a"], "name": "n", "count": 1}))
    await call("get after a run", threads.get(thread))


async def update(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    thread = await scene.thread(metadata={"a": 1})
    await call("metadata", threads.update(thread, metadata={"b": 2}))
    await call("overwrite", threads.update(thread, metadata={"a": {"c": 3}}))
    await call("empty metadata", threads.update(thread, metadata={}))
    await call("minimal", threads.update(thread, metadata={"d": 4}, return_minimal=True))
    await call("get", threads.get(thread))
    await call("unknown thread", threads.update(UNKNOWN, metadata={}))
    await call("id that is no UUID", threads.update("abc", metadata={}))
    wrong: Any = "x"
    await call("metadata that is no object", threads.update(thread, metadata=wrong))


async def ttl(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    made = await call("create with minutes", threads.create(ttl=60))
    await call("get with ttl", threads.get(made["thread_id"], include=["ttl"]))
    await call("create with a strategy", threads.create(ttl={"ttl": 60, "strategy": "delete"}))
    await call("create with keep_latest", threads.create(ttl={"ttl": 60, "strategy": "keep_latest"}))
    await call("create with an unknown strategy", threads.create(ttl={"ttl": 60, "strategy": "archive"}))
    await call("create without minutes", threads.create(ttl={"strategy": "delete"}))
    await call("create with negative minutes", threads.create(ttl=-1))
    await call("create with zero minutes", threads.create(ttl=0))
    await call("create with text", threads.create(ttl={"ttl": "soon"}))
    await call("update", threads.update(made["thread_id"], metadata={}, ttl=5))
    await call("get after the update", threads.get(made["thread_id"], include=["ttl"]))
    await call("update an unknown thread", threads.update(UNKNOWN, metadata={}, ttl=5))


async def search(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    mark = {"mark": scene.mark}
    ids = [await scene.thread(metadata={**mark, "number": number}) for number in (1, 2, 3)]
    await scene.client.runs.wait(ids[0], "steps", input={"log": ["a"], "name": "x"})
    await scene.client.runs.wait(ids[1], "ask", input={"log": ["a"], "name": "y"})
    await call("metadata", threads.search(metadata=mark))
    await call("two keys of metadata", threads.search(metadata={**mark, "number": 3}))
    await call("metadata of none", threads.search(metadata={**mark, "number": 9}))
    await call("values", threads.search(metadata=mark, values={"name": "x"}))
    await call("values of none", threads.search(metadata=mark, values={"name": "z"}))
    await call("ids", threads.search(ids=[ids[2]]))
    await call("ids and metadata", threads.search(ids=[ids[2]], metadata={"number": 1}))
    await call("unknown ids", threads.search(ids=[UNKNOWN]))
    await call("ids that are no UUIDs", threads.search(ids=["abc"]))
    for status in ("idle", "interrupted", "busy", "error"):
        await call(f"status {status}", threads.search(metadata=mark, status=status))
    await call("limit", threads.search(metadata=mark, limit=2))
    await call("offset", threads.search(metadata=mark, limit=2, offset=2))
    await call("offset past the end", threads.search(metadata=mark, offset=9))
    fields: Any = ("created_at", "updated_at", "status", "state_updated_at", "thread_id")
    for name in fields:
        found = threads.search(metadata=mark, sort_by=name, sort_order="asc")
        await call(f"sort by {name}", _list_numbers(found, name != "thread_id"))
    found = threads.search(metadata=mark, sort_by="created_at", sort_order="desc")
    await call("descending", _list_numbers(found, True))
    await call("select", threads.search(metadata=mark, select=["thread_id", "status", "metadata"]))
    await call("select values", threads.search(metadata=mark, select=["values", "interrupts"]))
    paths = {"first": "values.log[0]", "last": "values.log[-1]", "none": "values.nothing"}
    await call("extract", threads.search(metadata=mark, extract=paths))
    await call("extract and select", threads.search(metadata=mark, select=["thread_id"], extract=paths))
    await call("extract with a bad path", threads.search(metadata=mark, extract={"x": "secrets.key"}))
    await _refuse(scene, mark)
    await call("count", threads.count(metadata=mark))
    await call("count by status", threads.count(metadata=mark, status="idle"))
    await call("count by values", threads.count(metadata=mark, values={"name": "y"}))
    await call("count of none", threads.count(metadata={"mark": "none"}))


async def _list_numbers(search: Any, exact: bool) -> Any:
    """Return the numbers in their order, or how many there are where ids decide the order."""
    found = [item["metadata"]["number"] for item in await search]
    return found if exact else len(found)


async def _refuse(scene: Scene, mark: dict[str, str]) -> None:
    call, threads = scene.call, scene.client.threads
    wrong: Any = "color"
    await call("unknown status", threads.search(metadata=mark, status=wrong))
    await call("unknown sort_by", threads.search(metadata=mark, sort_by=wrong))
    await call("unknown sort_order", threads.search(metadata=mark, sort_by="status", sort_order=wrong))
    wrong = ["color"]
    await call("unknown field in select", threads.search(metadata=mark, select=wrong))
    await call("limit 0", threads.search(metadata=mark, limit=0))
    await call("limit 10,000", threads.search(metadata=mark, limit=10_000))
    await call("negative offset", threads.search(metadata=mark, offset=-1))
    wrong = "x"
    await call("metadata that is no object", threads.search(metadata=wrong))


async def copy(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    thread = await scene.thread(metadata={"a": 1})
    await call("copy an empty thread", threads.copy(thread))
    await scene.client.runs.wait(thread, "steps", input={"log": ["a"]})
    made = await call("copy", threads.copy(thread))
    await call("get the copy", threads.get(made["thread_id"]))
    await call("its state", threads.get_state(made["thread_id"]))
    await call("its history", threads.get_history(made["thread_id"]))
    await call("its runs", scene.client.runs.list(made["thread_id"]))
    await call("run it", scene.client.runs.wait(made["thread_id"], "steps", input={"log": ["b"]}))
    await call("state of the original", threads.get_state(thread, select=["values"]))
    await call("copy an unknown thread", threads.copy(UNKNOWN))
    await call("copy an id that is no UUID", threads.copy("abc"))


async def prune(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    kept, gone = await scene.thread(), await scene.thread()
    for thread in (kept, gone):
        await scene.client.runs.wait(thread, "steps", input={"log": ["a"]})
    await call("keep_latest", threads.prune([kept], strategy="keep_latest"))
    await call("history after that", threads.get_history(kept))
    await call("state after that", threads.get_state(kept))
    await call("delete", threads.prune([gone]))
    await call("get after that", threads.get(gone))
    await call("unknown threads", threads.prune([UNKNOWN]))
    await call("no threads", threads.prune([]))
    await call("ids that are no UUIDs", threads.prune(["abc"]))
    wrong: Any = "archive"
    await call("unknown strategy", threads.prune([kept], strategy=wrong))


async def delete(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    thread = await scene.thread()
    await scene.client.runs.wait(thread, "steps", input={"log": ["a"]})
    await call("delete", threads.delete(thread))
    await call("get after that", threads.get(thread))
    await call("its state", threads.get_state(thread))
    await call("its runs", scene.client.runs.list(thread))
    await call("delete again", threads.delete(thread))
    await call("delete an unknown thread", threads.delete(UNKNOWN))
    await call("delete an id that is no UUID", threads.delete("abc"))


SCENARIOS = (create, supersteps, read, update, ttl, search, copy, prune, delete)
