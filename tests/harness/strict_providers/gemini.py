"""Google's OpenAI-compatible API, as strict as it documents.

Schema: https://ai.google.dev/gemini-api/docs/openai and the list of parameters at
https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/migrate/openai/overview; an unknown name
is an error ("Invalid JSON payload received. Unknown name ... Cannot find field.").
Signatures: https://ai.google.dev/gemini-api/docs/thought-signatures, section on OpenAI compatibility. In the
current turn the first call of each answer must carry the signature that Gemini gave it, or one of two
placeholders for calls of other models. As clients report them (open-webui/computer issue 224, hermes-agent
pull request 19728): a streamed call comes whole, without an index, and ends with `stop`; a result without the
name of its function is rejected. Tools and the order of messages: see `gemini_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field

from tests.harness.strict_providers.chat import (
    CalledFunction,
    ChatProvider,
    FunctionName,
    NamedChoice,
    StreamOptions,
    SystemText,
    TextPart,
    Tool,
    UserText,
    check_arguments,
    check_pairs,
)
from tests.harness.strict_providers.gemini_rules import check_texts, check_tools
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict

PLACEHOLDERS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


class Google(Strict):
    thought_signature: str


class ExtraContent(Strict):
    google: Google


class Call(Strict):
    id: str
    type: Literal["function"]
    function: CalledFunction
    extra_content: ExtraContent | None = None


class Answer(Strict):
    role: Literal["assistant"]
    content: str | list[TextPart] | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None
    name: str | None = None


class Result(Strict):
    role: Literal["tool"]
    name: FunctionName | None = None
    tool_call_id: str
    content: str | list[TextPart]


class Request(Strict):
    model: str
    messages: Annotated[
        list[Annotated[SystemText | UserText | Answer | Result, Field(discriminator="role")]],
        Field(min_length=1),
    ]
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: Literal[1] | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = None
    response_format: dict[str, Any] | None = None
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    tools: list[Tool] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = None


class StrictGemini(ChatProvider):
    """Signs the first call of every answer."""

    name: ClassVar[str] = "gemini"
    base: ClassVar[str] = "/v1beta/openai"
    schema: ClassVar[type[BaseModel]] = Request
    call_finish: ClassVar[str] = "stop"

    def __init__(self) -> None:
        super().__init__()
        self.signatures: set[str] = set()

    def make_id(self) -> str:
        return f"function-call-{self.number()}"

    def make_calls(self, reply: Reply) -> list[Body]:
        calls = super().make_calls(reply)
        for call in calls[:1]:
            signature = f"sig-{call['id']}"
            self.signatures.add(signature)
            call["extra_content"] = {"google": {"thought_signature": signature}}
        return calls

    def call_deltas(self, calls: list[Body]) -> Iterator[Body]:
        yield from ({"role": "assistant", "tool_calls": [call]} for call in calls)

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        if problem.startswith("Extra"):
            return f'Invalid JSON payload received. Unknown name "{place[-1]}": Cannot find field.'
        return f"Request contains an invalid argument: {super().describe(place, problem, body)}"

    def check_rules(self, body: Body) -> None:
        messages = body["messages"]
        check_tools([tool["function"] for tool in body.get("tools") or ()])
        check_texts(messages)
        check_arguments(messages)
        check_pairs(
            messages,
            "Please ensure that the number of function response parts is equal to the number of function "
            "call parts of the function call turn. ({ids})",
        )
        start = max((at for at, one in enumerate(messages) if one["role"] == "user"), default=0)
        for at, message in enumerate(messages):
            self._check_signatures(message.get("tool_calls") or (), is_current=at > start)
        if any(message["role"] == "tool" and not message.get("name") for message in messages):
            raise RejectedRequest("Request contains an invalid argument: a result has no function name.")

    def _check_signatures(self, calls: Any, *, is_current: bool) -> None:
        for place, call in enumerate(calls):
            signature = ((call.get("extra_content") or {}).get("google") or {}).get("thought_signature")
            if signature is None and is_current and place == 0:
                raise RejectedRequest(
                    "Function call is missing a thought_signature in functionCall parts. This is required "
                    f"for tools to work correctly. Function call `{call['function']['name']}`"
                )
            if signature is not None and signature not in {*self.signatures, *PLACEHOLDERS}:
                raise RejectedRequest("Corrupted thought signature.")

    def render_error(self, text: str) -> tuple[int, Any]:
        return 400, [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]
