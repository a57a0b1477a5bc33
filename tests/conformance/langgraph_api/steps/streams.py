"""Streams: each mode, subgraphs, errors, resumption, joins and disconnects."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import Any

from tests.conformance.langgraph_api.recorder import UNKNOWN, Parts, Scene

INPUT = {"log": ["a"]}
QUESTION = {"messages": [{"role": "user", "content": "hello", "id": "m1"}]}
JOIN_SECONDS = 4.0
MODES: Any = (
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "events",
    "tasks",
    "checkpoints",
    "debug",
    "custom",
    "tools",
    "lifecycle",
)


async def modes(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    for mode in MODES:
        stream = runs.stream(await scene.thread(), "chat", input=QUESTION, stream_mode=mode)
        await call(f"chat, {mode}", stream)
    for mode in ("values", "updates", "debug", "tasks", "checkpoints"):
        await call(
            f"steps, {mode}", runs.stream(await scene.thread(), "steps", input=INPUT, stream_mode=mode)
        )
    await call("no mode", runs.stream(await scene.thread(), "steps", input=INPUT))
    several: Any = ["values", "updates", "custom"]
    await call("several modes", runs.stream(None, "writer", input=INPUT, stream_mode=several))
    await call("custom", runs.stream(None, "writer", input=INPUT, stream_mode="custom"))
    empty: Any = []
    await call("empty list of modes", runs.stream(None, "steps", input=INPUT, stream_mode=empty))
    wrong: Any = "colors"
    await call("unknown mode", runs.stream(None, "steps", input=INPUT, stream_mode=wrong))


async def messages(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    for mode in ("messages", "messages-tuple", "updates", "events"):
        await call(f"tools, {mode}", runs.stream(None, "tools", input=QUESTION, stream_mode=mode))
    both: Any = ["messages-tuple", "values"]
    await call("tokens and values", runs.stream(None, "chat", input=QUESTION, stream_mode=both))
    stream: Any = runs.stream(None, "chat", input=QUESTION, stream_mode=both, version="v2")
    parts = [part async for part in stream]
    await call("version 2", parts)


async def subgraphs(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    several: Any = ["values", "updates", "custom"]
    for mode in ("values", "updates", "debug", "tasks", "checkpoints", several):
        thread = await scene.thread()
        stream = runs.stream(thread, "nested", input=INPUT, stream_mode=mode, stream_subgraphs=True)
        await call(f"with subgraphs, {mode}", stream)
    await call("without subgraphs", runs.stream(None, "nested", input=INPUT, stream_mode="updates"))


async def options(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    thread = await scene.thread()
    created: list[Any] = []
    stream = runs.stream(thread, "steps", input=INPUT, on_run_created=created.append)
    await call("on a thread", stream)
    await call("ids in the headers", created)
    created.clear()
    await call("stateless", runs.stream(None, "steps", input=INPUT, on_run_created=created.append))
    await call("ids of a stateless run", created)
    config: Any = {"tags": ["t"], "configurable": {"user": "u"}}
    settings: Any = {
        "metadata": {"m": 1},
        "config": config,
        "interrupt_before": ["second"],
        "on_disconnect": "continue",
        "multitask_strategy": "enqueue",
        "if_not_exists": "create",
        "durability": "exit",
        "stream_resumable": True,
    }
    await call("all options", runs.stream(thread, "steps", input=INPUT, **settings))
    await call("feedback_keys", runs.stream(None, "steps", input=INPUT, feedback_keys=["good"]))
    await call("go on", runs.stream(thread, "steps", input=None, stream_mode="updates"))
    await call("interrupt_after", runs.stream(thread, "steps", input=INPUT, interrupt_after=["first"]))
    await call("after a second", runs.stream(thread, "steps", input=INPUT, after_seconds=1))
    await call("keep", runs.stream(None, "steps", input=INPUT, on_completion="keep"))
    await call("failure", runs.stream(thread, "failing", input=INPUT, stream_mode=["values", "updates"]))
    await call("failure of a stateless run", runs.stream(None, "failing", input=INPUT))
    limit: Any = {"recursion_limit": 1}
    await call("recursion_limit", runs.stream(thread, "steps", input=INPUT, config=limit))
    await call("unknown graph", runs.stream(thread, "nowhere", input=INPUT))
    await call("unknown thread", runs.stream(UNKNOWN, "steps", input=INPUT))
    await call("thread id that is no UUID", runs.stream("abc", "steps", input=INPUT))
    wrong: Any = "never"
    await call("unknown on_disconnect", runs.stream(thread, "steps", input=INPUT, on_disconnect=wrong))


async def join(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    thread, gate = await scene.thread(), {"name": scene.mark}
    run = await runs.create(thread, "gated", input=gate, stream_mode=["values", "updates"])
    await scene.until_next(thread, "wait")
    path = f"/threads/{thread}/runs/{run['run_id']}/stream"
    await call("live", _read_live(scene, path, {"stream_mode": "values"}, run, scene.mark))
    await call("a run that ended", runs.join_stream(thread, run["run_id"]))
    resumable: Any = {"stream_mode": ["values", "updates"], "stream_resumable": True}
    run = await runs.create(thread, "steps", input=INPUT, **resumable)
    await runs.join(thread, run["run_id"])
    join_stream, run_id = runs.join_stream, run["run_id"]
    parts = await call("from the start", join_stream(thread, run_id, last_event_id="-1"))
    await call("without an id", join_stream(thread, run_id))
    last = parts[-1].id if isinstance(parts, Parts) and parts else "0"
    await call("after the last event", join_stream(thread, run_id, last_event_id=last))
    wrong: Any = "abc"
    await call("after an id of no event", join_stream(thread, run_id, last_event_id=wrong))
    await call("one mode", join_stream(thread, run_id, last_event_id="-1", stream_mode="updates"))
    await call(
        "two modes", join_stream(thread, run_id, last_event_id="-1", stream_mode=["values", "updates"])
    )
    wrong = "colors"
    await call("unknown mode", join_stream(thread, run_id, stream_mode=wrong))
    await call("unknown run", join_stream(thread, UNKNOWN))
    await call("unknown thread", join_stream(UNKNOWN, run_id))
    await call("run id that is no UUID", join_stream(thread, "abc"))


async def _read_live(
    scene: Scene, path: str, params: dict[str, Any], run: dict[str, Any], gate: str
) -> Parts:
    """Return the parts of a stream that is open when its run passes the gate.

    A stream that doesn't end is left a second after the run's end.
    """
    parts = Parts()
    opened = asyncio.Event()

    async def read() -> None:
        stream = scene.client.http.stream(path, "GET", params=params, on_response=lambda _: opened.set())
        async for part in stream:
            parts.append(part)

    reader = asyncio.create_task(read())
    opening = asyncio.create_task(opened.wait())
    await asyncio.wait([reader, opening], timeout=5, return_when=asyncio.FIRST_COMPLETED)
    opening.cancel()
    await scene.open_gate(gate)
    await scene.until_run(run["thread_id"], run["run_id"], "success")
    await asyncio.wait([reader], timeout=1)
    if not reader.done():
        reader.cancel()
        await asyncio.wait([reader])
        return parts
    await reader
    return parts


async def disconnect(scene: Scene) -> None:
    call, runs = scene.call, scene.client.runs
    for mode in ("cancel", "continue"):
        thread, gate = await scene.thread(), {"name": f"{scene.mark}-{mode}"}
        created: list[Any] = []
        stream: Any = runs.stream(
            thread, "gated", input=gate, on_disconnect=mode, on_run_created=created.append
        )
        async with aclosing(stream):
            async for part in stream:
                if part.event == "values" and part.data.get("log"):
                    break
        if mode == "cancel":
            await scene.until_run(thread, created[0]["run_id"], "interrupted")
        await scene.open_gate(gate["name"])
        await scene.until_status(thread, "idle", "interrupted")
        await call(f"run after {mode}", runs.get(thread, created[0]["run_id"]))
        await call(f"thread after {mode}", scene.client.threads.get(thread))


async def threads(scene: Scene) -> None:
    call, client = scene.call, scene.client
    for mode in ("run_modes", "lifecycle", "state_update"):
        thread, gate = await scene.thread(), f"{scene.mark}-{mode}"
        options: Any = {"stream_mode": ["values", "updates"], "stream_resumable": True}
        run = await client.runs.create(thread, "gated", input={"name": gate}, **options)
        await scene.until_next(thread, "wait")
        live = _read_live(scene, f"/threads/{thread}/stream", {"stream_mode": mode}, run, gate)
        await call(f"{mode}", live)
    found = await call("finished thread", _join_thread(scene, thread, 3, last_event_id="-"))
    after = str(found[0].id) if isinstance(found, Parts) and found else "-"
    await call("after an event", _join_thread(scene, thread, 1, last_event_id=after))
    await call("unknown thread", _join_thread(scene, UNKNOWN, 1))
    await call("id that is no UUID", _join_thread(scene, "abc", 1))
    await call("unknown mode", _join_thread(scene, thread, 1, stream_mode="colors"))


async def _join_thread(scene: Scene, thread: str, count: int, **options: Any) -> Parts:
    """Return the first parts that arrive within some seconds, since the stream of a thread has no end."""
    parts = Parts()
    with suppress(TimeoutError):
        async with asyncio.timeout(JOIN_SECONDS):
            async for part in await scene.client.threads.join_stream(thread, **options):
                parts.append(part)
                if len(parts) == count:
                    break
    return parts


SCENARIOS = (modes, messages, subgraphs, options, join, disconnect, threads)
