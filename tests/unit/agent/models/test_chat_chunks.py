"""Chunks are read once, as the models of OpenAI's client and LangChain would read them."""

from __future__ import annotations

import asyncio
import copy
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from llmock.pytest_plugin import LLMock
from openai._streaming import ServerSentEvent, SSEDecoder
from openai.types.chat import ChatCompletionChunk
from pydantic import BaseModel

from agent.models.chat_chunks import ChunkCompletions, ChunkDecoder, DataEvent, read_chunk
from agent.models.compatible_chat import (
    CompatibleChat,
    DeepSeekChat,
    GatewayChat,
    GeminiChat,
    GroqChat,
    MistralChat,
    OllamaChat,
    OpenRouterChat,
)

CLASSES = (GatewayChat, GeminiChat, DeepSeekChat, MistralChat, GroqChat, OpenRouterChat, OllamaChat)
MODELS = [
    pytest.param(
        kind(model="m", api_key="sk-test", base_url="http://127.0.0.1:9/v1"),
        marks=() if kind is GeminiChat else pytest.mark.long,
        id=kind.__name__,
    )
    for kind in CLASSES
]

FUNCTION = {"name": "look", "arguments": '{"wh'}
CALL = {"index": 0, "id": "call_1", "type": "function", "function": FUNCTION}
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "s"}}}
DETAILS = {"cached_tokens": 5, "audio_tokens": 0}
USAGE = {
    "prompt_tokens": 7,
    "completion_tokens": 3,
    "total_tokens": 10,
    "prompt_tokens_details": DETAILS,
    "completion_tokens_details": {"reasoning_tokens": 1},
    "cost": 0.5,
}
TOKEN = {"token": "x", "logprob": -1, "top_logprobs": []}
DELTAS: tuple[dict[str, Any], ...] = (
    {"role": "assistant", "content": "word ", "refusal": None},
    {"content": None, "reasoning_content": "hm"},
    {"content": [{"type": "text", "text": "word"}]},
    {"tool_calls": [CALL]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'ere"'}}]},
    {"tool_calls": [SIGNED, {**CALL, "index": 1}]},
    {"function_call": FUNCTION},
    {"reasoning_details": [{"type": "reasoning.text", "text": "hm", "index": 0}]},
    {},
)
CHOICES: tuple[dict[str, Any], ...] = (
    *({"index": 0, "delta": delta, "finish_reason": None, "logprobs": None} for delta in DELTAS),
    {"index": 0, "delta": {"content": ""}, "finish_reason": "stop"},
    {"index": 0, "delta": {"content": "x"}, "logprobs": {"content": [TOKEN], "refusal": None}},
)
HEAD = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "service_tier": "flex"}
CHUNKS: tuple[dict[str, Any], ...] = (
    *({**HEAD, "choices": [choice], "usage": None} for choice in CHOICES),
    {**HEAD, "choices": [], "usage": USAGE},
    {**HEAD, "choices": [CHOICES[-2]], "x_groq": {"usage": USAGE}},
    {**HEAD, "type": "content.delta", "chunk": {"choices": [CHOICES[0]]}},
)
ODD = (None, "", "x", "7", 0, 7, 7.5, True, [], ["x"], {}, {"x": 7}, 2**70)


def vary(value: Any) -> Iterator[Any]:
    """Yield copies of a value in each of which one part, or nothing, is odd or missing."""
    yield copy.deepcopy(value)
    yield from ODD
    if isinstance(value, dict):
        for key in value:
            yield {name: one for name, one in value.items() if name != key}
            yield from ({**copy.deepcopy(value), key: one} for one in vary(value[key]))
    if isinstance(value, list):
        for place, part in enumerate(value):
            yield from ([*value[:place], one, *value[place + 1 :]] for one in vary(part))


def convert(model: CompatibleChat, chunk: Any) -> Any:
    """Return what LangChain makes of a chunk, or the class of its error."""
    try:
        return model._convert_chunk_to_generation_chunk(chunk, AIMessageChunk, {})
    except Exception as error:  # noqa: BLE001 - which one it is, is compared
        return type(error)


def comparable(made: Any) -> Any:
    """Return a result without the ids that Gemini's class makes up, and the indexes that follow from them."""
    if not isinstance(made, BaseModel):
        return made
    return json.loads(json.dumps(made.model_dump()), object_hook=_drop_made_up)


def _drop_made_up(found: dict[str, Any]) -> dict[str, Any]:
    hidden = {"id", "index"} if _MADE_UP.fullmatch(str(found.get("id"))) else set()
    return {_MADE_UP.sub("", key): value for key, value in found.items() if key not in hidden}


_MADE_UP = re.compile(r"call_[0-9a-f]{32}")


@pytest.mark.parametrize("model", MODELS)
def test_chunks_are_read_as_by_the_models_of_the_client(model: CompatibleChat) -> None:
    for chunk in CHUNKS:
        for varied in filter(lambda one: isinstance(one, dict), vary(chunk)):
            usual = ChatCompletionChunk.construct(**copy.deepcopy(varied)).model_dump(warnings=False)
            read = read_chunk(copy.deepcopy(varied))
            assert comparable(convert(model, read)) == comparable(convert(model, usual)), varied


@pytest.mark.parametrize("data", [None, "text", 7, [{"choices": []}]])
def test_data_that_is_no_object_is_returned(data: Any) -> None:
    assert read_chunk(data) is data


LINES = (
    b'data: {"a": 1}',
    'data: {"a": "d\u00e9"}'.encode(),
    b"data: [DONE]",
    b": comment",
    b"data:x",
    b"data: x",
    b"data: ",
)
OTHERS = (
    b"event: error\ndata: {}",
    b"id: 7\ndata: x",
    b"data: x\ndata: y",
    b"",
    b"retry: 3",
    b"event: ping",
    b"id: 8\n: heartbeat",
    b"data: \xff",
    b"x",
)


async def read_events(decoder: Any, body: bytes, size: int) -> list[Any]:
    """Return the names and texts of the events with data in a stream, and the class of its error."""

    async def parts() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    found: list[Any] = []
    try:
        async for event in decoder.aiter_bytes(parts()):
            if isinstance(decoder, ChunkDecoder) or event.data:
                found.append((event.event, event.data))
    except UnicodeDecodeError as error:
        found.append(type(error))
    return found


@pytest.mark.parametrize("ending", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b"\n\n\n"])
async def test_streams_are_split_as_by_the_client(ending: bytes) -> None:
    bodies = [ending.join([*LINES, odd, *LINES]) for odd in (*LINES, *OTHERS)]
    for body in (*bodies, *(one + ending for one in bodies)):
        for size in (1, 7, len(body)):
            usual = await read_events(SSEDecoder(), body, size)
            assert await read_events(ChunkDecoder(SSEDecoder()), body, size) == usual, body


async def test_long_lines_are_split_as_by_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.models.chat_chunks.MAX_LINE_BYTES", 8)
    body = b"".join(line + b"\n\n" for line in LINES)
    for size in (1, 7, len(body)):
        usual = await read_events(SSEDecoder(), body, size)
        assert await read_events(ChunkDecoder(SSEDecoder()), body, size) == usual


@pytest.mark.parametrize(
    "text", ['{"a": "\\ud800"}', '{"a": NaN}', '{"a": [1, 2.5, null]}', "", "{", '{"a": 1} x', '"\x01"']
)
def test_data_is_read_as_by_the_client(text: str) -> None:
    def outcome(event: Any) -> Any:
        try:
            return repr(event.json())
        except ValueError as error:
            return type(error), str(error)

    assert outcome(DataEvent(text)) == outcome(ServerSentEvent(data=text))


async def test_no_models_are_made_of_usual_chunks(llmock: LLMock, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    def construct(**values: Any) -> Any:
        made.append(values)
        raise AssertionError(values)

    llmock.call_tool("look", {"where": "here"}, text="One moment.")
    model = await asyncio.to_thread(GatewayChat, model="m", api_key="sk-test", base_url=llmock.base_url())
    monkeypatch.setattr(ChatCompletionChunk, "construct", construct)
    answer = AIMessageChunk("")
    async for piece in model.astream("hello", stream_usage=True):
        answer += piece
    assert made == []
    assert answer.text == "One moment."
    assert [call["args"] for call in answer.tool_calls] == [{"where": "here"}]
    assert answer.usage_metadata is not None


def test_streams_of_other_kinds_are_left_to_langchain() -> None:
    def reads_plainly(kwargs: dict[str, Any], **fields: Any) -> bool:
        model = GatewayChat(model="m", api_key="sk-test", base_url="http://127.0.0.1:9/v1", **fields)
        used = model._with_plain_chunks(kwargs)
        is_limited = used.stream_chunk_timeout is not None
        assert is_limited is not isinstance(used.async_client, ChunkCompletions)
        return isinstance(used.async_client, ChunkCompletions)

    assert reads_plainly({})
    assert not reads_plainly({"response_format": {"type": "json_object"}})
    assert not reads_plainly({}, include_response_headers=True)
    assert not reads_plainly({}, use_responses_api=True)
