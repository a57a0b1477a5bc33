"""Anthropic's messages, as strict as its published types.

Schema: anthropic/types/*_param.py of the anthropic package 2.12.0, generated from Anthropic's OpenAPI
description; unknown fields are rejected ("Extra inputs are not permitted"). Rules, as the API answers:
results come first in the message right after their calls; ids match `^[a-zA-Z0-9_-]+$`; texts are not empty;
thinking comes back with its signature, and if it is enabled the calls of the current turn follow it
(https://docs.claude.com/en/docs/build-with-claude/extended-thinking); at most four blocks have a cache mark
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching). Tools, options: `anthropic_rules`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from tests.harness.strict_providers.anthropic_rules import check_failures, check_options, check_tools
from tests.harness.strict_providers.caching import list_blocks
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict, StrictProvider

Id = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
MARKS = 4
USAGE = {"input_tokens": 7, "output_tokens": 5}


class CacheControl(Strict):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


class Block(Strict):
    cache_control: CacheControl | None = None


class Text(Block):
    type: Literal["text"]
    text: Annotated[str, Field(min_length=1, pattern=r"\S")]
    citations: list[Any] | None = None


class Base64Source(Strict):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: str


class UrlSource(Strict):
    type: Literal["url"]
    url: str


class Image(Block):
    type: Literal["image"]
    source: Annotated[Base64Source | UrlSource, Field(discriminator="type")]


class Thinking(Strict):
    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinking(Strict):
    type: Literal["redacted_thinking"]
    data: str


class ToolUse(Block):
    type: Literal["tool_use"]
    id: Id
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    input: dict[str, Any]


class ToolResult(Block):
    type: Literal["tool_result"]
    tool_use_id: Id
    content: str | list[Annotated[Text | Image, Field(discriminator="type")]] | None = None
    is_error: bool | None = None


class UserMessage(Strict):
    role: Literal["user"]
    content: (
        Annotated[str, Field(min_length=1, pattern=r"\S")]
        | Annotated[
            list[Annotated[Text | Image | ToolResult, Field(discriminator="type")]], Field(min_length=1)
        ]
    )


class AssistantMessage(Strict):
    role: Literal["assistant"]
    content: (
        Annotated[str, Field(min_length=1, pattern=r"\S")]
        | Annotated[
            list[Annotated[Text | Thinking | RedactedThinking | ToolUse, Field(discriminator="type")]],
            Field(min_length=1),
        ]
    )


class Tool(Block):
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    description: str | None = None
    input_schema: dict[str, Any]
    strict: bool | None = None
    type: Literal["custom"] | None = None


class Enabled(Strict):
    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=1024)]


class Other(Strict):
    type: Literal["disabled", "adaptive"]


class Choice(Strict):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class Request(Strict):
    model: str
    max_tokens: Annotated[int, Field(ge=1)]
    messages: Annotated[
        list[Annotated[UserMessage | AssistantMessage, Field(discriminator="role")]], Field(min_length=1)
    ]
    system: str | list[Text] | None = None
    metadata: dict[str, str] | None = None
    stop_sequences: list[str] | None = None
    stream: bool = False
    temperature: float | None = None
    thinking: Annotated[Enabled | Other, Field(discriminator="type")] | None = None
    tool_choice: Choice | None = None
    tools: list[Tool] | None = None
    top_k: int | None = None
    top_p: float | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    output_config: dict[str, Any] | None = None


class StrictAnthropic(StrictProvider):
    """Thinks before it answers, if the request asks for it."""

    name: ClassVar[str] = "anthropic"
    base: ClassVar[str] = ""
    route: ClassVar[str] = "/v1/messages"
    schema: ClassVar[type[BaseModel]] = Request
    ends_with_done: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.signatures: set[str] = set()

    def forget(self) -> None:
        """Forget the signatures, as for another account."""
        self.signatures.clear()

    def check_headers(self, headers: Mapping[str, str]) -> None:
        if not headers.get("x-api-key"):
            super().check_headers(headers)
        if not headers.get("anthropic-version"):
            raise RejectedRequest("anthropic-version: header is required")

    def check_rules(self, body: Body) -> None:
        messages = body["messages"]
        check_tools(body.get("tools") or ())
        check_options(body)
        check_marks(body)
        if messages[0]["role"] != "user":
            raise RejectedRequest("messages: first message must use the user role")
        if messages[-1]["role"] != "user":
            raise RejectedRequest("This model does not support assistant message prefill.")
        ids = [block["id"] for one in messages for block in _blocks(one) if block["type"] == "tool_use"]
        if len(ids) != len(set(ids)):
            raise RejectedRequest("messages: `tool_use` ids must be unique")
        pending: list[str] = []
        for at, message in enumerate(messages):
            pending = _check_results(at, _blocks(message), pending)
            check_failures(_blocks(message))
        for message in messages:
            for block in _blocks(message):
                if block["type"] == "thinking" and block["signature"] not in self.signatures:
                    raise RejectedRequest("Invalid `signature` in `thinking` block")
        if (body.get("thinking") or {}).get("type") == "enabled":
            _check_thinking(messages)

    def render_error(self, text: str) -> tuple[int, Any]:
        return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": text}}

    def render_event(self, event: Body) -> bytes:
        return f"event: {event['type']}\n".encode() + super().render_event(event)

    def _make_blocks(self, reply: Reply, body: Body) -> list[Body]:
        blocks: list[Body] = []
        if (body.get("thinking") or {}).get("type") in {"enabled", "adaptive"}:
            signature = f"sig{self.number()}"
            self.signatures.add(signature)
            blocks.append({"type": "thinking", "thinking": "They ask.", "signature": signature})
        if reply.text:
            blocks.append({"type": "text", "text": reply.text})
        for name, arguments in reply.calls:
            one = f"toolu_{self.number():022d}"
            blocks.append({"type": "tool_use", "id": one, "name": name, "input": arguments})
        return blocks

    def _message(self, body: Body) -> Body:
        told = {
            "id": f"msg_{len(self.calls)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
        }
        return {**told, "content": [], "stop_reason": None, "stop_sequence": None, "usage": self._usage()}

    def _usage(self) -> Body:
        if self.use is None:
            return USAGE
        rest = self.use.total - self.use.read - self.use.written
        cached = {
            "cache_read_input_tokens": self.use.read,
            "cache_creation_input_tokens": self.use.written,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.use.written,
                "ephemeral_1h_input_tokens": 0,
            },
        }
        return {**USAGE, "input_tokens": rest, **cached}

    def stream(self, reply: Reply, body: Body) -> Iterator[Body]:
        yield {"type": "message_start", "message": self._message(body)}
        yield {"type": "ping"}
        for index, block in enumerate(self._make_blocks(reply, body)):
            empty, deltas = _pieces(block)
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            if reply.endless and block["type"] == "text":
                return
            yield {"type": "content_block_stop", "index": index}
        delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
        made = USAGE["output_tokens"] if self.use is None else reply.count_tokens()
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": made}}
        yield {"type": "message_stop"}

    def whole(self, reply: Reply, body: Body) -> Body:
        content = self._make_blocks(reply, body)
        whole = {**self._message(body), "content": content, "stop_reason": _stop_reason(reply)}
        if self.use is not None:
            whole["usage"] = {**whole["usage"], "output_tokens": reply.count_tokens()}
        return whole


def check_marks(body: Body) -> None:
    """Check the number of marked blocks."""
    marked = sum(is_marked for _, is_marked in list_blocks(body))
    if marked > MARKS:
        raise RejectedRequest(
            f"A maximum of {MARKS} blocks with cache_control may be provided. Found {marked}."
        )


def _stop_reason(reply: Reply) -> str:
    if reply.finish == "length":
        return "max_tokens"
    return "tool_use" if reply.calls else "end_turn"


def _pieces(block: Body) -> tuple[Body, list[Body]]:
    """Return how a block starts, and its deltas."""
    if block["type"] == "thinking":
        signature = {"type": "signature_delta", "signature": block["signature"]}
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signature]
    if block["type"] == "text":
        words = block["text"].split(" ")
        texts = [word + " " for word in words[:-1]] + words[-1:]
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in texts]
    arguments = json.dumps(block["input"])
    half = len(arguments) // 2
    halves = [
        {"type": "input_json_delta", "partial_json": piece} for piece in (arguments[:half], arguments[half:])
    ]
    return {**block, "input": {}}, halves


def _blocks(message: Body) -> Sequence[Body]:
    content = message["content"]
    blocks: Sequence[Body] = content if isinstance(content, list) else ()
    return blocks


def _check_results(at: int, blocks: Sequence[Body], pending: list[str]) -> list[str]:
    """Check the results of the calls before a message; return its own calls."""
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    first = [block["type"] for block in blocks[: len(results)]]
    if missing := [one for one in pending if one not in results]:
        raise RejectedRequest(
            f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}."
        )
    if unknown := [one for one in results if one not in pending]:
        raise RejectedRequest(f"messages.{at}: unexpected `tool_use_id` found in `tool_result`: {unknown[0]}")
    if len(results) != len(set(results)):
        raise RejectedRequest("each tool_use must have a single result")
    if first != ["tool_result"] * len(results):
        raise RejectedRequest("`tool_result` blocks must come first")
    return [block["id"] for block in blocks if block["type"] == "tool_use"]


def _check_thinking(messages: Sequence[Body]) -> None:
    for message in reversed(messages):
        blocks = _blocks(message)
        if message["role"] == "user" and not any(block["type"] == "tool_result" for block in blocks):
            return
        calls = any(block["type"] == "tool_use" for block in blocks)
        if calls and blocks[0]["type"] not in {"thinking", "redacted_thinking"}:
            raise RejectedRequest(
                f"Expected `thinking` or `redacted_thinking`, but found `{blocks[0]['type']}`"
            )
