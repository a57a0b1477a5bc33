"""Descriptions of tools that come from docstrings."""

from __future__ import annotations

import pytest
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from agent.middleware.clarification import ask_clarification
from agent.tools.images import view_image
from agent.tools.sandbox import bash, sandbox_tools


@pytest.mark.parametrize(
    "tool", [*sandbox_tools(), view_image, ask_clarification], ids=lambda tool: tool.name
)
def test_no_description_carries_layout_of_the_source(tool: BaseTool) -> None:
    function = convert_to_openai_tool(tool)["function"]
    assert "\n" not in function["description"] and "Args:" not in function["description"]
    for name, argument in function["parameters"]["properties"].items():
        assert argument["description"], name
        assert "  " not in argument["description"] and "\n" not in argument["description"]


def test_bash_takes_a_description_for_people() -> None:
    properties = bash.tool_call_schema.model_json_schema()["properties"]
    assert list(properties) == ["command", "description", "timeout_seconds"]
