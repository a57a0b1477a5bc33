"""Mistral's chat completions, as strict as its own validator.

Schema: ChatCompletionStreamRequest and its messages in github.com/mistralai/client-python (docs/models,
2026-06-30); the API forbids unknown fields ("extra_forbidden", status 422). Rules: MistralRequestValidatorV13
in github.com/mistralai/mistral-common (protocol/instruct/validator.py, 2026-07-23): order of roles, pairs of
calls and results with distinct ids of nine letters and digits, text and thinking only in answers, text only
in results, images only in human messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from jsonschema import Draft7Validator, SchemaError
from pydantic import BaseModel, Field

from tests.harness.strict_providers.chat import (
    ChatProvider,
    Image,
    NamedChoice,
    TextPart,
    Tool,
    check_arguments,
    check_content,
)
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict

ORDER = {
    "system": {"user", "assistant", "system"},
    "user": {"assistant", "system", "user"},
    "assistant": {"assistant", "user", "tool"},
    "tool": {"assistant", "tool", "user"},
}


class ImageUrlPart(Strict):
    type: Literal["image_url"]
    image_url: Image | str


class ThinkingPart(Strict):
    type: Literal["thinking"]
    thinking: list[TextPart]
    signature: str | None = None
    closed: bool | None = None


class CalledFunction(Strict):
    name: str
    arguments: str | dict[str, Any]


class Call(Strict):
    id: str
    type: Literal["function"] = "function"
    function: CalledFunction
    index: int | None = None


class SystemText(Strict):
    role: Literal["system"]
    content: str | list[TextPart]


class UserText(Strict):
    role: Literal["user"]
    content: str | list[Annotated[TextPart | ImageUrlPart, Field(discriminator="type")]]


class Answer(Strict):
    role: Literal["assistant"]
    content: str | list[Annotated[TextPart | ThinkingPart, Field(discriminator="type")]] | None = None
    tool_calls: list[Call] | None = None
    prefix: bool = False


class Result(Strict):
    role: Literal["tool"]
    content: str | list[TextPart] | None
    tool_call_id: str
    name: str | None = None


class Request(Strict):
    model: str
    messages: list[Annotated[SystemText | UserText | Answer | Result, Field(discriminator="role")]]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stream: bool = False
    stop: str | list[str] | None = None
    random_seed: int | None = None
    metadata: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    tool_choice: Literal["auto", "none", "any", "required"] | NamedChoice | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    n: int | None = None
    prediction: dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Literal["none", "high"] | None = None
    prompt_mode: Literal["reasoning"] | None = None
    guardrails: list[Any] | None = None
    prompt_cache_key: str | None = None
    safe_prompt: bool | None = None


class StrictMistral(ChatProvider):
    """Sends calls whole and the usage with the last chunk."""

    name: ClassVar[str] = "mistral"
    schema: ClassVar[type[BaseModel]] = Request

    def make_id(self) -> str:
        return f"id{self.number():07d}"

    def call_deltas(self, calls: list[Body]) -> Iterator[Body]:
        if calls:
            yield {"tool_calls": [{**call, "index": index} for index, call in enumerate(calls)]}

    def last_chunks(self, reply: Reply, body: Body) -> Iterator[Body]:
        yield {**self.chunk(body, {"content": ""}, finish=self.finish(reply)), "usage": self.usage(reply)}

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        return f"extra_forbidden or invalid: body.{super().describe(place, problem, body)}"

    def check_rules(self, body: Body) -> None:
        messages = body["messages"]
        if not messages:
            raise RejectedRequest("Conversation must have at least one message")
        for before, after in pairwise(messages):
            if after["role"] not in ORDER[before["role"]]:
                raise RejectedRequest(f"Unexpected role '{after['role']}' after role '{before['role']}'")
        last = messages[-1]
        if len(messages) > 1 and last["role"] not in {"user", "tool"} and not last.get("prefix"):
            raise RejectedRequest(f"Expected last role User or Tool for serving but got {last['role']}")
        for tool in body.get("tools") or ():
            _check_schema(tool["function"]["parameters"])
        check_content(messages, "Assistant message must have either content or tool_calls, but not none.")
        check_arguments(messages)
        _check_ids(messages)
        _check_pairs(messages)

    def render_error(self, text: str) -> tuple[int, Any]:
        if text.startswith("extra_forbidden"):
            detail = [{"type": "extra_forbidden", "loc": ["body"], "msg": text}]
            return 422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}
        return 400, {"object": "error", "message": text, "type": "invalid_request_error", "code": "3280"}


def _check_schema(schema: Body) -> None:
    """Check a schema as the validator does; the API rejects `$schema` and `$id` too (litellm issue 13389)."""
    try:
        Draft7Validator.check_schema(schema)
    except SchemaError as error:
        raise RejectedRequest(f"Invalid tool schema: {error.message}") from None
    if found := {"$schema", "$id"} & schema.keys():
        raise RejectedRequest(f"Grammar error: failed to compile JSON schema ({', '.join(sorted(found))})")


def _check_ids(messages: list[Body]) -> None:
    for message in messages:
        ids = [call["id"] for call in message.get("tool_calls") or ()]
        for one in [*ids, *([message["tool_call_id"]] if message["role"] == "tool" else [])]:
            if not re.fullmatch(r"[a-zA-Z0-9]{9}", one):
                raise RejectedRequest(
                    f"Tool call id was {one} but must be a-z, A-Z, 0-9, with a length of 9."
                )


def _check_pairs(messages: list[Body]) -> None:
    expected: set[str] = set()
    observed: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            one = message["tool_call_id"]
            if one in observed or one not in expected:
                raise RejectedRequest(f"Unexpected tool call id {one} in tool results")
            observed.add(one)
        elif message["role"] == "assistant":
            if expected != observed:
                raise RejectedRequest("Not the same number of function calls and responses")
            ids = [call["id"] for call in message.get("tool_calls") or ()]
            if len(ids) != len(set(ids)):
                raise RejectedRequest("Duplicate tool call id in assistant message")
            expected, observed = set(ids), set()
    if expected != observed:
        raise RejectedRequest("Not the same number of function calls and responses")
