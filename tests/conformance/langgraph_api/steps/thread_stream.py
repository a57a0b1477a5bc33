"""What only the JavaScript client has: its streams of threads, and a few methods and arguments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast
from uuid import uuid4

from tests.conformance.langgraph_api.javascript import JavaScriptClient
from tests.conformance.langgraph_api.recorder import Scene

INPUT = {"log": ["a"]}
QUESTION = {"messages": [{"role": "user", "content": "hello"}]}
SECONDS = 15.0
TRIES = 150


class Stream:
    """A `ThreadStream` in the driver."""

    def __init__(self, scene: Scene, number: int) -> None:
        self._driver = cast("JavaScriptClient", scene.client).driver
        self._number = number

    async def do(self, *path: str, args: list[Any] | None = None) -> Any:
        """Call a method or read a property, and wait for it."""
        async with asyncio.timeout(SECONDS):
            return await anext(self._driver.call(*path, args=args or [], on=self._number))

    async def read(self, *path: str, pick: str = "", args: list[Any] | None = None) -> list[Any]:
        """Return all items of a projection, or a field of each."""
        async with asyncio.timeout(SECONDS):
            call = self._driver.call(*path, args=args or [], on=self._number, items=True, pick=pick)
            return [item async for item in call]

    async def start(self, value: Any, **options: Any) -> Any:
        """Start a run."""
        return await self.do("run", "start", args=[{"input": value, **options}])

    async def interrupts(self) -> Any:
        """Return the interrupts, as soon as there are any."""
        for _ in range(TRIES):
            if await self.do("interrupted"):
                break
            await asyncio.sleep(0.1)
        return await self.do("interrupts")


async def _open(scene: Scene, graph: str, thread: str = "") -> Stream:
    """Return the stream of a new thread."""
    driver = cast("JavaScriptClient", scene.client).driver
    args = [thread or str(uuid4()), {"assistantId": graph}]
    return Stream(scene, await driver.keep("threads", "stream", args=args))


async def runs(scene: Scene) -> None:
    call = scene.call
    stream = await _open(scene, "steps")
    await call("start", stream.start(INPUT))
    await call("output", stream.do("output"))
    await call("id of the thread", stream.do("threadId"))
    await call("second run", stream.start({"log": ["b"]}, metadata={"m": 1}, multitaskStrategy="enqueue"))
    await call("output of the second run", stream.do("output"))
    await call("close", stream.do("close"))
    stream = await _open(scene, "failing")
    await call("start a graph that fails", stream.start(INPUT))
    await call("failure", stream.do("output"))
    await call("close after a failure", stream.do("close"))
    stream = await _open(scene, "nowhere")
    await call("start an unknown graph", stream.start({}))
    stream = await _open(scene, "steps", "abc")
    await call("start on an id that is no UUID", stream.start(INPUT))
    stream = await _open(scene, "configured")
    await call("start with a config", stream.start({}, config={"configurable": {"model": "x"}}))
    await call("output with a config", stream.do("output"))
    await call("close after a config", stream.do("close"))


async def answers(scene: Scene) -> None:
    call = scene.call
    for graph in ("ask", "nested"):
        thread = str(uuid4())
        stream = await _open(scene, graph, thread)
        await call(f"start {graph}", stream.start(INPUT))
        found = await call(f"interrupts of {graph}", stream.interrupts())
        one = found[0] if isinstance(found, list) and found else {"interruptId": "x", "namespace": []}
        answer = {"interrupt_id": one["interruptId"], "namespace": one["namespace"], "response": "yes"}
        await call(f"respond to {graph}", stream.do("respondInput", args=[answer]))
        # The client's output may be that of the run before.
        await scene.until_status(thread, "idle")
        await call(f"state of {graph}", scene.client.threads.get_state(thread))
        await call(f"respond to {graph} again", stream.do("input", "respond", args=[answer]))
        await call(f"close {graph}", stream.do("close"))


async def projections(scene: Scene) -> None:
    call = scene.call
    for graph, name, pick in (
        ("steps", "values", ""),
        ("chat", "messages", "text"),
        ("tools", "toolCalls", "name"),
        ("nested", "subgraphs", "name"),
    ):
        stream = await _open(scene, graph)
        reading = asyncio.create_task(stream.read(name, pick=pick))
        await stream.start(QUESTION if graph in {"chat", "tools"} else INPUT)
        await call(name, reading)
        await call(f"close after {name}", stream.do("close"))


async def commands(scene: Scene) -> None:
    call = scene.call
    stream = await _open(scene, "steps")
    await call("tree before a run", stream.do("agent", "getTree"))
    await call("state", stream.do("state", "get", args=[{"namespace": []}]))
    await call("checkpoints", stream.do("state", "listCheckpoints", args=[{"namespace": []}]))
    answer = {"interrupt_id": "x", "response": 1}
    await call("respond to nothing", stream.do("input", "respond", args=[answer]))
    await call("submit", stream.do("submitRun", args=[{"input": INPUT}]))
    await call("output of what was submitted", stream.do("output"))
    await call("close", stream.do("close"))


async def others(scene: Scene) -> None:
    """Call methods, or give arguments, that the Python client doesn't have."""
    call, thread = scene.call, await scene.thread()
    driver = cast("JavaScriptClient", scene.client).driver
    await scene.client.runs.wait(thread, "steps", input=INPUT)
    await call("patchState", anext(driver.call("threads", "patchState", args=[thread, {"a": 1}])))
    await call("state after that", scene.client.threads.get_state(thread))
    options = {"input": INPUT, "streamMode": "updates", "streamSubgraphs": True}
    for name, spaces in (("all", ["child"]), ("no", ["none"])):
        args = [None, "nested", {**options, "streamNamespaces": spaces}]
        events = driver.call("runs", "stream", args=args, items=True)
        await call(f"streamNamespaces of {name} subgraphs", _count_events(events))
    args = [{"threadId": thread, "status": "all"}]
    await call("cancelMany of a thread by status", anext(driver.call("runs", "cancelMany", args=args)))
    args = [thread, {"metadata": {"b": 1}, "ttl": {"ttl": 5, "strategy": "delete"}, "returnMinimal": True}]
    await call("update with all arguments", anext(driver.call("threads", "update", args=args)))
    await call("thread after that", scene.client.threads.get(thread))


async def _count_events(events: AsyncGenerator[Any]) -> list[str]:
    """Return the names of a run's events but those that only the runtime sends."""
    return [event["event"] async for event in events if event["event"] != "end"]


SCENARIOS = (runs, answers, projections, commands, others)
