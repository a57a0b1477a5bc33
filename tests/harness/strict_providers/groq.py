"""Groq's chat completions, as strict as it documents.

Schema: the request types of the groq package, 1.7.0, generated from Groq's OpenAPI description
(groq/types/chat). https://console.groq.com/docs/openai: `logprobs`, `logit_bias`, `top_logprobs` and
`messages[].name` are a 400 error, `n` has to be 1; so is any property that the schema does not have
("property 'reasoning_content' is unsupported"). Schemas of tools are checked ("'required' present but
'properties' is missing", strix issue 1088). Only vision models take lists of parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from tests.harness.strict_providers.chat import (
    CalledFunction,
    ChatProvider,
    NamedChoice,
    Part,
    TextPart,
    Tool,
    check_arguments,
    check_pairs,
)
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict


class Call(Strict):
    id: str
    type: Literal["function"]
    function: CalledFunction


class SystemText(Strict):
    role: Literal["system"]
    content: str | list[TextPart]


class UserText(Strict):
    role: Literal["user"]
    content: str | list[Part]


class Answer(Strict):
    role: Literal["assistant"]
    content: str | list[TextPart] | None = None
    reasoning: str | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None


class Result(Strict):
    role: Literal["tool"]
    tool_call_id: str
    content: str | list[Part]


class Request(Strict):
    model: str
    messages: Annotated[
        list[Annotated[SystemText | UserText | Answer | Result, Field(discriminator="role")]],
        Field(min_length=1),
    ]
    disable_tool_validation: bool | None = None
    frequency_penalty: float | None = None
    include_reasoning: bool | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    metadata: dict[str, str] | None = None
    n: Literal[1] | None = None
    parallel_tool_calls: bool | None = None
    presence_penalty: float | None = None
    reasoning_effort: Literal["none", "default", "low", "medium", "high"] | None = None
    reasoning_format: Literal["hidden", "raw", "parsed"] | None = None
    response_format: dict[str, Any] | None = None
    seed: int | None = None
    service_tier: Literal["auto", "on_demand", "flex", "performance"] | None = None
    stop: str | list[str] | None = None
    store: bool | None = None
    stream: bool = False
    temperature: float | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = None
    tools: Annotated[list[Tool], Field(max_length=128)] | None = None
    top_p: float | None = None
    user: str | None = None


class StrictGroq(ChatProvider):
    """Reasons in a field of its own and counts tokens in `x_groq`."""

    name: ClassVar[str] = "groq"
    base: ClassVar[str] = "/openai/v1"
    schema: ClassVar[type[BaseModel]] = Request

    def make_id(self) -> str:
        return f"fc_{self.number():08d}-0000-4000-8000-000000000000"

    def first_deltas(self, reply: Reply) -> Iterator[Body]:
        yield {"role": "assistant", "content": None}
        yield {"reasoning": "They ask something.", "channel": "analysis"}

    def call_deltas(self, calls: list[Body]) -> Iterator[Body]:
        yield from ({"tool_calls": [{**call, "index": index}]} for index, call in enumerate(calls))

    def last_chunks(self, reply: Reply, body: Body) -> Iterator[Body]:
        yield {
            **self.chunk(body, {}, finish=self.finish(reply)),
            "x_groq": {"id": "req_1", "usage": self.usage(reply)},
        }

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        if not problem.startswith("Extra"):
            return super().describe(place, problem, body)
        if place[0] != "messages":
            return f"property '{place[-1]}' is unsupported"
        where = f"messages.{place[1]}"
        problem = f"('{where}' : property '{place[-1]}' is unsupported)"
        return f"'{where}' : for 'role:{place[2]}' the following must be satisfied[{problem}]"

    def check_rules(self, body: Body) -> None:
        messages = body["messages"]
        sees = "llama-4" in body["model"]
        for at, message in enumerate(messages):
            parts = message["content"] if isinstance(message.get("content"), list) else []
            if not sees and any(part["type"] == "image_url" for part in parts):
                raise RejectedRequest(f"messages[{at}].content must be a string")
        for at, tool in enumerate(body.get("tools") or ()):
            schema = tool["function"].get("parameters") or {}
            if "required" in schema and "properties" not in schema:
                raise RejectedRequest(
                    f"invalid JSON schema for tool {tool['function']['name']}, tools[{at}]: "
                    "'required' present but 'properties' is missing"
                )
        check_arguments(messages)
        check_pairs(messages, "tool_calls and tool messages do not match ({ids})")

    def render_error(self, text: str) -> tuple[int, Any]:
        return 400, {"error": {"message": text, "type": "invalid_request_error"}}
