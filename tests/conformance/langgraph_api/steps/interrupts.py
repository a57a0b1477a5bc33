"""Interrupts: one, two in a step, in a branch and in a subgraph; every way to continue."""

from __future__ import annotations

from typing import Any

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene

INPUT = {"log": ["a"]}


async def one(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await call("wait", client.runs.wait(thread, "ask", input=INPUT))
    await call("thread", client.threads.get(thread))
    await call("state", client.threads.get_state(thread))
    await call("runs", client.runs.list(thread))
    await call("search", client.threads.search(ids=[thread], status="interrupted", select=["interrupts"]))
    await call("resume", client.runs.wait(thread, "ask", command={"resume": "yes"}))
    await call("thread at the end", client.threads.get(thread))
    await call("state at the end", client.threads.get_state(thread))
    await call("resume once more", client.runs.wait(thread, "ask", command={"resume": "again"}))
    run = await call("create", client.runs.create(thread, "ask", input=INPUT))
    await call("join", client.runs.join(thread, run["run_id"]))
    await call("new input", client.runs.wait(thread, "ask", input={"log": ["b"]}))
    resume: Any = {"resume": {"ok": [1, None]}}
    await call("resume with an object", client.runs.wait(thread, "ask", command=resume))


async def streamed(scene: Scene) -> None:
    call, client = scene.call, scene.client
    for mode in ("values", "updates", "debug", "tasks", "checkpoints", "messages-tuple", "events"):
        thread: Any = await scene.thread()
        mode_: Any = mode
        await call(f"{mode}", client.runs.stream(thread, "ask", input=INPUT, stream_mode=mode_))
        if mode in {"values", "updates"}:
            resume = client.runs.stream(thread, "ask", command={"resume": "yes"}, stream_mode=mode_)
            await call(f"{mode}, resume", resume)
    for mode in ("values", "updates"):
        mode_ = mode
        await call(f"two, {mode}", client.runs.stream(None, "ask_two", input=INPUT, stream_mode=mode_))
    stream: Any = client.runs.stream(None, "ask_two", input=INPUT, version="v2")
    await call("two, version 2", [part async for part in stream])


async def two(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    found = await call("wait", client.runs.wait(thread, "ask_two", input=INPUT))
    await call("thread", client.threads.get(thread))
    await call("state", client.threads.get_state(thread))
    ids = {item["value"]["question"]: item["id"] for item in found["__interrupt__"]}
    by_id: Any = {"resume": {ids.get("left", UNKNOWN): "L"}}
    await call("answer the first", client.runs.wait(thread, "ask_two", command=by_id))
    await call("thread with one left", client.threads.get(thread))
    await call("state with one left", client.threads.get_state(thread))
    by_id = {"resume": {ids.get("right", UNKNOWN): "R"}}
    await call("answer the second", client.runs.wait(thread, "ask_two", command=by_id))
    await call("thread at the end", client.threads.get(thread))
    await call("state at the end", client.threads.get_state(thread))
    thread = await scene.thread()
    found = await client.runs.wait(thread, "ask_two", input=INPUT)
    both: Any = {"resume": {item["id"]: item["value"]["question"] for item in found["__interrupt__"]}}
    await call("answer both", client.runs.wait(thread, "ask_two", command=both))
    thread = await scene.thread()
    await client.runs.wait(thread, "ask_two", input=INPUT)
    await call("one value for two", client.runs.wait(thread, "ask_two", command={"resume": "x"}))
    await call("thread after that", client.threads.get(thread))


async def in_a_branch(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await call("wait", client.runs.wait(thread, "branch", input=INPUT))
    await call("thread", client.threads.get(thread))
    await call("state", client.threads.get_state(thread))
    await call("resume", client.runs.wait(thread, "branch", command={"resume": "yes"}))
    thread = await scene.thread()
    await call("values", client.runs.stream(thread, "branch", input=INPUT))
    await call("updates", client.runs.stream(None, "branch", input=INPUT, stream_mode="updates"))


async def beside_a_failure(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await call("wait", client.runs.wait(thread, "ask_or_fail", input=INPUT, raise_error=False))
    await call("thread", client.threads.get(thread))
    await call("state", client.threads.get_state(thread))
    answer = client.runs.wait(thread, "ask_or_fail", command={"resume": "yes"}, raise_error=False)
    await call("resume", answer)
    await call("thread after that", client.threads.get(thread))


async def in_a_subgraph(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await call("wait", client.runs.wait(thread, "nested", input=INPUT))
    await call("thread", client.threads.get(thread))
    await call("resume", client.runs.wait(thread, "nested", command={"resume": "yes"}))
    await call("thread at the end", client.threads.get(thread))
    thread = await scene.thread()
    options: Any = {"stream_mode": ["values", "updates"], "stream_subgraphs": True}
    await call("stream", client.runs.stream(thread, "nested", input=INPUT, **options))
    resume: Any = {"resume": "yes"}
    await call("resume the stream", client.runs.stream(thread, "nested", command=resume, **options))


async def commands(scene: Scene) -> None:
    call, client = scene.call, scene.client
    command: Any
    for name, command in {
        "update": {"update": {"log": ["u"]}},
        "update by pairs": {"update": [["log", ["u"]]]},
        "goto": {"goto": "after"},
        "goto a list": {"goto": ["after"]},
        "send": {"goto": {"node": "after", "input": {"log": ["s"]}}},
        "update and goto": {"update": {"log": ["u"]}, "goto": "after"},
        "update and resume": {"update": {"log": ["u"]}, "resume": "yes"},
        "goto an unknown node": {"goto": "nobody"},
        "unknown key": {"update": {"color": "red"}},
        "empty": {},
        "resume null": {"resume": None},
        "resume false": {"resume": False},
        "resume an unknown id": {"resume": {"0" * 32: "x"}},
    }.items():
        thread = await scene.thread()
        await client.runs.wait(thread, "ask", input=INPUT)
        await call(name, client.runs.wait(thread, "ask", command=command, raise_error=False))
        await call(f"thread after {name}", client.threads.get(thread))
    thread = await scene.thread()
    await call("resume an empty thread", client.runs.wait(thread, "ask", command={"resume": "x"}))
    await call("goto on an empty thread", client.runs.wait(thread, "ask", command={"goto": "after"}))
    await call("update of an empty thread", client.runs.wait(thread, "ask", command={"update": INPUT}))


async def strict(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    found = await client.runs.wait(thread, "ask", input=INPUT)
    unknown: Any = {"resume": {"0" * 32: "x"}}
    refused = client.runs.wait(thread, "ask", command=unknown, strict_resume=True, raise_error=False)
    await call("unknown id", refused)
    await call("thread after that", client.threads.get(thread))
    known: Any = {"resume": {found["__interrupt__"][0]["id"]: "x"}}
    await call("known id", client.runs.wait(thread, "ask", command=known, strict_resume=True))
    await call("nothing waits", client.runs.wait(thread, "ask", command=known, strict_resume=True))


async def edited(scene: Scene) -> None:
    call, client = scene.call, scene.client
    thread = await scene.thread()
    await client.runs.wait(thread, "ask", input=INPUT)
    await call("update the state", client.threads.update_state(thread, {"log": ["edit"]}))
    await call("thread after that", client.threads.get(thread))
    await call("state after that", client.threads.get_state(thread))
    await call("update as the node", client.threads.update_state(thread, {"log": ["n"]}, as_node="ask"))
    await call("thread after the node", client.threads.get(thread))
    await call("go on", client.runs.wait(thread, "ask", input=None))
    await call("copy of a waiting thread", client.threads.copy(thread))


SCENARIOS = (one, streamed, two, in_a_branch, beside_a_failure, in_a_subgraph, commands, strict, edited)
