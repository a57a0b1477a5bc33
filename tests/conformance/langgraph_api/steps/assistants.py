"""Assistants: create, read, update, versions, search, graphs and schemas."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4, uuid5

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene

SYSTEM_NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")


async def create(scene: Scene) -> None:
    call, assistants = scene.call, scene.client.assistants
    await call("graph alone", assistants.create("steps"))
    config: Any = {"tags": ["a"], "recursion_limit": 7, "configurable": {"model": "x"}}
    known = str(uuid4())
    fields = {"metadata": {"owner": "x", "deep": {"a": [1]}}, "name": "Named", "description": "A text"}
    await call("all fields", assistants.create("configured", config, assistant_id=known, **fields))
    await call("context", assistants.create("configured", context={"model": "x"}))
    both: Any = {"configurable": {"model": "y"}}
    await call("config and context", assistants.create("configured", both, context={"model": "x"}))
    await call("empty config", assistants.create("configured", {"configurable": {}}))
    await call("duplicate", assistants.create("steps", assistant_id=known))
    await call("duplicate, raise", assistants.create("steps", assistant_id=known, if_exists="raise"))
    await call(
        "duplicate, do_nothing", assistants.create("steps", assistant_id=known, if_exists="do_nothing")
    )
    other: Any = "replace"
    await call("unknown if_exists", assistants.create("steps", if_exists=other))
    await call("unknown graph", assistants.create("nowhere"))
    await call("no graph", assistants.create(None))
    await call("id that is no UUID", assistants.create("steps", assistant_id="abc"))
    wrong: Any = {"recursion_limit": "x"}
    await call("recursion_limit that is no number", assistants.create("steps", wrong))
    wrong = {"tags": "a"}
    await call("tags that are no list", assistants.create("steps", wrong))
    wrong = {"configurable": [1]}
    await call("configurable that is no object", assistants.create("steps", wrong))
    wrong = [1]
    await call("metadata that is no object", assistants.create("steps", metadata=wrong))
    wrong = 5
    await call("name that is no text", assistants.create("steps", name=wrong))
    wrong = ["model"]
    await call("context that is a list", assistants.create("configured", context=wrong))
    wrong = {"tags": ["a"], "other": 1}
    await call("unknown key of config", assistants.create("steps", wrong))


async def read(scene: Scene) -> None:
    call, assistants = scene.call, scene.client.assistants
    made = await call("create", assistants.create("steps", metadata={"a": 1}, name="read"))
    await call("get", assistants.get(made["assistant_id"]))
    await call("get a system assistant", assistants.get(system_id("chat")))
    await call("get by graph name", assistants.get("chat"))
    await call("get an unknown one", assistants.get(UNKNOWN))
    await call("get an id that is no UUID", assistants.get("no-id"))


def system_id(graph: str) -> str:
    """Return the id of a graph's system assistant."""
    return str(uuid5(SYSTEM_NAMESPACE, graph))


async def update(scene: Scene) -> None:
    call, assistants = scene.call, scene.client.assistants
    made = await call("create", assistants.create("configured", metadata={"a": 1}, name="before"))
    known = made["assistant_id"]
    await call("name", assistants.update(known, name="after"))
    await call("description", assistants.update(known, description="A text"))
    await call("metadata", assistants.update(known, metadata={"b": 2}))
    await call("config", assistants.update(known, config={"configurable": {"model": "x"}}))
    await call("context", assistants.update(known, context={"model": "y"}))
    both: Any = {"config": {"configurable": {"model": "z"}}, "context": {"model": "y"}}
    await call("config and context", assistants.update(known, **both))
    await call("empty config", assistants.update(known, config={}))
    await call("graph", assistants.update(known, graph_id="steps"))
    await call("nothing", assistants.update(known))
    await call("unknown graph", assistants.update(known, graph_id="nowhere"))
    await call("unknown assistant", assistants.update(UNKNOWN, name="x"))
    await call("id that is no UUID", assistants.update("no-id", name="x"))
    wrong: Any = 5
    await call("name that is no text", assistants.update(known, name=wrong))
    wrong = {"recursion_limit": "x"}
    await call("recursion_limit that is no number", assistants.update(known, config=wrong))
    await call("get", assistants.get(known))


async def versions(scene: Scene) -> None:
    call, assistants = scene.call, scene.client.assistants
    made = await call("create", assistants.create("configured", metadata={"kind": "first"}, name="v1"))
    known = made["assistant_id"]
    await call("second version", assistants.update(known, name="v2", context={"model": "x"}))
    await call("third version", assistants.update(known, metadata={"kind": "third"}))
    await call("list", assistants.get_versions(known))
    await call("limit", assistants.get_versions(known, limit=1))
    await call("offset", assistants.get_versions(known, limit=1, offset=1))
    await call("metadata", assistants.get_versions(known, metadata={"kind": "first"}))
    await call("limit 0", assistants.get_versions(known, limit=0))
    await call("limit 10,000", assistants.get_versions(known, limit=10_000))
    await call("negative offset", assistants.get_versions(known, offset=-1))
    await call("of an unknown assistant", assistants.get_versions(UNKNOWN))
    await call("of an id that is no UUID", assistants.get_versions("no-id"))
    await call("set the first", assistants.set_latest(known, 1))
    await call("get after that", assistants.get(known))
    await call("update after that", assistants.update(known, name="v4"))
    await call("list after that", assistants.get_versions(known))
    await call("set an unknown version", assistants.set_latest(known, 99))
    wrong: Any = "one"
    await call("set a version that is no number", assistants.set_latest(known, wrong))
    await call("set the version of an unknown assistant", assistants.set_latest(UNKNOWN, 1))


async def search(scene: Scene) -> None:
    call, assistants = scene.call, scene.client.assistants
    mark = {"mark": scene.mark}
    for number, graph in enumerate(("steps", "chat", "ask"), 1):
        await assistants.create(graph, metadata={**mark, "number": number}, name=f"{scene.mark} {number}")
    await call("metadata", assistants.search(metadata=mark))
    await call("two keys of metadata", assistants.search(metadata={**mark, "number": 2}))
    await call("metadata of none", assistants.search(metadata={**mark, "number": 9}))
    await call("graph", assistants.search(graph_id="chat", metadata=mark))
    await call("unknown graph", assistants.search(graph_id="nowhere", metadata=mark))
    await call("name", assistants.search(name=f"{scene.mark} 1"))
    await call("part of a name in other case", assistants.search(name=scene.mark.upper()))
    await call("limit", assistants.search(metadata=mark, limit=2))
    await call("offset", assistants.search(metadata=mark, limit=2, offset=2))
    await call("offset past the end", assistants.search(metadata=mark, offset=9))
    fields: Any = ("assistant_id", "graph_id", "name", "created_at", "updated_at")
    for field in fields:
        found = assistants.search(metadata=mark, sort_by=field, sort_order="asc")
        await call(f"sort by {field}", _list_names(found, field != "assistant_id"))
    await call("descending", assistants.search(metadata=mark, sort_by="name", sort_order="desc"))
    await call("select", assistants.search(metadata=mark, select=["assistant_id", "name", "version"]))
    await call("as an object", assistants.search(metadata=mark, response_format="object"))
    await call("as an object with more", assistants.search(metadata=mark, limit=2, response_format="object"))
    wrong: Any = "color"
    await call("unknown sort_by", assistants.search(metadata=mark, sort_by=wrong))
    await call("unknown sort_order", assistants.search(metadata=mark, sort_by="name", sort_order=wrong))
    wrong = ["color"]
    await call("unknown field in select", assistants.search(metadata=mark, select=wrong))
    await call("limit 0", assistants.search(metadata=mark, limit=0))
    await call("limit 10,000", assistants.search(metadata=mark, limit=10_000))
    await call("negative offset", assistants.search(metadata=mark, offset=-1))
    await call("the system's", assistants.search(metadata={"created_by": "system"}, graph_id="chat"))
    await call("count by metadata", assistants.count(metadata=mark))
    await call("count by graph", assistants.count(metadata=mark, graph_id="ask"))
    await call("count by name", assistants.count(name=f"{scene.mark} 3"))
    await call("count of none", assistants.count(metadata={"family": "none"}))


async def _list_names(search: Any, exact: bool) -> Any:
    """Return the names in their order, or how many there are where ids decide the order."""
    found = [item["name"] for item in await search]
    return found if exact else len(found)


async def describe(scene: Scene) -> None:
    call, assistants = scene.call, scene.client.assistants
    for graph in ("steps", "chat", "nested", "ask_two", "tools"):
        await call(f"graph of {graph}", assistants.get_graph(system_id(graph)))
    await call("graph by name", assistants.get_graph("steps"))
    await call("xray", assistants.get_graph(system_id("nested"), xray=True))
    await call("xray of depth 1", assistants.get_graph(system_id("nested"), xray=1))
    await call("xray of depth 0", assistants.get_graph(system_id("nested"), xray=0))
    await call("negative xray", assistants.get_graph(system_id("nested"), xray=-1))
    await call("graph of an unknown assistant", assistants.get_graph(UNKNOWN))
    for graph in ("steps", "chat", "configured", "nested"):
        await call(f"schemas of {graph}", assistants.get_schemas(system_id(graph)))
    await call("schemas by name", assistants.get_schemas("steps"))
    await call("schemas of an unknown assistant", assistants.get_schemas(UNKNOWN))
    await call("subgraphs", assistants.get_subgraphs(system_id("nested")))
    await call("subgraphs, recursively", assistants.get_subgraphs(system_id("nested"), recurse=True))
    await call("subgraphs of a namespace", assistants.get_subgraphs(system_id("nested"), "child"))
    await call("subgraphs of an unknown namespace", assistants.get_subgraphs(system_id("nested"), "none"))
    await call("subgraphs of a graph without", assistants.get_subgraphs(system_id("steps")))
    await call("subgraphs by name", assistants.get_subgraphs("nested"))
    await call("subgraphs of an unknown assistant", assistants.get_subgraphs(UNKNOWN))


async def delete(scene: Scene) -> None:
    call, assistants = scene.call, scene.client.assistants
    made = await call("create", assistants.create("steps"))
    await call("delete", assistants.delete(made["assistant_id"]))
    await call("get after that", assistants.get(made["assistant_id"]))
    await call("delete again", assistants.delete(made["assistant_id"]))
    await call("delete an unknown one", assistants.delete(UNKNOWN))
    await call("delete an id that is no UUID", assistants.delete("no-id"))
    other = await assistants.create("steps")
    thread = await scene.thread()
    await call("run on a thread", scene.client.runs.wait(thread, other["assistant_id"], input={"log": ["a"]}))
    await call("delete with threads", assistants.delete(other["assistant_id"], delete_threads=True))
    await call("get the thread after that", scene.client.threads.get(thread))
    third = await assistants.create("steps")
    thread = await scene.thread()
    await scene.client.runs.wait(thread, third["assistant_id"], input={"log": ["a"]})
    await call("delete without threads", assistants.delete(third["assistant_id"]))
    await call("get the thread that stays", scene.client.threads.get(thread))
    await call("its runs", scene.client.runs.list(thread))
    await call("run a deleted assistant", scene.client.runs.wait(thread, third["assistant_id"], input={}))


SCENARIOS = (create, read, update, versions, search, describe, delete)
