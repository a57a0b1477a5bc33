"""What the providers of chat completions have in common: parts, pairs of calls and results, streams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tests.harness.strict_providers.caching import CacheUse
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict, StrictProvider

FunctionName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]


class TextPart(Strict):
    type: Literal["text"]
    text: str


class Image(Strict):
    url: Annotated[str, Field(pattern=r"^(https?://|data:image/(png|jpeg|gif|webp);base64,)")]
    detail: Literal["auto", "low", "high"] | None = None


class ImagePart(Strict):
    type: Literal["image_url"]
    image_url: Image


Part = Annotated[TextPart | ImagePart, Field(discriminator="type")]


class SystemText(Strict):
    role: Literal["system", "developer"]
    content: str | list[TextPart]
    name: str | None = None


class UserText(Strict):
    role: Literal["user"]
    content: str | list[Part]
    name: str | None = None


class CalledFunction(Strict):
    name: FunctionName
    arguments: str


class Function(Strict):
    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    strict: bool | None = None


class Tool(Strict):
    type: Literal["function"]
    function: Function


class NamedFunction(Strict):
    name: FunctionName


class NamedChoice(Strict):
    type: Literal["function"]
    function: NamedFunction


class StreamOptions(Strict):
    include_usage: bool


def check_pairs(messages: Sequence[Body], text: str) -> None:
    """Check that every call is followed by its result, before any other message.

    `text` is formatted with the ids without a result, or the id of a result without a call.
    """
    open_ids: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                raise RejectedRequest(text.format(ids=message["tool_call_id"]))
            open_ids.remove(message["tool_call_id"])
        elif open_ids:
            raise RejectedRequest(text.format(ids=", ".join(open_ids)))
        for call in message.get("tool_calls") or ():
            open_ids.append(call["id"])
    if open_ids:
        raise RejectedRequest(text.format(ids=", ".join(open_ids)))


def check_arguments(messages: Sequence[Body]) -> None:
    """Check that the arguments of calls are JSON objects."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            arguments = call["function"]["arguments"]
            try:
                is_object = isinstance(json.loads(arguments), dict)
            except ValueError:
                is_object = False
            if not is_object:
                raise RejectedRequest(f"arguments of {call['function']['name']} are not a JSON object")


def check_content(messages: Sequence[Body], text: str) -> None:
    """Check that every answer has a text or calls; `text` is what the provider says otherwise."""
    for message in messages:
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            raise RejectedRequest(text)


def check_options(body: Body) -> None:
    """Check that options of streams and tools come with what they are about."""
    if body.get("stream_options") and not body.get("stream"):
        raise RejectedRequest("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    for name in ("tool_choice", "parallel_tool_calls"):
        if body.get(name) is not None and not body.get("tools"):
            raise RejectedRequest(f"'{name}' is only allowed when 'tools' are specified.")


def segments(messages: Sequence[Body]) -> Iterator[list[Body]]:
    """Yield the messages between two human ones."""
    current: list[Body] = []
    for message in messages:
        if message["role"] == "user":
            yield current
            current = []
        else:
            current.append(message)
    yield current


class ChatProvider(StrictProvider):
    """Streams answers in the form of chat completions."""

    call_finish: ClassVar[str] = "tool_calls"

    def make_id(self) -> str:
        """Return an id for a call."""
        return f"call_{self.number():024d}"

    def make_calls(self, reply: Reply) -> list[Body]:
        """Return the calls of a reply."""
        return [
            {"id": self.make_id(), "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
            for n, a in reply.calls
        ]

    def finish(self, reply: Reply) -> str:
        """Return the reason why the answer ends."""
        return reply.finish or (self.call_finish if reply.calls else "stop")

    def call_deltas(self, calls: list[Body]) -> Iterator[Body]:
        """Yield the calls in pieces: the name, then the arguments in two halves."""
        for index, call in enumerate(calls):
            function = call["function"]
            half = len(function["arguments"]) // 2
            yield {"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]}
            for piece in (function["arguments"][:half], function["arguments"][half:]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def first_deltas(self, reply: Reply) -> Iterator[Body]:
        """Yield what comes before the text."""
        yield {"role": "assistant", "content": ""}

    def extra_message(self, reply: Reply) -> Body:
        """Return further fields of an answer in one body."""
        return {}

    def stream(self, reply: Reply, body: Body) -> Iterator[Body]:
        """Yield the chunks."""
        deltas = [
            *self.first_deltas(reply),
            *({"content": word} for word in _words(reply.text)),
            *self.call_deltas(self.make_calls(reply)),
        ]
        yield from (self.chunk(body, delta) for delta in deltas)
        if not reply.endless:
            yield from self.last_chunks(reply, body)

    def last_chunks(self, reply: Reply, body: Body) -> Iterator[Body]:
        """Yield the end of the answer, and the usage if it was asked for."""
        yield self.chunk(body, {}, finish=self.finish(reply))
        if (body.get("stream_options") or {}).get("include_usage"):
            yield {**self.chunk(body, {}), "choices": [], "usage": self.usage(reply)}

    def chunk(self, body: Body, delta: Body, *, finish: str | None = None) -> Body:
        """Return one chunk."""
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {
            "id": f"chatcmpl-{len(self.calls)}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
        }

    def whole(self, reply: Reply, body: Body) -> Body:
        """Return the answer as one body."""
        message: Body = {"role": "assistant", "content": reply.text, **self.extra_message(reply)}
        if calls := self.make_calls(reply):
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": self.finish(reply)}
        return {
            "id": f"chatcmpl-{len(self.calls)}",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": self.usage(reply),
        }

    def usage(self, reply: Reply) -> Body:
        """Return the tokens of request and answer."""
        if self.use is None:
            return USAGE
        given, made = self.use.total, reply.count_tokens()
        counts = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        return {**counts, **self.cache_details(self.use)}

    def cache_details(self, use: CacheUse) -> Body:
        """Return what the provider tells of its cache."""
        return {"prompt_tokens_details": {"cached_tokens": use.read}}


USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def _words(text: str) -> list[str]:
    """Return the text in pieces that end after a space."""
    return re.findall(r"[^ ]* |[^ ]+$", text)
