"""OpenRouter's chat completions, as strict as its published types, in front of a reasoning model.

Schema: openrouter/components/chat*.py of the openrouter package 1.3.84, generated from its OpenAPI
description. Reasoning (https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks): in
a turn with tool calls the `reasoning_details` of an answer come back whole and unmodified; models that sign
their calls, such as Gemini, reject a turn without them. Text parts can have `cache_control`; Anthropic
accepts four of them (https://openrouter.ai/docs/features/prompt-caching).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from tests.harness.strict_providers.caching import list_parts
from tests.harness.strict_providers.chat import (
    CalledFunction,
    ChatProvider,
    ImagePart,
    NamedChoice,
    StreamOptions,
    Tool,
    check_arguments,
    check_pairs,
)
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict

FORMAT = "google-gemini-v1"
MARKS = 4


class CacheMark(Strict):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


class MarkedText(Strict):
    type: Literal["text"]
    text: str
    cache_control: CacheMark | None = None


Part = Annotated[MarkedText | ImagePart, Field(discriminator="type")]


class SystemText(Strict):
    role: Literal["system", "developer"]
    content: str | list[MarkedText]
    name: str | None = None


class UserText(Strict):
    role: Literal["user"]
    content: str | list[Part]
    name: str | None = None


class Call(Strict):
    id: str
    type: Literal["function"]
    function: CalledFunction


class Detail(Strict):
    format: str | None = None
    id: str | None = None
    index: int | None = None


class TextDetail(Detail):
    type: Literal["reasoning.text"]
    text: str | None = None
    signature: str | None = None


class EncryptedDetail(Detail):
    type: Literal["reasoning.encrypted"]
    data: str


class SummaryDetail(Detail):
    type: Literal["reasoning.summary"]
    summary: str


AnyDetail = Annotated[TextDetail | EncryptedDetail | SummaryDetail, Field(discriminator="type")]


class Answer(Strict):
    role: Literal["assistant"]
    content: str | list[Part] | None = None
    name: str | None = None
    model: str | None = None
    reasoning: str | None = None
    reasoning_details: list[AnyDetail] | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None


class Result(Strict):
    role: Literal["tool"]
    tool_call_id: str
    content: str | list[Part]


class Request(Strict):
    model: str | None = None
    models: list[str] | None = None
    messages: Annotated[
        list[Annotated[SystemText | UserText | Answer | Result, Field(discriminator="role")]],
        Field(min_length=1),
    ]
    frequency_penalty: float | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    presence_penalty: float | None = None
    prompt_cache_key: str | None = None
    provider: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    reasoning_effort: str | None = None
    response_format: dict[str, Any] | None = None
    seed: int | None = None
    service_tier: str | None = None
    session_id: str | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = None
    tools: list[Tool] | None = None
    top_k: int | None = None
    top_p: float | None = None
    user: str | None = None


class StrictOpenRouter(ChatProvider):
    """Streams reasoning in fragments and signs the calls of an answer."""

    name: ClassVar[str] = "openrouter"
    base: ClassVar[str] = "/api/v1"
    schema: ClassVar[type[BaseModel]] = Request

    def __init__(self) -> None:
        super().__init__()
        self.details: dict[str, list[Body]] = {}

    def make_id(self) -> str:
        return f"tool_0_weather_{self.number():012d}"

    def make_calls(self, reply: Reply) -> list[Body]:
        calls = super().make_calls(reply)
        if calls:
            self.details[calls[0]["id"]] = [
                _thought("They ask about the weather."),
                _signature(calls[0]["id"]),
            ]
        return calls

    def call_deltas(self, calls: list[Body]) -> Iterator[Body]:
        if calls:
            for piece in ("They ask ", "about the weather."):
                yield {"content": "", "reasoning": piece, "reasoning_details": [_thought(piece)]}
            yield {"content": "", "reasoning": None, "reasoning_details": [_signature(calls[0]["id"])]}
        yield from super().call_deltas(calls)

    def last_chunks(self, reply: Reply, body: Body) -> Iterator[Body]:
        yield self.chunk(body, {"role": "assistant", "content": ""}, finish=self.finish(reply))
        yield {**self.chunk(body, {}), "choices": [], "usage": self.usage(reply)}

    def whole(self, reply: Reply, body: Body) -> Body:
        answer = super().whole(reply, body)
        message = answer["choices"][0]["message"]
        if calls := message.get("tool_calls"):
            message["reasoning_details"] = self.details[calls[0]["id"]]
        return answer

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        return f"Invalid input: {super().describe(place, problem, body)}"

    def check_rules(self, body: Body) -> None:
        messages = body["messages"]
        marked = sum(is_marked for _, is_marked in list_parts(body))
        if marked > MARKS:
            raise RejectedRequest(
                f"A maximum of {MARKS} blocks with cache_control may be provided. Found {marked}."
            )
        check_arguments(messages)
        check_pairs(messages, "tool_use ids and tool results do not match ({ids})")
        for message in messages:
            calls = message.get("tool_calls") or [{"id": ""}]
            given = self.details.get(calls[0]["id"])
            told = message.get("reasoning_details")
            if given is not None and told is None:
                raise RejectedRequest("Function call is missing a thought_signature in functionCall parts.")
            if given is not None and told != given:
                raise RejectedRequest("reasoning_details were modified")

    def render_error(self, text: str) -> tuple[int, Any]:
        return 400, {"error": {"code": 400, "message": text, "metadata": {"provider_name": "Google"}}}


def _thought(text: str) -> Body:
    return {"type": "reasoning.text", "text": text, "format": FORMAT, "index": 0}


def _signature(call_id: str) -> Body:
    data = f"sig-{call_id}"
    return {"type": "reasoning.encrypted", "data": data, "id": call_id, "format": FORMAT, "index": 1}
