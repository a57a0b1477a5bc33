"""The strict providers reject tools, options and empty messages that the real ones reject."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.agent.test_strict_rules import Body, make_provider, message, request, top
from tests.harness.strict_providers.server import RejectedRequest

MARKER = {"type": "ephemeral"}


def with_tools(name: str, *schemas: Body, called: str = "weather") -> Callable[[Body], object]:
    """Give the request tools with these parameters, in the form of the provider."""

    def make(schema: Body, at: int) -> Body:
        one = called if at == 0 else f"{called}{at}"
        if name == "anthropic":
            return {"name": one, "input_schema": schema}
        function = {"name": one, "parameters": schema}
        return (
            {"type": "function", **function}
            if name == "responses"
            else {"type": "function", "function": function}
        )

    return lambda body: body.update(tools=[make(schema, at) for at, schema in enumerate(schemas)])


def having(**properties: Body) -> Body:
    return {"type": "object", "properties": {"city": {"type": "string"}, **properties}}


def mark_twice(body: Body) -> None:
    text = {"type": "text", "text": "x", "cache_control": MARKER}
    body["system"] = [dict(text) for _ in range(5)]


def repeat_call(body: Body) -> None:
    body["messages"] += [dict(one) for one in body["messages"][1:]]


def answer_then_call(body: Body) -> None:
    body["messages"].insert(4, {"role": "assistant", "content": "Moment."})


DRAFT_4 = having(n={"type": "integer", "minimum": 0, "exclusiveMinimum": True})
CHOICE = {"type": "any"}
REJECTED: dict[str, dict[str, tuple[Callable[[Body], object], str]]] = {
    "openai": {
        "alternatives at the top": (
            with_tools("openai", {**having(), "anyOf": [{"required": ["city"]}]}),
            "must not have 'anyOf' at the top level",
        ),
        "no object": (
            with_tools("openai", {"type": "string"}),
            "must be a JSON Schema of 'type: \"object\"'",
        ),
        "no properties": (with_tools("openai", {"type": "object"}), "object schema missing properties"),
        "an array without items": (
            with_tools("openai", having(tags={"type": "array"})),
            "array schema missing items",
        ),
        "too many tools": (with_tools("openai", *[having()] * 129), "at most 128"),
        "a choice without tools": (
            lambda body: body.update(tools=None, tool_choice="auto"),
            "only allowed when 'tools' are specified",
        ),
        "options of a stream without a stream": (
            top(stream=False, stream_options={"include_usage": True}),
            "only allowed when 'stream' is enabled",
        ),
        "an answer without anything": (message(2, content=None), "expected a string, got null"),
        "a name with a dot": (with_tools("openai", having(), called="a.b"), "name: String should match"),
    },
    "responses": {
        "alternatives at the top": (
            with_tools("responses", {**having(), "oneOf": []}),
            "must not have 'oneOf' at the top level",
        ),
        "an array without items": (
            with_tools("responses", having(tags={"type": "array"})),
            "array schema missing items",
        ),
        "a choice without tools": (top(tool_choice="auto"), "Tool choice requires tools"),
    },
    "anthropic": {
        "a schema of draft 4": (with_tools("anthropic", DRAFT_4), "must match JSON Schema draft 2020-12"),
        "alternatives at the top": (
            with_tools("anthropic", {**having(), "allOf": []}),
            "does not support oneOf, allOf, or anyOf at the top level",
        ),
        "no object": (with_tools("anthropic", {}), "input_schema.type"),
        "a key with a space": (
            with_tools("anthropic", having(**{"a key": {"type": "string"}})),
            "Property keys should match pattern",
        ),
        "a choice without tools": (top(tool_choice=CHOICE, thinking=None), "while providing `tools`"),
        "a forced call in thinking mode": (
            lambda body: (with_tools("anthropic", having())(body), top(tool_choice=CHOICE)(body)),
            "Thinking may not be enabled when tool_choice forces tool use",
        ),
        "a budget above the limit": (top(max_tokens=1024), "must be greater than `thinking.budget_tokens`"),
        "a temperature in thinking mode": (
            top(temperature=0.5),
            "may only be set to 1 when thinking is enabled",
        ),
        "five cache markers": (mark_twice, "A maximum of 4 blocks with cache_control"),
        "a call that is repeated": (repeat_call, "`tool_use` ids must be unique"),
        "a text of spaces": (message(0, content="  "), "String should match"),
        "two tools with one name": (
            lambda body: body.update(tools=[{"name": "a", "input_schema": having()}] * 2),
            "Tool names must be unique",
        ),
    },
    "gemini": {
        "an unknown keyword": (
            with_tools("gemini", having(tags={"type": "object", "additionalProperties": False})),
            'Unknown name "additionalProperties" at',
        ),
        "a constant": (with_tools("gemini", having(kind={"const": "a"})), 'Unknown name "const" at'),
        "a reference": (with_tools("gemini", having(kind={"$ref": "#/$defs/a"})), 'Unknown name "$ref" at'),
        "a list of types": (
            with_tools("gemini", having(kind={"type": ["string", "null"]})),
            "Invalid value at",
        ),
        "numbers as an enumeration": (with_tools("gemini", having(n={"enum": [1, 2]})), "Invalid value at"),
        "a schema without a type": (
            with_tools("gemini", having(n={"enum": ["a"]})),
            "type: must be specified",
        ),
        "an enumeration of another type": (
            with_tools("gemini", having(n={"type": "integer", "enum": ["1"]})),
            "only allowed for STRING",
        ),
        "properties of a text": (
            with_tools("gemini", having(data={"type": "string", "properties": {"a": {"type": "string"}}})),
            "parameters.properties[data].properties: only allowed for OBJECT type",
        ),
        "items of a text": (
            with_tools("gemini", having(data={"type": "string", "items": {"type": "string"}})),
            "items: only allowed for ARRAY type",
        ),
        "an array without items": (
            with_tools("gemini", having(tags={"type": "array"})),
            "parameters.properties[tags].items: missing field",
        ),
        "a required property that is not defined": (
            with_tools("gemini", {**having(), "required": ["town"]}),
            "required[0]: property is not defined",
        ),
        "a field beside alternatives": (
            with_tools("gemini", having(n={"description": "x", "anyOf": [{"type": "string"}]})),
            "it must be the only field set",
        ),
        "a name that starts with a digit": (
            with_tools("gemini", having(), called="1a"),
            "Invalid function name",
        ),
        "two tools with one name": (
            lambda body: body.update(tools=body["tools"] * 2),
            "Duplicate function declaration found: weather",
        ),
        "an empty message": (message(1, content=""), "empty text parameter"),
        "an empty part": (message(1, content=[{"type": "text", "text": ""}]), "empty text parameter"),
        "calls after an answer": (answer_then_call, "function call turn comes immediately after a user turn"),
    },
    "deepseek": {
        "an answer without anything": (message(2, content=""), "content or tool_calls must be set"),
        "too many tools": (with_tools("deepseek", *[having()] * 129), "at most 128"),
    },
    "mistral": {
        "an answer without anything": (message(2, content=""), "but not none"),
        "a name with a dot": (with_tools("mistral", having(), called="a.b"), "String should match"),
    },
    "groq": {"too many tools": (with_tools("groq", *[having()] * 129), "at most 128")},
    "ollama": {
        "a property that is no object": (
            with_tools("ollama", {"type": "object", "properties": {"a": True}}),
            "properties.a",
        ),
        "parameters without a type": (with_tools("ollama", {"properties": {}}), "parameters.type"),
        "an unknown effort": (top(reasoning_effort="extreme"), "reasoning_effort"),
    },
}


@pytest.mark.parametrize(("name", "rule"), [(name, rule) for name in REJECTED for rule in REJECTED[name]])
def test_what_this_provider_rejects_of_tools_and_options(name: str, rule: str) -> None:
    change, text = REJECTED[name][rule]
    body: Any = request(name)
    change(body)
    with pytest.raises(RejectedRequest) as caught:
        make_provider(name).check(body)
    assert text in str(caught.value)


@pytest.mark.parametrize("name", REJECTED)
def test_a_request_with_a_usual_tool_is_accepted(name: str) -> None:
    body: Any = request(name)
    usual = having(tags={"type": "array", "items": {"type": "string"}})
    with_tools(name, {**usual, "required": ["city"]})(body)
    make_provider(name).check(body)


@pytest.mark.parametrize("name", REJECTED)
def test_a_request_needs_a_key(name: str) -> None:
    with pytest.raises(RejectedRequest) as caught:
        make_provider(name).check_headers({})
    assert caught.value.status == 401
