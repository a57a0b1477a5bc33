"""Schemas of tools for strict providers."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

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
        ({"not": {"required": ["a"]}}, {}),
        (
            {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "type": "object"},
            {"then": {}, "type": "object"},
        ),
        ({"additionalProperties": False, "items": True}, {"additionalProperties": False, "items": True}),
        ({"anyOf": [{"$id": "x"}, True]}, {"anyOf": [{}, True]}),
        ({"items": [{"$id": "x"}], "not": {"$id": "x"}}, {"items": {}}),
        ({"items": [{"$id": "x"}, True]}, {"items": {"anyOf": [{}, True]}}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "any", "required": True, "properties": {"a": True}}, {"properties": {"a": {}}}),
        ({"$defs": {"$id": {"$id": "x"}}}, {"$defs": {"$id": {}}}),
        ({"type": "String"}, {"type": "string"}),
        ({"type": ["string", None, "string"]}, {"type": ["string", "null"]}),
        ({"type": []}, {}),
        ({"type": ["array", "null"]}, {"type": ["array", "null"], "items": {}}),
        ({"description": None, "title": 5, "format": [], "pattern": None, "minimum": 1}, {"minimum": 1}),
        (
            {"minimum": "1", "maximum": "2.5", "minLength": "3", "maxItems": 4.0},
            {"minimum": 1, "maximum": 2.5, "minLength": 3, "maxItems": 4},
        ),
        ({"minimum": "many", "maximum": True, "minLength": -1, "multipleOf": 0, "minItems": 1.5}, {}),
        (
            {"minimum": float("nan"), "maximum": float("inf"), "exclusiveMaximum": 10**400},
            {"exclusiveMaximum": 10**400},
        ),
        ({"properties": [], "patternProperties": "x", "$defs": None}, {}),
        (
            {"properties": {"a": None, "b": "string", "c": False, "d": []}},
            {"properties": {"a": {}, "b": {"type": "string"}, "c": {"not": {}}, "d": {}}},
        ),
        ({"additionalProperties": "object", "items": None}, {"additionalProperties": {"type": "object"}}),
        ({"additionalProperties": "true", "not": "x"}, {"additionalProperties": True}),
        ({"anyOf": [], "oneOf": None, "allOf": [None]}, {}),
        (
            {"anyOf": {"type": "string"}, "oneOf": ["null", 5]},
            {"anyOf": [{"type": "string"}], "oneOf": [{"type": "null"}]},
        ),
        ({"enum": "a", "examples": {}, "uniqueItems": "yes", "readOnly": "false"}, {"readOnly": False}),
        ({"enum": ["a", "a", 1, True]}, {"enum": ["a", 1, True]}),
        (
            {"properties": {"a": {}}, "required": ["a", None, "a"]},
            {"properties": {"a": {}}, "required": ["a"]},
        ),
        ({"dependentRequired": {"a": "b", "c": ["d", 1]}}, {"dependentRequired": {"c": ["d"]}}),
        (
            {"pattern": "(?P<a>x)", "patternProperties": {"[": {}, "^a": True}},
            {"patternProperties": {"^a": {}}},
        ),
        ({"$ref": 5, "$anchor": 1, "dependencies": {"a": 1}, "additionalItems": 1}, {}),
        (
            {"enum": [{"$id": "x"}], "default": {"$id": "x"}},
            {"enum": [{"$id": "x"}], "default": {"$id": "x"}},
        ),
    ],
)
def test_only_what_every_draft_shares_remains(schema: dict[str, Any], tidy: dict[str, Any]) -> None:
    assert tidy_schema(schema) == tidy
    Draft202012Validator.check_schema(tidy)
    nested = {"type": "object", "properties": {"a": {"type": "array", "items": {"anyOf": [schema]}}}}
    assert tidy_schema(nested)["properties"]["a"]["items"]["anyOf"] == [tidy]


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
