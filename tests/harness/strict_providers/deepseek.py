"""DeepSeek's chat completions, as strict as it documents.

Schema: https://api-docs.deepseek.com/api/create-chat-completion (text only: "unknown variant `image_url`,
expected `text`"). Reasoning: https://api-docs.deepseek.com/guides/thinking_mode: between two human messages
with a tool call, every answer must come back with its `reasoning_content`, in all later requests; thinking is
on unless it is disabled, and then accepts no forced `tool_choice`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from tests.harness.strict_providers.caching import CacheUse
from tests.harness.strict_providers.chat import (
    CalledFunction,
    ChatProvider,
    NamedChoice,
    StreamOptions,
    TextPart,
    Tool,
    check_arguments,
    check_content,
    check_pairs,
    segments,
)
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict

THOUGHT = "The person asks about {about}."


class Call(Strict):
    id: str
    type: Literal["function"]
    function: CalledFunction


class SystemText(Strict):
    role: Literal["system"]
    content: str
    name: str | None = None


class UserText(Strict):
    role: Literal["user"]
    content: str | list[TextPart]
    name: str | None = None


class Answer(Strict):
    role: Literal["assistant"]
    content: str | None = None
    name: str | None = None
    prefix: bool | None = None
    reasoning_content: str | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None


class Result(Strict):
    role: Literal["tool"]
    tool_call_id: str
    content: str


class Thinking(Strict):
    type: Literal["enabled", "disabled"]


class Format(Strict):
    type: Literal["text", "json_object"]


class Request(Strict):
    model: Literal["deepseek-v4-flash", "deepseek-v4-pro", "deepseek-flash"]
    messages: Annotated[
        list[Annotated[SystemText | UserText | Answer | Result, Field(discriminator="role")]],
        Field(min_length=1),
    ]
    thinking: Thinking | None = None
    reasoning_effort: Literal["minimal", "low", "medium", "high", "xhigh", "max", "ultra"] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int | None = None
    response_format: Format | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    tools: Annotated[list[Tool], Field(max_length=128)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None


class StrictDeepSeek(ChatProvider):
    """Reasons before every answer."""

    name: ClassVar[str] = "deepseek"
    base: ClassVar[str] = ""
    schema: ClassVar[type[BaseModel]] = Request

    def make_id(self) -> str:
        return f"call_00_{self.number():020d}"

    def first_deltas(self, reply: Reply) -> Iterator[Body]:
        yield {"role": "assistant", "content": None, "reasoning_content": ""}
        for word in _thought(reply).split(" "):
            yield {"content": None, "reasoning_content": f"{word} "}

    def cache_details(self, use: CacheUse) -> Body:
        return {
            "prompt_cache_hit_tokens": use.read,
            "prompt_cache_miss_tokens": use.total - use.read,
        }

    def extra_message(self, reply: Reply) -> Body:
        return {"reasoning_content": _thought(reply)}

    def last_chunks(self, reply: Reply, body: Body) -> Iterator[Body]:
        for chunk in super().last_chunks(reply, body):
            if "usage" in chunk and self.use is None:
                counts = {"prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 3}
                chunk["usage"] = {**chunk["usage"], **counts}
            yield chunk

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        text = super().describe(place, problem, body)
        return f"Failed to deserialize the JSON body into the target type: {text}"

    def check_rules(self, body: Body) -> None:
        messages = body["messages"]
        check_arguments(messages)
        check_content(messages, "Invalid assistant message: content or tool_calls must be set")
        check_pairs(
            messages,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. ({ids})",
        )
        if (body.get("thinking") or {}).get("type") == "disabled":
            return
        if body.get("tool_choice") not in (None, "auto", "none"):
            raise RejectedRequest("Thinking mode does not support this tool_choice")
        for segment in segments(messages):
            answers = [one for one in segment if one["role"] == "assistant"]
            is_tool_turn = any(one.get("tool_calls") for one in answers)
            if is_tool_turn and any(one.get("reasoning_content") is None for one in answers):
                raise RejectedRequest(
                    "The reasoning_content in the thinking mode must be passed back to the API."
                )

    def render_error(self, text: str) -> tuple[int, Any]:
        kind = "invalid_request_error"
        return 400, {"error": {"message": text, "type": kind, "param": None, "code": kind}}


def _thought(reply: Reply) -> str:
    return THOUGHT.format(about=reply.calls[0][0] if reply.calls else reply.text)
