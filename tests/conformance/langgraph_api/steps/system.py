"""Routes beside the resources: health, information, and what is not there."""

from __future__ import annotations

from typing import Any

from tests.conformance.langgraph_api.recorder import UNKNOWN, Scene


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
    call, client = scene.call, scene.client
    thread = await scene.thread()
    path = f"/threads/{thread}/commands"
    start: Any = {"assistant_id": "steps", "input": {"log": ["a"]}}
    await call("run.start", client.http.post(path, json={"id": 1, "method": "run.start", "params": start}))
    await scene.until_status(thread, "idle")
    await call("unknown method", client.http.post(path, json={"id": 2, "method": "run.fly", "params": {}}))
    await call("no method", client.http.post(path, json={"id": 3}))
    body = {"id": 4, "method": "run.start", "params": {**start, "assistant_id": "nowhere"}}
    await call("unknown graph", client.http.post(path, json=body))
    body = {"id": 5, "method": "input.respond", "params": {"interrupt_id": "x", "response": 1}}
    await call("respond to nothing", client.http.post(path, json=body))


async def thread_stream(scene: Scene) -> None:
    """Stream a thread by the client of the thread-centric protocol."""
    call, client = scene.call, scene.client
    async with client.threads.stream(assistant_id="steps") as stream:
        await call("start", stream.run.start(input={"log": ["a"]}))
        await call("output", stream.output)
    async with client.threads.stream(assistant_id="chat") as stream:
        await stream.run.start(input={"messages": [{"role": "user", "content": "hello"}]})
        texts = [await message.text async for message in stream.messages]
        await call("messages", texts)
    async with client.threads.stream(assistant_id="ask") as stream:
        await stream.run.start(input={"log": ["a"]})
        await call("output that waits", stream.output)
        await call("interrupts", stream.interrupts)
        await call("respond", stream.run.respond("yes"))
        await call("output after that", stream.output)
    async with client.threads.stream(assistant_id="steps") as stream:
        await stream.run.start(input={"log": ["a"]})
        await call("values", [item async for item in stream.values])
    async with client.threads.stream(assistant_id="nested") as stream:
        await stream.run.start(input={"log": ["a"]})
        await call("subgraphs", [item.path[0].partition(":")[0] async for item in stream.subgraphs])
    async with client.threads.stream(assistant_id="failing") as stream:
        await stream.run.start(input={"log": ["a"]})
        await call("failure", stream.output)
    async with client.threads.stream(assistant_id="nowhere") as stream:
        await call("unknown graph", stream.run.start(input={}))
    async with client.threads.stream(assistant_id="nested") as stream:
        await call("graph", stream.agent.get_tree(xray=True))


SCENARIOS = (routes, commands, thread_stream)
