"""Texts that arrive soon after each other come in one chunk, and nothing else waits for them."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import openai
import pytest
from aiohttp import web
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from agent.models.chat_chunks import MAX_READY, ChunkStream, join_seconds
from agent.models.compatible_chat import DeepSeekChat

Answer = Callable[[], AsyncIterator[bytes]]
WORDS = [f"word{number} " for number in range(20)]
END = b"data: [DONE]\n\n"


def event(delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def texts(words: list[str], kind: str = "content") -> bytes:
    return b"".join(event({kind: word}) for word in words)


def piece(number: int, text: str) -> bytes:
    call: dict[str, Any] = {"index": 0, "function": {"arguments": text}}
    if number == 0:
        call |= {"id": "call_1", "type": "function", "function": {"name": "write", "arguments": text}}
    return event({"tool_calls": [call]})


@tool
def write(text: str) -> str:
    """Write a text."""
    return text


@asynccontextmanager
async def answering(
    answer: Answer, *, bodies: list[bytes] | None = None, **settings: Any
) -> AsyncIterator[DeepSeekChat]:
    """A model whose provider streams the parts of an answer, each when it is made, and keeps the `bodies`
    of requests.
    """

    async def stream(request: web.Request) -> web.StreamResponse:
        if bodies is not None:
            bodies.append(await request.read())
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        async for part in answer():
            await response.write(part)
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", stream)
    runner = web.AppRunner(app, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        async with httpx.AsyncClient(timeout=20) as client:
            settings |= {"http_async_client": client, "max_retries": 0}
            yield await asyncio.to_thread(
                DeepSeekChat, model="m", api_key="sk-test", base_url=url, **settings
            )
    finally:
        await runner.cleanup()


async def pieces(model: Any, said: Any = "hello") -> list[AIMessageChunk]:
    return [one async for one in model.astream(said) if isinstance(one, AIMessageChunk)]


async def test_requests_are_those_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer() -> AsyncIterator[bytes]:
        yield event({"content": "ok"}, finish="stop") + END

    call = {"name": "write", "args": {"text": "a"}, "id": "call_1", "type": "tool_call"}
    said = [
        SystemMessage("You write."),
        HumanMessage([{"type": "text", "text": "Write a."}]),
        AIMessage("", tool_calls=[call]),
        ToolMessage("a", tool_call_id="call_1"),
    ]
    bodies: list[bytes] = []
    async with answering(answer, bodies=bodies, temperature=0.5, max_tokens=50) as model:
        await pieces(model.bind_tools([write]), said)
        monkeypatch.setattr(DeepSeekChat, "_with_plain_chunks", lambda self, kwargs: self)
        await pieces(model.bind_tools([write]), said)
    ours, usual = bodies
    assert ours == usual
    assert len(json.loads(ours)["messages"]) == len(said)


def join_for(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr("agent.models.chat_chunks.FEW_STREAMS", 0)
    monkeypatch.setattr("agent.models.chat_chunks.JOIN_SECONDS_EACH", seconds)
    monkeypatch.setattr("agent.models.chat_chunks.MAX_JOIN_SECONDS", seconds)


def test_texts_are_joined_for_longer_while_many_streams_are_open() -> None:
    assert [join_seconds(streams) for streams in (0, 4, 5, 50, 500)] == [0, 0, 0.01, 0.1, 0.1]


async def test_texts_are_joined_and_shown_while_the_answer_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    join_for(monkeypatch, 0.05)
    shown = asyncio.Event()

    async def answer() -> AsyncIterator[bytes]:
        yield event({"role": "assistant", "content": ""})
        yield texts(WORDS)
        # The provider pauses until everything before has been shown.
        await shown.wait()
        yield event({}, finish="stop") + END

    async with answering(answer) as model:
        heard: list[str] = []
        async for one in model.astream("hello"):
            if one.text:
                heard.append(one.text)
            if "".join(heard) == "".join(WORDS):
                shown.set()
    assert heard[0] == WORDS[0]
    assert "".join(heard) == "".join(WORDS)
    assert len(heard) < len(WORDS)


async def test_an_end_does_not_wait_for_more_text(monkeypatch: pytest.MonkeyPatch) -> None:
    join_for(monkeypatch, 3600)

    async def answer() -> AsyncIterator[bytes]:
        yield texts(WORDS) + event({}, finish="stop") + END

    async with answering(answer) as model:
        said = await asyncio.wait_for(pieces(model), 20)
    assert [one.text for one in said if one.text] == [WORDS[0], "".join(WORDS[1:])]
    assert said[-2].response_metadata["finish_reason"] == "stop"


async def test_texts_with_empty_fields_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    join_for(monkeypatch, 3600)
    empty = {"role": "assistant", "reasoning_content": "", "tool_calls": [], "refusal": None}

    async def answer() -> AsyncIterator[bytes]:
        yield b"".join(event({**empty, "content": word}) for word in WORDS) + event({}, finish="stop") + END

    async with answering(answer) as model:
        said = await asyncio.wait_for(pieces(model), 20)
    assert [one.text for one in said if one.text] == [WORDS[0], "".join(WORDS[1:])]


async def test_streams_that_ended_leave_no_cycles() -> None:
    async def answer() -> AsyncIterator[bytes]:
        yield texts(WORDS) + event({}, finish="stop") + END

    gc.disable()
    try:
        known = list_streams()
        async with answering(answer) as model:
            await pieces(model)
        assert list_streams() <= known
    finally:
        gc.enable()


def list_streams() -> set[int]:
    return {id(one) for one in gc.get_objects() if type(one) is ChunkStream}


async def test_kinds_of_text_and_calls_stay_apart_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    join_for(monkeypatch, 3600)
    call = json.dumps({"text": "x" * MAX_READY * 3})

    async def answer() -> AsyncIterator[bytes]:
        yield texts(WORDS, "reasoning_content") + texts(WORDS)
        yield b"".join(piece(number, letter) for number, letter in enumerate(call))
        yield texts(["bye ", "now"]) + event({}, finish="tool_calls") + END

    async with answering(answer) as model:
        said = await asyncio.wait_for(pieces(model.bind_tools([write])), 20)
    whole = said[0]
    for one in said[1:]:
        whole += one
    assert whole.additional_kwargs["reasoning_content"] == "".join(WORDS)
    assert whole.text == "".join([*WORDS, "bye ", "now"])
    assert [call["args"] for call in whole.tool_calls] == [json.loads(call)]
    kinds = ["reasoning_content" in one.additional_kwargs for one in said]
    assert kinds == sorted(kinds, reverse=True)


async def test_text_before_a_failure_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    join_for(monkeypatch, 3600)

    async def answer() -> AsyncIterator[bytes]:
        yield texts(WORDS) + b'data: {"error": {"message": "overloaded"}}\n\n'

    heard = ""
    async with answering(answer) as model:
        with pytest.raises(openai.APIError, match="overloaded"):
            async for one in model.astream("hello"):
                heard += one.text
    assert heard == "".join(WORDS)


async def test_a_stop_ends_the_request() -> None:
    ended = asyncio.Event()

    async def answer() -> AsyncIterator[bytes]:
        try:
            yield texts(WORDS)
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with answering(answer) as model:
        heard = asyncio.Event()

        async def listen() -> None:
            async for _ in model.astream("hello"):
                heard.set()

        running = asyncio.create_task(listen())
        await heard.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(ended.wait(), 20)


async def test_a_pause_beyond_the_limit_fails() -> None:
    async def answer() -> AsyncIterator[bytes]:
        yield texts(WORDS)
        await asyncio.Event().wait()

    heard = ""
    async with answering(answer, stream_chunk_timeout=0.3) as model:
        with pytest.raises(TimeoutError, match=r"no chunk arrived for 0\.3 s"):
            async for one in model.astream("hello"):
                heard += one.text
    assert heard == "".join(WORDS)
