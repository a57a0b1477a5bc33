"""Schemas of tools for strict providers."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.tool_schemas import tidy_schema, tidy_tool


@pytest.mark.parametrize(
    ("schema", "tidy"),
    [
        ({"$schema": "x", "$id": "y", "$comment": "z", "type": "string"}, {"type": "string"}),
        ({"minimum": 0, "exclusiveMinimum": True}, {"exclusiveMinimum": 0}),
        ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"exclusiveMinimum": 3}, {"exclusiveMinimum": 3}),
        ({"exclusiveMaximum": True}, {}),
        ({"required": ["a"]}, {}),
        ({"additionalProperties": False, "items": True}, {"additionalProperties": False, "items": True}),
        ({"anyOf": [{"$id": "x"}, True]}, {"anyOf": [{}, True]}),
        ({"items": [{"$id": "x"}], "not": {"$id": "x"}}, {"items": {}, "not": {}}),
        ({"items": [{"$id": "x"}, True]}, {"items": {"anyOf": [{}, True]}}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "any", "required": True, "properties": {"a": True}}, {"properties": {"a": {}}}),
        ({"$defs": {"$id": {"$id": "x"}}}, {"$defs": {"$id": {}}}),
        (
            {"enum": [{"$id": "x"}], "default": {"$id": "x"}},
            {"enum": [{"$id": "x"}], "default": {"$id": "x"}},
        ),
    ],
)
def test_only_what_every_draft_shares_remains(schema: dict[str, Any], tidy: dict[str, Any]) -> None:
    assert tidy_schema(schema) == tidy


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    schema = {
        "properties": {"$schema": {"type": "string"}, "required": {"$id": "x"}},
        "required": ["$schema"],
    }
    assert tidy_schema(schema) == {
        "properties": {"$schema": {"type": "string"}, "required": {}},
        "required": ["$schema"],
    }


def test_parameters_are_always_an_object() -> None:
    for given in ({}, {"parameters": None}, {"parameters": {"type": "object"}}):
        tool = tidy_tool({"type": "function", "function": {"name": "f", **given}})
        assert tool["function"] == {"name": "f", "parameters": {"type": "object", "properties": {}}}
    assert tidy_tool({"type": "function", "name": "f"})["parameters"] == {"type": "object", "properties": {}}
    assert tidy_tool({"type": "web_search"}) == {"type": "web_search"}
