"""Make the calls of the agent's tools: those of the server, and ours for resources and prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from mcp import types as protocol
from mcp.shared.exceptions import McpError
from pydantic import AnyUrl, TypeAdapter, ValidationError

from agent.mcp.call_watch import CallTimer, Report
from agent.mcp.client_session import InteractiveSession
from agent.mcp.listing import list_resources, list_templates, list_tools, send
from agent.mcp.own_tools import prompt_result, resources_text
from agent.mcp.stateless import HEADER_MISMATCH, MISSING_CAPABILITY
from agent.mcp.task_calls import call_as_task, finish_task

OWN = "\0"
"""Begins the names of our tools, which no server can use."""
TASK = "\1"
"""Begins the names of tools that work only as tasks."""
Result = Mapping[str, Any]
_address = TypeAdapter(AnyUrl)
_OF_THE_SESSION = frozenset({protocol.CONNECTION_CLOSED, 32600, 408})
"""Codes of the package: the connection was lost, the session was ended, the time is over."""


async def call_tool(
    session: InteractiveSession,
    tool: str,
    arguments: dict[str, Any],
    timer: CallTimer,
    report: Report,
    retry: Result | None = None,
) -> Result:
    """Call a tool and return the raw result. `timer` limits the call; `report` gets its progress.

    `retry` holds the `inputResponses` and `requestState` of a repeated call. The package would reject a
    result that does not fit the tool's output schema, although the call has been made.
    """
    if tool.startswith(OWN):
        return await _OWN_CALLS[tool.removeprefix(OWN)](session, arguments, retry or {})

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        timer.restart()
        report(progress, total, message)

    params = protocol.CallToolRequestParams.model_validate(
        {"name": tool, "arguments": arguments, **(retry or {})}
    )
    request = protocol.CallToolRequest(params=params)
    limits = {"request_read_timeout_seconds": timedelta(days=1), "progress_callback": on_progress}
    try:
        if tool.startswith(TASK):
            return await call_as_task(session, tool.removeprefix(TASK), arguments, timer, report)
        try:
            result = await send(session, request, **limits)
        except McpError as error:
            if error.error.code != HEADER_MISMATCH:
                raise
            # The tool's headers may have changed (basic/transports/streamable-http, Client Behavior).
            await list_tools(session)
            result = await send(session, request, **limits)
        if session.is_stateless and result.get("resultType") == "task":
            return await finish_task(session, result, timer, report)
        return result
    except McpError as error:
        return _describe_error(error)


async def _list_resources(session: InteractiveSession, _: Result, __: Result) -> Result:
    resources = [one async for one in list_resources(session)]
    text = resources_text(resources, [one async for one in list_templates(session)])
    return {"content": [{"type": "text", "text": text}]}


async def _read_resource(session: InteractiveSession, arguments: Result, retry: Result) -> Result:
    try:
        address = _address.validate_python(arguments.get("uri"))
    except ValidationError:
        return _failed("uri is not the address of a resource.")
    params = protocol.ReadResourceRequestParams.model_validate({"uri": address, **retry})
    try:
        found = await send(session, protocol.ReadResourceRequest(params=params))
    except McpError as error:
        return _describe_error(error)
    if _is_unfinished(found):
        return found
    contents = found.get("contents")
    listed = contents if isinstance(contents, list) else []
    return {"content": [{"type": "resource", "resource": one} for one in listed]}


async def _get_prompt(session: InteractiveSession, arguments: Result, retry: Result) -> Result:
    entries = arguments.get("arguments")
    values = {str(key): str(value) for key, value in entries.items()} if isinstance(entries, Mapping) else {}
    params = protocol.GetPromptRequestParams.model_validate(
        {"name": str(arguments.get("name")), "arguments": values, **retry}
    )
    try:
        found = await send(session, protocol.GetPromptRequest(params=params))
    except McpError as error:
        return _describe_error(error)
    return found if _is_unfinished(found) else prompt_result(found)


def _is_unfinished(result: Result) -> bool:
    return bool(result.get("resultType", "complete") != "complete")


_OWN_CALLS: Mapping[str, Callable[[InteractiveSession, Result, Result], Awaitable[Result]]] = {
    "list_resources": _list_resources,
    "read_resource": _read_resource,
    "get_prompt": _get_prompt,
}


def _describe_error(error: McpError) -> Result:
    """Return a server's error as a result. Raises it again if it is about the session, not the call."""
    code, data = error.error.code, error.error.data
    if code == protocol.URL_ELICITATION_REQUIRED and isinstance(data, Mapping):
        links = [one for one in data.get("elicitations") or [] if isinstance(one, Mapping)]
        lines = [f"- {one.get('message', '')}: {one.get('url', '')}" for one in links]
        text = "A person has to open these links first; show them, and call the tool again afterwards:"
        return _failed("\n".join([text, *lines]))
    if code in _OF_THE_SESSION:
        raise error
    capabilities = data.get("requiredCapabilities") if isinstance(data, Mapping) else None
    names = f": {', '.join(map(str, capabilities))}" if code == MISSING_CAPABILITY and capabilities else ""
    return _failed(f"The server reported an error: {error.error.message}{names}")


def _failed(text: str) -> Result:
    return {"content": [{"type": "text", "text": text}], "isError": True}
