"""Find the tools that a provider rejects in its errors, and leave them out of later requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NotRequired

import structlog
from langchain.agents import AgentState
from langchain_core.tools import BaseTool

from agent.core.model_request import Request, change_request
from agent.core.state import RejectedTools
from agent.errors import redact_line

log = structlog.get_logger(__name__)
_STATUSES = frozenset({400, 422})
_PLACE = re.compile(
    r"function_?declarations\W{1,4}([0-9]{1,4})\b|\btools?\W{1,4}([0-9]{1,4})\b", re.IGNORECASE
)
"""A tool's position in the list, as in errors of Google, Anthropic, OpenAI, Mistral and vLLM."""


class RejectedToolsState(AgentState[Any]):
    """The part of a thread's state with the names of its rejected tools."""

    rejected_tools: NotRequired[RejectedTools]


def without_tools(request: Request, names: Sequence[str]) -> Request:
    if not names:
        return request
    return change_request(request, tools=[tool for tool in request.tools if _name_of(tool) not in names])


def report_rejected_tool(error: Exception, tools: Sequence[Any], model: str) -> str | None:
    """Return the name of the tool that a provider's error is about, or None.

    Logs the tool. For an MCP tool, the reason is also recorded, for the list of servers.
    """
    tool = find_rejected_tool(error, tools)
    if tool is None:
        return None
    name, detail = _name_of(tool), redact_line(str(error))
    log.warning("tool_left_out", tool=name, model=model, detail=detail)
    if (leave_out := getattr(tool, "leave_out", None)) is not None:
        leave_out(f"the model {model} rejected it: {detail}")
    return name


def find_rejected_tool(error: Exception, tools: Sequence[Any]) -> Any:
    """Return the tool that a provider's error is about, or None.

    Providers name the tool after the word `function` or `tool`, or give its position in the list. Other
    quoted names are tried last, because they can be names of arguments.
    """
    if getattr(error, "status_code", None) not in _STATUSES or not tools:
        return None
    text = f"{error} {getattr(error, 'body', None) or ''}"
    names = {_name_of(tool): tool for tool in tools}
    any_name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    whole_name = rf"(?<![\w.-])({any_name})(?![\w-])"
    if found := re.search(rf"\b(?:function|tool)s?(?: name)?\W{{1,4}}{whole_name}", text, re.IGNORECASE):
        return names.get(found[1])
    places = sorted(_PLACE.finditer(text), key=lambda place: place[1] is None)
    if places and (at := int(places[0][1] or places[0][2])) < len(tools):
        return tools[at]
    is_about_tools = re.search(r"\b(?:function|tool|schema|parameter)", text, re.IGNORECASE)
    quoted = re.search(rf"[`'\"]{whole_name}[`'\"]", text) if is_about_tools else None
    return names[quoted[1]] if quoted else None


def _name_of(tool: BaseTool | dict[str, Any]) -> str:
    if isinstance(tool, BaseTool):
        return tool.name
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name") or "")
