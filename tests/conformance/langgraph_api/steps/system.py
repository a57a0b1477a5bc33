"""Routes that belong to no resource: health, information, and unknown paths."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene

INPUT = {"log": ["a"]}
STREAM_SECONDS = 15.0
PROJECTION_TRIES = 10


async def routes(scene: Scene) -> None:
    call, http = scene.call, scene.client.http
    await call("ok", http.get("/ok"))
    await call("info", http.get("/info"))
    await call("unknown route", http.get("/nothing"))
    await call("wrong method", http.put("/threads", json={}))
    await call("body that is no JSON", _post(scene, b"{"))
    await call("empty body", _post(scene, b""))
    await call("body of text", _post(scene, b'{"metadata": {}}', "text/plain"))
    await call("storage of a thread", http.get(f"/threads/{await scene.thread()}/storage"))
    await call("events of an unknown thread", http.post(f"/threads/{UNKNOWN}/commands", json={}))


async def _post(scene: Scene, content: bytes, kind: str = "application/json") -> int:
    """Return the status of an answer to this body."""
    answer = await scene.client.http.client.post("/threads", content=content, headers={"content-type": kind})
    return answer.status_code


async def commands(scene: Scene) -> None:
    call, thread = scene.call, await scene.thread()
    start: Any = {"assistant_id": "steps", "input": INPUT}
    await call("run.start", _send(scene, thread, {"id": 1, "method": "run.start", "params": start}))
    await scene.until_status(thread, "idle")
    await call("unknown method", _send(scene, thread, {"id": 2, "method": "run.fly", "params": {}}))
    await call("no method", _send(scene, thread, {"id": 3}))
    nowhere = {**start, "assistant_id": "nowhere"}
    await call("unknown graph", _send(scene, thread, {"id": 4, "method": "run.start", "params": nowhere}))
    answer = {"interrupt_id": "x", "response": 1}
    await call(
        "respond to nothing", _send(scene, thread, {"id": 5, "method": "input.respond", "params": answer})
    )


async def _send(scene: Scene, thread: str, command: dict[str, Any]) -> Any:
    """Return the answer to a command, with the kinds of the message and of the number of an event."""
    answer: Any = await scene.client.http.post(f"/threads/{thread}/commands", json=command)
    if "message" in answer:
        answer["message"] = type(answer["message"]).__name__
    if "meta" in answer:
        answer["meta"] = {key: type(value).__name__ for key, value in answer["meta"].items()}
    return answer


async def thread_stream(scene: Scene) -> None:
    """Stream a thread by the client of the thread-centric protocol."""
    call, threads = scene.call, scene.client.threads
    question = {"messages": [{"role": "user", "content": "hello"}]}
    async with threads.stream(assistant_id="steps") as stream:
        await call("start", stream.run.start(input=INPUT))
        await call("output", _within(stream.output))
    async with threads.stream(assistant_id="ask") as stream:
        await call("start a graph that asks", stream.run.start(input=INPUT))
        await call("interrupts", _read_interrupts(stream))
        await call("respond", stream.run.respond("yes"))
        await call("output after that", _within(stream.output))
    async with threads.stream(assistant_id="failing") as stream:
        await call("start a graph that fails", stream.run.start(input=INPUT))
        await call("failure", _within(stream.output))
    async with threads.stream(assistant_id="nowhere") as stream:
        await call("start an unknown graph", stream.run.start(input={}))
    async with threads.stream(assistant_id="nested") as stream:
        await call("graph", stream.agent.get_tree(xray=True))
    async with threads.stream(assistant_id="chat") as stream:
        await call("start a chat", stream.run.start(input=question))
        await call("message", _within(_read_message(stream)))


async def projections(scene: Scene) -> None:
    """Read the projections of a stream that is open before its run starts."""
    call, threads = scene.call, scene.client.threads
    for graph, name in (("steps", "values"), ("nested", "subgraphs"), ("tools", "tool_calls")):
        await call(name, _project(threads, graph, name))
    async with threads.stream(assistant_id="steps") as stream:
        await stream.run.start(input=INPUT)
        await call("events", _within(_read_events(stream)))


async def _within(answer: Any) -> Any:
    """Return an answer, or raise TimeoutError where the stream doesn't end."""
    async with asyncio.timeout(STREAM_SECONDS):
        return await answer


async def _read_interrupts(stream: Any) -> list[Any]:
    """Return the interrupts of a run, when it waits."""
    async with asyncio.timeout(STREAM_SECONDS):
        while not stream.interrupted:
            await asyncio.sleep(0.1)
    return list(stream.interrupts)


async def _read_message(stream: Any) -> str | None:
    """Return the text of the first message."""
    async for message in stream.messages:
        return str(await message.text)
    return None


async def _project(threads: Any, graph: str, name: str) -> list[Any]:
    """Return what a projection shows of a run; the client may end it before it shows anything."""
    found: list[Any] = []
    for _ in range(PROJECTION_TRIES):
        async with threads.stream(assistant_id=graph) as stream:
            await stream.run.start(input={"messages": []} if graph == "tools" else INPUT)
            found = await _within(_read_projection(getattr(stream, name)))
        if found:
            break
    return found


async def _read_projection(projection: Any) -> list[Any]:
    """Return the last values, or the names of other things. The values before depend on the moment."""
    found = [item async for item in projection]
    if found and isinstance(found[-1], dict):
        return found[-1:]
    return [getattr(item, "graph_name", None) or item.name for item in found]


async def _read_events(stream: Any) -> list[Any]:
    """Return the events up to the end of the run."""
    found: list[Any] = []
    async for event in stream.events:
        found.append({key: event[key] for key in ("type", "method", "params")})
        data = event["params"].get("data")
        if event["method"] == "lifecycle" and isinstance(data, dict) and data.get("event") == "completed":
            break
    return found


SCENARIOS = (routes, commands, thread_stream, projections)
