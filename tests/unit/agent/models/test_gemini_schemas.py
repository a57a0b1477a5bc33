"""Schemas of tools for Gemini, whose API has fields for a part of JSON Schema."""

from __future__ import annotations

from typing import Any

import pytest

from agent.models.gemini_schemas import reduce_function, reduce_schema
from tests.harness.strict_providers.gemini_rules import check_tools


def check(schema: dict[str, Any]) -> None:
    """Check the schema as that of a property."""
    check_tools([{"name": "f", "parameters": {"type": "object", "properties": {"p": schema}}}])


@pytest.mark.parametrize(
    ("schema", "reduced"),
    [
        ({"type": "object", "additionalProperties": False}, {"type": "object"}),
        ({"type": "string", "uniqueItems": True, "format": "uri"}, {"type": "string", "format": "uri"}),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"type": "integer", "const": 3}, {"type": "integer", "description": "One of: 3."}),
        (
            {"type": "integer", "enum": [1, 2], "description": "A level."},
            {"type": "integer", "description": "A level. One of: 1, 2."},
        ),
        (
            {"type": ["string", "null"], "enum": ["a", None]},
            {"type": "string", "enum": ["a"], "nullable": True},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "x"},
            {"type": "string", "description": "x", "nullable": True},
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "array"}], "description": "x", "title": "t"},
            {
                "anyOf": [
                    {"type": "string", "description": "x"},
                    {"type": "array", "items": {"type": "string"}, "description": "x"},
                ]
            },
        ),
        ({"type": "number", "exclusiveMinimum": 0}, {"type": "number", "minimum": 0}),
        ({"type": "array", "items": True}, {"type": "array", "items": {"type": "string"}}),
        ({"description": "anything"}, {"type": "string", "description": "anything"}),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}], "type": "object"},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        (
            {"type": "string", "properties": {"a": {"type": "string"}}, "required": ["a"], "items": {}},
            {"type": "string"},
        ),
        (
            {"type": ["string", "array"], "items": {"type": "integer"}},
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
    ],
)
def test_only_fields_of_gemini_remain(schema: dict[str, Any], reduced: dict[str, Any]) -> None:
    assert reduce_schema(schema) == reduced
    check(reduced)


def test_references_are_inlined_and_recursion_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}}}
    reduced = reduce_schema(
        {"type": "object", "properties": {"n": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    )
    there = {"next": {"type": "object"}, "name": {"type": "string"}}
    assert reduced["properties"]["n"] == {"type": "object", "properties": there}
    check(reduced)
    assert reduce_schema({"$ref": "#"}) == {"type": "object"}
    assert reduce_schema({"$ref": "#/a", "a": {"$ref": "#/a"}}) == {"type": "object"}
    assert reduce_schema({"$ref": "#/$defs/none", "description": "d"}) == {
        "type": "object",
        "description": "d",
    }


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    empty = {"type": "object", "properties": {}}
    for given in ({"parameters": empty, "strict": True}, {"parameters": {"properties": {}}}):
        assert reduce_function({"name": "f", **given}) == {"name": "f", "parameters": empty}


def test_parts_that_refer_to_each_other_do_not_multiply() -> None:
    """Each of ten parts has all of the others: without a limit there would be millions of paths."""
    names = [f"part{number}" for number in range(10)]
    every = {name: {"$ref": f"#/$defs/{name}"} for name in names}
    part = {"type": "object", "properties": every}
    schema = {"type": "object", "properties": every, "$defs": dict.fromkeys(names, part)}
    reduced = reduce_schema(schema)
    assert len(str(reduced)) < 500_000
    check(reduced)
    assert reduced == reduce_schema(schema)
