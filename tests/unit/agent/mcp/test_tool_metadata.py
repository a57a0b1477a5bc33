"""What a server says about its tools reaches the harness only where the protocol defines it."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp import types as protocol

from agent.core.tool_order import Order, read_order
from agent.mcp.tool import usable_schema
from agent.mcp.wire import UNUSABLE, convert_tool


async def never(*_args: Any, **_options: Any) -> Any:
    raise AssertionError("no call is made")


def metadata_of(annotations: dict[str, Any]) -> dict[str, Any]:
    given = {"name": "send", "inputSchema": {"type": "object"}, "annotations": annotations}
    tool = convert_tool(protocol.Tool.model_validate(given), name="s_send", server="s", call=never)
    assert tool.metadata is not None
    return tool.metadata | {"read": read_order(tool)}


def test_fields_of_a_server_are_no_settings_of_the_harness() -> None:
    found = metadata_of({"aliases": 5, "order": "free", "mcp_server": "other", "title": "Send"})
    assert "aliases" not in found
    assert found["read"] is not Order.FREE
    assert (found["mcp_server"], found["title"]) == ("s", "Send")


def test_a_tool_that_only_reads_keeps_no_order() -> None:
    assert metadata_of({"readOnlyHint": True})["read"] is Order.FREE


def tool_with(schema: dict[str, Any], call: Any = never) -> Any:
    """The tool of a server with this schema."""
    definition = protocol.Tool.model_validate({"name": "send", "inputSchema": schema})
    return convert_tool(definition, name="s_send", server="s", call=call)


LONG = "x" * 70
PEOPLE = {"$ref": "#/$defs/a~1b"}
DEFINED = {"$defs": {"a/b": {"type": "object", "properties": {"boss": PEOPLE, "na me": {"type": "string"}}}}}


@pytest.mark.parametrize(
    ("properties", "arguments"),
    [
        (
            {"$top": {"type": "integer"}, "filter[]": "string", LONG: {}},
            {"$top": 5, "filter[]": "a", LONG: 1},
        ),
        ({"a b": {}, "a_b": {}, "a+b": {}}, {"a b": 1, "a_b": 2, "a+b": 3}),
        ({"list": {"items": {"properties": {"$ref": {}}}}}, {"list": [{"$ref": "x"}]}),
        ({"top": {}, "$top": {}, "free": {"type": "object"}}, {"$top": 1, "free": {"top": 2}, "top": 3}),
        ({"one": {"anyOf": [{"properties": {"名": {}}}, {"type": "null"}]}}, {"one": {"名": "x"}}),
        ({"one": PEOPLE}, {"one": {"boss": {}, "na me": "x"}}),
        ({"": {"type": "string"}}, {"": "x"}),
    ],
)
async def test_arguments_are_renamed_for_providers_and_sent_with_their_original_names(
    properties: dict[str, Any], arguments: dict[str, Any]
) -> None:
    calls: list[dict[str, Any]] = []

    async def call(_name: str, sent: dict[str, Any], _report: Any) -> dict[str, Any]:
        calls.append(sent)
        return {"content": []}

    required = list(properties)
    tool = tool_with({"type": "object", "properties": properties, "required": required, **DEFINED}, call)
    new = {old: name for name, old in tool.renamed.items()}

    def rename(value: Any, *, is_free: bool = False) -> Any:
        if not isinstance(value, dict):
            return [rename(one) for one in value] if isinstance(value, list) else value
        return {
            (key if is_free else new.get(key, key)): rename(one, is_free=key == "free")
            for key, one in value.items()
        }

    sent = rename(arguments)
    parameters = convert_to_openai_tool(tool)["function"]["parameters"]
    Draft202012Validator(parameters).validate(sent)
    assert set(parameters["required"]) == set(sent)
    assert all(
        old in parameters["properties"][name]["description"] for old, name in new.items() if old in sent
    )
    await tool.ainvoke(sent)
    assert calls == [arguments]


@pytest.mark.parametrize(
    ("schema", "properties"),
    [
        ({"properties": [], "items": None, "additionalProperties": "object", "description": None}, {}),
        ({"$ref": "#/$defs/Top", "$defs": {"Top": {"properties": {"a": {"$ref": "#/$defs/No"}}}}}, {"a": {}}),
        ({"properties": {"a": {"$ref": "https://example.com/x"}, "b": {"$ref": "#a"}}}, {"a": {}, "b": {}}),
        (
            {"allOf": [{"$ref": "#/definitions/A"}], "definitions": {"A": {"properties": {"a": {}}}}},
            {"a": {}},
        ),
        ({"type": ["array"], "properties": {"a": {"$ref": "#/properties/a"}}}, {"a": {}}),
    ],
)
def test_an_invalid_schema_becomes_valid(schema: dict[str, Any], properties: dict[str, Any]) -> None:
    usable = usable_schema(schema)
    Draft202012Validator.check_schema(usable)
    assert (usable["type"], usable["properties"]) == ("object", properties)
    assert convert_to_openai_tool(tool_with(schema))["function"]["parameters"]["properties"] == properties


def test_references_between_many_parts_stay_small() -> None:
    names = [f"p{number}" for number in range(12)]
    parts = {name: {"properties": {other: {"$ref": f"#/$defs/{other}"} for other in names}} for name in names}
    assert len(str(usable_schema({**parts["p0"], "$defs": parts}))) < 100_000


@pytest.mark.parametrize("value", [float("nan"), {"$ref": "#/nowhere"}, "\ud800"])
def test_a_schema_that_no_request_can_contain_is_refused(value: Any) -> None:
    with pytest.raises(UNUSABLE):
        tool_with({"type": "object", "properties": {"a": {"default": value}}})
