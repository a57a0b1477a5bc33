"""Runs through the real SDK over real HTTP."""

from __future__ import annotations

from tests.runtime.serving import Served

ASK = {"messages": [{"role": "user", "content": "hi"}]}


async def test_wait_answers_the_final_values(served: Served) -> None:
    thread = await served.client.threads.create()
    values = await served.client.runs.wait(thread["thread_id"], "chat", input=ASK)
    assert [message["type"] for message in values["messages"]] == ["human", "ai"]
    assert values["messages"][1]["content"].startswith("t0 t1 ")


async def test_stream_gives_tokens_between_metadata_and_end(served: Served) -> None:
    thread = await served.client.threads.create()
    stream = served.client.runs.stream(thread["thread_id"], "chat", input=ASK, stream_mode="messages-tuple")
    events = [part async for part in stream]
    assert events[0].event == "metadata"
    assert events[0].data["attempt"] == 1
    assert events[-1].event == "end"
    assert events[-1].data == {"run_id": events[0].data["run_id"], "status": "success"}
    text = "".join(part.data[0]["content"] for part in events if part.event == "messages")
    assert text == "".join(f"t{number} " for number in range(20))
