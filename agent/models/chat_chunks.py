"""Read the chunks of streamed chat completions as the dictionaries that they arrive as.

OpenAI's client builds models of each chunk, which LangChain turns back into a dictionary. With a hundred
parallel answers, this took a third of the agent's CPU time (docs/decisions/parse-each-chunk-once.md).
Requests, connections, errors and retries are those of the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Self

from openai import AsyncOpenAI, AsyncStream
from openai.resources.chat.completions import AsyncCompletions
from openai.types.chat import ChatCompletionChunk

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = ("prompt_tokens_details", "completion_tokens_details")
_NONE = type(None)


class ChunkStream(AsyncStream[object]):
    """Yields chunks as dictionaries. Raises TimeoutError after `seconds` without one (None: no limit)."""

    seconds: float | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            # Not wait_for, which creates a task for each wait.
            async with asyncio.timeout(self.seconds):
                data = await super().__anext__()
        except TimeoutError as error:
            raise TimeoutError(f"no chunk arrived for {self.seconds} s") from error
        return read_chunk(data)


class ChunkCompletions(AsyncCompletions):
    """Chat completions of a client whose streams yield dictionaries, with a limit as in LangChain:
    `seconds` for each chunk; None or 0 and less for none.
    """

    def __init__(self, client: AsyncOpenAI, seconds: float | None = None) -> None:
        super().__init__(client)
        self._seconds = seconds if seconds and seconds > 0 else None
        self._post = self._open_stream  # type: ignore[assignment]

    async def _open_stream(self, path: str, **options: Any) -> Any:
        if not options.get("stream"):
            return await self._client.post(path, **options)
        stream = await self._client.post(path, **{**options, "stream_cls": ChunkStream})
        stream.seconds = self._seconds
        return stream


def read_chunk(data: Any) -> Any:
    """Return a chunk as LangChain reads it: the data itself if models would change nothing that is read.

    Data of other types, missing fields and log probabilities go through the client's models. Data that is
    not an object is returned as it is.
    """
    if not isinstance(data, dict) or _is_plain(data):
        return data
    return ChatCompletionChunk.construct(**data).model_dump(warnings=False)


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
