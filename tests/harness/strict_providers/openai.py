"""OpenAI's chat completions, as strict as its published types.

Schema: openai/types/chat/*_param.py of the openai package 3.54.0, from OpenAI's OpenAPI description. Unknown
fields are rejected ("Unknown parameter"). Rules between messages, as the API answers: a message with
`tool_calls` must be followed by tool messages for each id, a tool message must respond to such a message.
Schemas of tools: see `tool_rules`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from tests.harness.strict_providers.chat import (
    CalledFunction,
    ChatProvider,
    NamedChoice,
    StreamOptions,
    SystemText,
    TextPart,
    Tool,
    UserText,
    check_options,
    check_pairs,
)
from tests.harness.strict_providers.server import Body, RejectedRequest, Strict
from tests.harness.strict_providers.tool_rules import check_schemas


class Call(Strict):
    id: Annotated[str, Field(min_length=1, max_length=40)]
    type: Literal["function"]
    function: CalledFunction


class RefusalPart(Strict):
    type: Literal["refusal"]
    refusal: str


class Answer(Strict):
    role: Literal["assistant"]
    content: str | list[Annotated[TextPart | RefusalPart, Field(discriminator="type")]] | None = None
    name: str | None = None
    refusal: str | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None


class Result(Strict):
    role: Literal["tool"]
    tool_call_id: str
    content: str | list[TextPart]


class Request(Strict):
    model: str
    messages: Annotated[
        list[Annotated[SystemText | UserText | Answer | Result, Field(discriminator="role")]],
        Field(min_length=1),
    ]
    frequency_penalty: float | None = None
    logit_bias: dict[str, int] | None = None
    logprobs: bool | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    metadata: dict[str, str] | None = None
    n: int | None = None
    parallel_tool_calls: bool | None = None
    presence_penalty: float | None = None
    prompt_cache_key: str | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    response_format: dict[str, Any] | None = None
    safety_identifier: str | None = None
    seed: int | None = None
    service_tier: str | None = None
    stop: str | list[str] | None = None
    store: bool | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = None
    tools: Annotated[list[Tool], Field(min_length=1, max_length=128)] | None = None
    top_logprobs: int | None = None
    top_p: float | None = None
    user: str | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class StrictOpenAI(ChatProvider):
    """Streams arguments in pieces."""

    name: ClassVar[str] = "openai"
    schema: ClassVar[type[BaseModel]] = Request

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        if problem.startswith("Extra"):
            return f"Unknown parameter: '{'.'.join(map(str, place))}'."
        return f"Invalid value: {super().describe(place, problem, body)}"

    def chunk(self, body: Body, delta: Body, *, finish: str | None = None) -> Body:
        made = super().chunk(body, delta, finish=finish)
        return {**made, "usage": None} if body.get("stream_options") else made

    def check_rules(self, body: Body) -> None:
        check_options(body)
        check_schemas([tool["function"] for tool in body.get("tools") or ()])
        for at, message in enumerate(body["messages"]):
            if message.get("content") is None and not message.get("tool_calls"):
                raise RejectedRequest(
                    f"Invalid value for 'content': expected a string, got null. (messages.[{at}].content)"
                )
        check_pairs(
            body["messages"],
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
        )

    def render_error(self, text: str) -> tuple[int, Any]:
        return 400, {
            "error": {"message": text, "type": "invalid_request_error", "param": "messages", "code": None}
        }
