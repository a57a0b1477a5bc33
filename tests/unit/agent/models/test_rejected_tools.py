"""Tools that a provider rejects are found in its errors, which name them in many ways."""

from __future__ import annotations

from typing import Any

import pytest

from agent.models.rejected_tools import find_rejected_tool

TOOLS = [{"name": "read"}, {"type": "function", "function": {"name": "docs_search"}}, {"name": "search"}]


class Rejection(Exception):
    """An error as providers' packages raise it."""

    def __init__(self, text: str, status: int = 400, body: Any = None) -> None:
        super().__init__(text)
        self.status_code, self.body = status, body


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Invalid schema for function 'docs_search': In context=('properties', 'read'), missing items.", 1),
        ("tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12", 1),
        ("tools.2.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", 2),
        ("Invalid 'tools[2].function.name': string does not match pattern.", 2),
        (
            "* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[x].items: gone",
            1,
        ),
        ("Unknown name at 'tools[0].functionDeclarations[2].parameters'", 2),
        ("{'detail': [{'loc': ['body', 'tools', 1, 'function', 'parameters'], 'msg': 'x'}]}", 1),
        ('[{"loc":["body","tools",2,"function"]}]', 2),
        ("tool search: parameters must be an object", 2),
        ("Tool 1 function has invalid 'parameters' schema", 1),
        ("invalid JSON schema for tool `search`", 2),
        ('The parameters schema of "docs_search" can\'t be read', 1),
        ("tools.9.custom.input_schema: JSON schema is invalid", None),
        ("messages.1: `tool_use` ids were found without `tool_result` blocks", None),
        ("function 'other' is unknown", None),
        ("Invalid 'tools': array too long. Expected at most 128, got 200.", None),
        ("I could not read it", None),
        ("image.source.base64: invalid", None),
    ],
)
def test_the_tool_is_found(text: str, name: int | None) -> None:
    expected = None if name is None else TOOLS[name]
    assert find_rejected_tool(Rejection(text), TOOLS) is expected
    assert find_rejected_tool(Rejection("Error", 422, {"error": {"message": text}}), TOOLS) is expected
    assert find_rejected_tool(Rejection(text, 500), TOOLS) is None
