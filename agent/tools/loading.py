"""From the entries of `tools` to tools that a model can call.

`use` names one of these; further keys of the entry go to it:
- a class of tools: made with them;
- a function that is annotated to return a tool: called with them;
- a tool, or any other function (its docstring tells the model what it does): takes no further keys.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any, get_type_hints

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from agent.config.harness import ToolEntry
from agent.core.import_string import ImportStringError, import_object
from agent.core.redaction import redact_line
from agent.errors import ToolUnavailable


def load_tools(entries: Iterable[ToolEntry], groups: Collection[str] | None = None) -> list[BaseTool]:
    """The tools of these groups, of all without `groups`, under the names of their entries. Blocking.

    Raises ToolUnavailable: a package is missing (the text names the command that installs it), or there is
    no such tool.
    """
    return [load_tool(entry) for entry in entries if groups is None or entry.group in groups]


def load_tool(entry: ToolEntry) -> BaseTool:
    """The tool of one entry. Blocking. Raises ToolUnavailable; its text holds no setting's value."""
    try:
        found = import_object(entry.use)
    except ImportStringError as error:
        raise ToolUnavailable(f"can't be loaded: {error}", name=entry.name) from error
    try:
        tool = _made(found, entry)
    except ToolUnavailable:
        raise
    except Exception as error:  # noqa: BLE001 - supervisor: a foreign class may raise anything; it is named
        detail = redact_line(f"{type(error).__name__}: {error}".splitlines()[0])
        raise ToolUnavailable(f"can't be made of {entry.use} ({detail}).", name=entry.name) from None
    return tool if tool.name == entry.name else tool.model_copy(update={"name": entry.name})


def _made(found: Any, entry: ToolEntry) -> BaseTool:
    keys = entry.extra_arguments()
    if isinstance(found, type) and issubclass(found, BaseTool):
        made: Any = found(**keys)
    elif callable(found) and not isinstance(found, type | BaseTool) and _makes_tools(found):
        made = found(**keys)
    elif keys:
        raise ToolUnavailable(
            f"takes no further keys, as {entry.use} is ready made: remove {', '.join(sorted(keys))}.",
            name=entry.name,
        )
    elif inspect.isroutine(found):
        made = as_tool(found)
    else:
        made = found
    if not isinstance(made, BaseTool):
        kind = type(made).__name__
        raise ToolUnavailable(f"is no tool: {entry.use} is of the type {kind}.", name=entry.name)
    return made


def _makes_tools(function: Callable[..., Any]) -> bool:
    try:
        returned = get_type_hints(function).get("return")
    except (NameError, TypeError):
        return False
    return isinstance(returned, type) and issubclass(returned, BaseTool)
