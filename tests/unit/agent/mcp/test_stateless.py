"""Headers of requests without a session (specification 2026-07-28, basic/transports/streamable-http)."""

from __future__ import annotations

from typing import Any

import pytest

from agent.mcp.stateless import HeaderParameters, build_headers, find_header_parameters


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("two words", "two words"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?open", "=?base64?open"),
        ("a\r\nX: 1", "=?base64?YQ0KWDogMQ==?="),
        ("", ""),
        ("\ud800", "=?base64?Pw==?="),
        (42, "42"),
        (-7, "-7"),
        (True, "true"),
        (False, "false"),
        (None, None),
        ({"a": 1}, None),
    ],
)
def test_argument_values_in_headers(value: Any, header: str | None) -> None:
    params = {"name": "t", "arguments": {"deep": {"v": value}}}
    found = build_headers(
        {"method": "tools/call", "params": params}, HeaderParameters({"t": {("deep", "v"): "V"}})
    )
    assert found.get("Mcp-Param-V") == header


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("tools/call", {"name": "büro"}, "=?base64?YsO8cm8=?="),
        ("resources/read", {"uri": "file:///a b"}, "file:///a b"),
        ("tasks/cancel", {"taskId": "7"}, "7"),
        ("tools/list", {}, None),
        ("server/discover", {"name": "x"}, None),
    ],
)
def test_names_in_headers(method: str, params: dict[str, Any], name: str | None) -> None:
    found = build_headers({"method": method, "params": params}, HeaderParameters())
    assert (found["Mcp-Method"], found.get("Mcp-Name")) == (method, name)
    assert found["MCP-Protocol-Version"] == "2026-07-28"


def marked(name: Any = "Region", kind: Any = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({}, {}),
        ({"properties": {"a": marked(), "b": marked("B", "integer")}}, {("a",): "Region", ("b",): "B"}),
        ({"properties": {"a": {"properties": {"b": marked("C", "boolean")}}}}, {("a", "b"): "C"}),
        ({"properties": {"x-mcp-header": {"type": "string"}}}, {}),
        ({"properties": {"a": {"default": {"x-mcp-header": "no mark"}}}}, {}),
        ({"properties": {"a": marked(kind="number")}}, None),
        ({"properties": {"a": marked(kind=["string", "null"])}}, None),
        ({"properties": {"a": marked(kind=None)}}, None),
        ({"properties": {"a": marked("")}}, None),
        ({"properties": {"a": marked("two words")}}, None),
        ({"properties": {"a": marked("a\r\nb")}}, None),
        ({"properties": {"a": marked("Größe")}}, None),
        ({"properties": {"a": marked(5)}}, None),
        ({"properties": {"a": marked("R"), "b": marked("r")}}, None),
        ({"properties": {"a": {"items": marked()}}}, None),
        ({"properties": {"a": {"items": {"properties": {"b": marked()}}}}}, None),
        ({"anyOf": [{"properties": {"a": marked()}}]}, None),
        ({"if": {"properties": {"a": marked()}}}, None),
        ({"$defs": {"a": marked()}, "properties": {"a": {"$ref": "#/$defs/a"}}}, None),
        (marked(), None),
    ],
)
def test_marked_arguments_of_a_schema(schema: dict[str, Any], found: Any) -> None:
    if found is None:
        with pytest.raises(ValueError, match="x-mcp-header"):
            find_header_parameters(schema)
    else:
        assert find_header_parameters(schema) == found
