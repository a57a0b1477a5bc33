"""Lenient requests to a server, and the list of its tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import structlog
from mcp import ClientSession
from mcp import types as protocol
from mcp.shared.exceptions import McpError
from pydantic import ValidationError

from agent.mcp.client_session import InteractiveSession
from agent.mcp.own_tools import OwnTool, prompt_tool, resource_tools
from agent.mcp.stateless import RawResult, find_header_parameters

log = structlog.get_logger(__name__)
MAX_PAGES = 100


async def send(session: ClientSession, request: Any, **options: Any) -> dict[str, Any]:
    """Send a request and return the raw result."""
    answer: RawResult = await session.send_request(protocol.ClientRequest(request), RawResult, **options)
    return answer.root


async def list_entries(
    session: ClientSession, make: Callable[[protocol.PaginatedRequestParams], Any], key: str
) -> AsyncIterator[Any]:
    """Yield the entries under `key` on all pages; none if the server does not support the request."""
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await send(session, make(protocol.PaginatedRequestParams(cursor=cursor)))
        except McpError as error:
            if error.error.code == protocol.METHOD_NOT_FOUND:
                return
            raise
        entries = page.get(key)
        for entry in entries if isinstance(entries, list) else []:
            yield entry
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return


async def list_tools(session: InteractiveSession) -> tuple[protocol.Tool, ...]:
    """Return the server's tools, and ours for its resources and prompts.

    A definition that can't be read is skipped.
    """
    listed = list_entries(session, lambda params: protocol.ListToolsRequest(params=params), "tools")
    has_tasks = session.is_stateless or _makes_tasks(session.get_server_capabilities())
    tools = [tool async for entry in listed for tool in _read_tool(entry, has_tasks=has_tasks)]
    if session.is_stateless:
        tools = [tool for tool in tools if _can_be_called(session, tool)]
    return (*tools, *await _own_tools(session))


def _can_be_called(session: InteractiveSession, tool: protocol.Tool) -> bool:
    """Return whether a tool of a stateless server can be called; store its header parameters."""
    # With the tasks extension, any call may become a task, whatever the tool declares.
    tool.execution = None
    if session.parameters is None:
        return True
    try:
        session.parameters.of_tools[tool.name] = find_header_parameters(tool.inputSchema)
    except (ValueError, RecursionError) as error:
        log.warning("mcp_tool_left_out", tool=tool.name[:64], detail=str(error)[:200])
        return False
    return True


async def _own_tools(session: ClientSession) -> list[OwnTool]:
    offered = session.get_server_capabilities()
    own: list[OwnTool] = []
    if offered is not None and offered.resources is not None and await _has_resources(session):
        own += resource_tools()
    if offered is not None and offered.prompts is not None:
        listed = list_entries(session, lambda params: protocol.ListPromptsRequest(params=params), "prompts")
        prompts = [entry async for entry in listed if isinstance(entry, dict)]
        own += prompt_tool(prompts)
    return own


async def _has_resources(session: ClientSession) -> bool:
    """Return whether there are any; many servers can have some, but have none."""
    async for _ in list_resources(session):
        return True
    async for _ in list_templates(session):
        return True
    return False


def list_resources(session: ClientSession) -> AsyncIterator[Any]:
    return list_entries(session, lambda params: protocol.ListResourcesRequest(params=params), "resources")


def list_templates(session: ClientSession) -> AsyncIterator[Any]:
    return list_entries(
        session, lambda params: protocol.ListResourceTemplatesRequest(params=params), "resourceTemplates"
    )


def works_as_task(tool: protocol.Tool) -> bool:
    """Return whether the tool can be called only as a task."""
    return tool.execution is not None and tool.execution.taskSupport == "required"


def _makes_tasks(offered: protocol.ServerCapabilities | None) -> bool:
    """Return whether calls of the server's tools can be tasks."""
    tasks = offered.tasks if offered is not None else None
    requests = tasks.requests if tasks is not None else None
    return requests is not None and requests.tools is not None and requests.tools.call is not None


def _read_tool(entry: Any, *, has_tasks: bool) -> Iterator[protocol.Tool]:
    try:
        tool = protocol.Tool.model_validate(entry)
    except ValidationError as error:
        name = entry.get("name") if isinstance(entry, dict) else None
        where = ".".join(map(str, error.errors()[0]["loc"]))
        log.warning("mcp_tool_left_out", tool=str(name)[:64], detail=f"its definition is invalid: {where}")
        return
    if works_as_task(tool) and not has_tasks:
        detail = "it works only as a task (SEP-1686), but its server has no tasks"
        log.warning("mcp_tool_left_out", tool=tool.name[:64], detail=detail)
        return
    yield tool
