"""Tools whose descriptions for the model are the docstrings of their functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.tools import BaseTool, tool


def documented_tool(function: Callable[..., Awaitable[Any]]) -> BaseTool:
    """Return a tool with the docstring's text as its description and its `Args` in the schema.

    Line breaks and indentation of the source are removed, since a model would pay for them in every call.
    """
    made = tool(function, parse_docstring=True)
    return made.model_copy(update={"description": " ".join(made.description.split())})
