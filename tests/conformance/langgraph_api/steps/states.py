"""States of threads: read, update, fork and history."""

from __future__ import annotations

from typing import Any

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene


async def read(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    thread = await scene.thread()
    await call("of an empty thread", threads.get_state(thread))
    await scene.client.runs.wait(thread, "steps", input={"log": ["a"], "count": 1})
    state = await call("after a run", threads.get_state(thread))
    checkpoint = state["checkpoint"]
    await call("by checkpoint", threads.get_state(thread, checkpoint=checkpoint))
    await call("by checkpoint id", threads.get_state(thread, checkpoint_id=checkpoint["checkpoint_id"]))
    parent = state["parent_checkpoint"]
    await call("of the parent", threads.get_state(thread, checkpoint=parent))
    await call("select", threads.get_state(thread, select=["values", "next"]))
    await call("select one value", threads.get_state(thread, select=["values.log"]))
    await call("select with a checkpoint", threads.get_state(thread, checkpoint=checkpoint, select=["next"]))
    wrong: Any = ["color"]
    await call("select something unknown", threads.get_state(thread, select=wrong))
    await call("subgraphs", threads.get_state(thread, subgraphs=True))
    await call("unknown checkpoint id", threads.get_state(thread, checkpoint_id=UNKNOWN))
    await call("checkpoint id that is no UUID", threads.get_state(thread, checkpoint_id="abc"))
    unknown: Any = {"checkpoint_id": UNKNOWN, "checkpoint_ns": ""}
    await call("unknown checkpoint", threads.get_state(thread, checkpoint=unknown))
    await call("of an unknown thread", threads.get_state(UNKNOWN))
    await call("of an id that is no UUID", threads.get_state("abc"))


async def messages(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    question = {"messages": [{"role": "user", "content": "hello", "id": "m1"}]}
    await call("run", client.runs.wait(thread, "chat", input=question))
    await call("state", client.threads.get_state(thread))
    await call("thread", client.threads.get(thread))
    more = {"messages": [{"type": "human", "content": [{"type": "text", "text": "parts"}]}]}
    await call("run with parts", client.runs.wait(thread, "chat", input=more))
    remove = {"messages": [{"type": "remove", "id": "m1", "content": ""}]}
    await call("remove a message", client.threads.update_state(thread, remove, as_node="call"))
    await call("state after that", client.threads.get_state(thread))
    await call("role that is unknown", client.runs.wait(thread, "chat", input={"messages": [{"role": "x"}]}))
    await call("tool calls", client.runs.wait(None, "tools", input=question))


async def update(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    thread = await scene.thread()
    await call("empty thread", threads.update_state(thread, {"log": ["x"]}))
    await call("empty thread, as a node", threads.update_state(thread, {"log": ["x"]}, as_node="first"))
    thread = await scene.thread(graph_id="steps")
    await call("thread of a graph", threads.update_state(thread, {"log": ["x"]}, as_node="first"))
    await call("state of a thread of a graph", threads.get_state(thread))
    thread = await scene.thread()
    await scene.client.runs.wait(thread, "steps", input={"log": ["a"]})
    made = await call("values", threads.update_state(thread, {"log": ["x"], "count": 2}))
    await call("state", threads.get_state(thread))
    await call("thread", threads.get(thread))
    await call("as a node", threads.update_state(thread, {"log": ["y"]}, as_node="first"))
    await call("state as a node", threads.get_state(thread))
    await call("run on from there", scene.client.runs.wait(thread, "steps", input=None))
    await call("None", threads.update_state(thread, None))
    await call("None, as a node", threads.update_state(thread, None, as_node="second"))
    await call("list of values", threads.update_state(thread, [{"log": ["l"]}], as_node="second"))
    await call("as the end", threads.update_state(thread, None, as_node="__end__"))
    await call("as the start", threads.update_state(thread, {"log": ["s"]}, as_node="__start__"))
    await call("as an unknown node", threads.update_state(thread, {"log": ["z"]}, as_node="nobody"))
    await call("unknown key", threads.update_state(thread, {"color": "red"}))
    wrong: Any = {"log": 5}
    await call("value of a wrong type", threads.update_state(thread, wrong))
    wrong = "text"
    await call("values that are text", threads.update_state(thread, wrong))
    earlier = made["checkpoint"]
    fork = await call("fork", threads.update_state(thread, {"log": ["fork"]}, checkpoint=earlier))
    await call("state of the fork", threads.get_state(thread, checkpoint=fork["checkpoint"]))
    by_id = earlier["checkpoint_id"]
    await call("fork by id", threads.update_state(thread, {"log": ["f"]}, checkpoint_id=by_id))
    await call("unknown checkpoint", threads.update_state(thread, {"log": ["f"]}, checkpoint_id=UNKNOWN))
    await call("unknown thread", threads.update_state(UNKNOWN, {"log": ["x"]}))
    await call("id that is no UUID", threads.update_state("abc", {"log": ["x"]}))


async def history(scene: Scene) -> None:
    call, threads = scene.call, scene.client.threads
    thread = await scene.thread()
    await call("of an empty thread", threads.get_history(thread))
    await scene.client.runs.wait(thread, "steps", input={"log": ["a"]}, metadata={"turn": 1})
    await scene.client.runs.wait(thread, "steps", input={"log": ["b"]}, metadata={"turn": 2})
    states = await call("all", threads.get_history(thread))
    await call("limit", threads.get_history(thread, limit=1))
    await call("limit 0", threads.get_history(thread, limit=0))
    await call("limit 10,000", threads.get_history(thread, limit=10_000))
    before = states[1]["checkpoint"]
    await call("before a checkpoint", threads.get_history(thread, before=before, limit=2))
    await call("before an id", threads.get_history(thread, before=before["checkpoint_id"], limit=2))
    await call("metadata", threads.get_history(thread, metadata={"source": "input"}))
    await call("metadata of a step", threads.get_history(thread, metadata={"step": 0}))
    await call("metadata of none", threads.get_history(thread, metadata={"source": "fork"}))
    await call("of a checkpoint", threads.get_history(thread, checkpoint=before, limit=2))
    await call("select", threads.get_history(thread, limit=1, select=["values", "next"]))
    await call("select one value", threads.get_history(thread, limit=1, select=["values.log"]))
    wrong: Any = ["color"]
    await call("select something unknown", threads.get_history(thread, select=wrong))
    await call("before an unknown id", threads.get_history(thread, before=UNKNOWN))
    await call("by GET", scene.client.http.get(f"/threads/{thread}/history", params={"limit": 1}))
    await call("of an unknown thread", threads.get_history(UNKNOWN))
    await call("of an id that is no UUID", threads.get_history("abc"))


async def replay(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await client.runs.wait(thread, "steps", input={"log": ["a"]})
    states = await client.threads.get_history(thread)
    middle: Any = next(state["checkpoint"] for state in states if state["next"] == ["second"])
    middle.pop("thread_id", None)
    await call("run from a checkpoint", client.runs.wait(thread, "steps", input=None, checkpoint=middle))
    by_id = middle["checkpoint_id"]
    await call("run from an id", client.runs.wait(thread, "steps", input={"log": ["c"]}, checkpoint_id=by_id))
    await call("run from an unknown id", client.runs.wait(thread, "steps", input={}, checkpoint_id=UNKNOWN))
    await call("history", client.threads.get_history(thread, limit=20))


async def subgraphs(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await call("run", client.runs.wait(thread, "nested", input={"log": ["a"]}))
    state = await call("state", client.threads.get_state(thread))
    await call("state with subgraphs", client.threads.get_state(thread, subgraphs=True))
    inner: Any = state["tasks"][0]["checkpoint"]
    await call("state of the subgraph", client.threads.get_state(thread, checkpoint=inner))
    await call("history of the subgraph", client.threads.get_history(thread, checkpoint=inner))
    answer = {"log": ["edited"]}
    await call("update the subgraph", client.threads.update_state(thread, answer, checkpoint=inner))
    await call("state after that", client.threads.get_state(thread, subgraphs=True))
    await call("resume", client.runs.wait(thread, "nested", command={"resume": "yes"}))
    await call("state at the end", client.threads.get_state(thread, subgraphs=True))
    await call("history with tasks", client.threads.get_history(thread))


SCENARIOS = (read, messages, update, history, replay, subgraphs)
