"""Read the chunks of streamed chat completions as plain dictionaries.

OpenAI's client builds models of each chunk, which LangChain turns back into a dictionary. With ten parallel
answers, this took a third of the agent's CPU time. Requests, connections, errors and retries are still
handled by the client.

A turn of 200 chunks takes 0.63 of the CPU time. The model's stream alone takes 0.41, and opening it with 25
tools and 100 messages 1.1 instead of 27 ms, because messages and tools are sent unchanged. What is left is
spread over the event log, LangGraph's queue and LangChain's callbacks, 5 to 8 % each. If OpenAI's package or
LangChain reads another field, `_is_plain` has to check it too.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from weakref import WeakSet

import orjson
from openai import AsyncOpenAI, AsyncStream
from openai.resources.chat.completions import AsyncCompletions
from openai.types.chat.chat_completion_chunk import ChatCompletionChunk

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = ("prompt_tokens_details", "completion_tokens_details")
_NONE = type(None)
_BESIDE_CHOICES = ("usage", "x_groq", "type")
_TEXTS = frozenset({"content", "reasoning", "reasoning_content"})
FEW_STREAMS = 4
"""Number of open streams up to which no texts are joined."""
JOIN_SECONDS_EACH = 0.002
MAX_JOIN_SECONDS = 0.1
"""Chat platforms show text once a second at most. The web console and the terminal draw every 50 ms, the time
that is reached with 25 streams."""
MAX_LINE_BYTES = 64 * 1024
"""Longer lines go to the client's decoder, which does not copy its buffer for each part that arrives."""
MAX_READY = 256
"""Maximum number of chunks that are read ahead of the consumer."""


@dataclass(frozen=True, slots=True)
class DataEvent:
    """A server-sent event with data only, in place of the client's own class."""

    data: str
    event: ClassVar[None] = None

    def json(self) -> Any:
        """Return the data. Raises json.JSONDecodeError."""
        try:
            return orjson.loads(self.data)
        except orjson.JSONDecodeError:
            # The standard library also accepts lone surrogates and NaN.
            return json.loads(self.data)


class ChunkDecoder:
    """Splits a stream into events with data, with a fast path for events of one line.

    From the first other or very long line on, the client's decoder (`usual`) takes over.
    """

    def __init__(self, usual: Any) -> None:
        self._usual = usual

    async def aiter_bytes(self, parts: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        """Yield the events of a stream. Raises UnicodeDecodeError."""
        rest, is_plain = b"", True
        async for part in parts:
            *blocks, rest = (rest + part).split(b"\n\n")
            for place, block in enumerate(blocks):
                is_plain = block.startswith((b"data: ", b":")) and b"\n" not in block and b"\r" not in block
                if not is_plain:
                    rest = b"\n\n".join([*blocks[place:], rest])
                    break
                if block.startswith(b"data: ") and block != b"data: ":
                    yield DataEvent(block[6:].decode())
            if not is_plain or b"\r" in rest or len(rest) > MAX_LINE_BYTES:
                break
        async for event in self._usual.aiter_bytes(_join_parts(rest, parts)):
            # openai 3.54 also yields events for a heartbeat after `id:`, and for `retry:` or `event:` alone.
            if event.data:
                yield event


async def _join_parts(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part


def join_seconds(streams: int) -> float:
    """Return how long to buffer texts (s) for this number of open streams: 2 ms each, at most 100 ms.

    With few streams, there is time for each chunk, so nothing waits.
    """
    return min(streams * JOIN_SECONDS_EACH, MAX_JOIN_SECONDS) if streams > FEW_STREAMS else 0.0


class ChunkStream(AsyncStream[object]):
    """Yields chunks as dictionaries; texts that arrive within `join_seconds` are joined.

    The first text is passed on at once, and so is every chunk with anything else, together with the texts
    before it. Raises TimeoutError after `seconds` without a chunk (None: no limit).
    """

    open_streams: ClassVar[WeakSet[ChunkStream]] = WeakSet()
    """Streams of this process that are being read."""
    seconds: float | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._decoder: Any = ChunkDecoder(self._decoder)
        self._reader: asyncio.Task[None] | None = None
        self._ready: deque[Any] = deque()
        self._error: BaseException | None = None
        self._changed, self._has_room = asyncio.Event(), asyncio.Event()
        self._held: list[Any] = []
        self._kinds: Set[str] = frozenset()
        """The kinds of text in the last chunk that is held."""
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._reader is None:
            self.open_streams.add(self)
            self._reader = asyncio.create_task(self._read_chunks())
        while not self._ready:
            if self._error is not None:
                raise self._error
            self._changed.clear()
            await self._changed.wait()
        self._has_room.set()
        return self._ready.popleft()

    async def close(self) -> None:
        """Stop reading and release the connection."""
        self.open_streams.discard(self)
        self._cancel_timer()
        try:
            if self._reader is not None:
                self._reader.cancel()
                await asyncio.wait([self._reader])
        finally:
            # The traceback of a stored error would keep the stream alive too.
            self._error = StopAsyncIteration()
            await super().close()

    async def _read_chunks(self) -> None:
        try:
            # Not wait_for, which creates a task for each chunk.
            async with asyncio.timeout(None) as limit:
                while True:
                    if self.seconds is not None:
                        limit.reschedule(asyncio.get_running_loop().time() + self.seconds)
                    self._hold(read_chunk(await super().__anext__()))
                    while len(self._ready) > MAX_READY:
                        limit.reschedule(None)
                        self._has_room.clear()
                        await self._has_room.wait()
        except TimeoutError as error:
            self._error = TimeoutError(f"no chunk arrived for {self.seconds} s")
            self._error.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - raised by `__anext__`; StopAsyncIteration is the end
            self._error = error
        self._release()

    def _hold(self, chunk: Any) -> None:
        """Buffer text until it is time to send it, and forward anything else immediately."""
        texts = list_texts(chunk)
        if texts and texts.keys() == self._kinds:
            delta = self._held[-1]["choices"][0]["delta"]
            for kind, text in texts.items():
                delta[kind] += text
            return
        self._held.append(chunk)
        self._kinds = texts.keys()
        loop = asyncio.get_running_loop()
        if not texts:
            self._release()
        elif loop.time() >= self._due:
            self._release_texts()
        elif self._timer is None:
            self._timer = loop.call_at(self._due, self._release_texts)

    def _release_texts(self) -> None:
        self._due = asyncio.get_running_loop().time() + join_seconds(len(self.open_streams))
        self._release()

    def _release(self) -> None:
        self._cancel_timer()
        self._ready.extend(self._held)
        self._held.clear()
        self._kinds = frozenset()
        self._changed.set()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_LARGE = ("messages", "tools")


class ChunkCompletions(AsyncCompletions):
    """Sends one request for a chat completion, whose stream yields dictionaries.

    `seconds` limits the wait for each chunk, as in LangChain; None, 0 or less: no limit.

    Messages and tools are sent unchanged. The client would compare each part of them with its types, to
    convert dates and pydantic models, which LangChain does not use.
    """

    def __init__(self, client: AsyncOpenAI, seconds: float | None = None) -> None:
        super().__init__(client)
        self._seconds = seconds if seconds and seconds > 0 else None
        self._large: dict[str, Any] = {}
        self._post = self._open_stream

    async def create(self, **parameters: Any) -> Any:
        """Open the stream; see the client."""
        self._large = {name: parameters[name] for name in _LARGE if name in parameters}
        return await super().create(**{**parameters, **dict.fromkeys(self._large, ())})

    async def _open_stream(self, path: str, **options: Any) -> Any:
        body = {**options["body"], **self._large}
        stream: Any = await self._client.post(path, **{**options, "body": body, "stream_cls": ChunkStream})
        stream.seconds = self._seconds
        return stream


def read_chunk(data: Any) -> Any:
    """Return a chunk as LangChain reads it: the data itself if validation would not change any used field.

    Data of other types, missing fields and log probabilities go through the client's models. Data that is
    not an object is returned as it is.
    """
    if not isinstance(data, dict) or _is_plain(data):
        return data
    return ChatCompletionChunk.construct(**data).model_dump(warnings=False)


def list_texts(chunk: Any) -> dict[str, str]:
    """Return a chunk's texts by kind; empty if there are none, or it contains other data to read."""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    if type(choices) is not list or len(choices) != 1 or any(map(chunk.get, _BESIDE_CHOICES)):
        return {}
    choice = choices[0]
    if type(choice) is not dict or choice.get("finish_reason") or choice.get("logprobs"):
        return {}
    delta = choice.get("delta")
    if type(delta) is not dict or delta.get("role") not in (None, "assistant"):
        return {}
    texts = {name: value for name, value in delta.items() if value and name != "role"}
    if not _TEXTS.issuperset(texts) or any(type(value) is not str for value in texts.values()):
        return {}
    return texts


def _is_plain(data: Mapping[str, Any]) -> bool:
    choices = data.get("choices")
    usage = data.get("usage")
    if type(choices) is not list or (usage is not None and not _has_plain_counts(usage)):
        return False
    return not choices or _is_plain_choice(choices[0])


def _is_plain_choice(choice: Any) -> bool:
    if type(choice) is not dict or choice.get("logprobs") is not None:
        return False
    delta = choice.get("delta")
    if type(delta) is not dict or delta.get("function_call") is not None:
        return False
    calls = delta.get("tool_calls")
    return not calls or (type(calls) is list and all(map(_is_plain_call, calls)))


def _is_plain_call(call: Any) -> bool:
    if type(call) is not dict or type(call.get("index")) is not int:
        return False
    function = call.get("function")
    if type(function) is not dict or type(call.get("id")) not in (str, _NONE):
        return False
    return all(type(function.get(name)) in (str, _NONE) for name in ("name", "arguments"))


def _has_plain_counts(usage: Any) -> bool:
    if type(usage) is not dict or any(type(usage.get(name)) is not int for name in _COUNTS):
        return False
    details = [usage[name] for name in _DETAILS if usage.get(name)]
    return all(type(one) is dict and {int, _NONE}.issuperset(map(type, one.values())) for one in details)
