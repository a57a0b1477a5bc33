"""Sessions with the MCP packages, and conversion of a server's tools to the agent's.

Imported when the first server is used, since the packages are optional and slow to import.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp import StdioServerParameters
from mcp import types as protocol
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from agent.config.extensions import McpServer
from agent.core.tool_order import ORDER, Order
from agent.errors import McpUnavailable
from agent.mcp.client_session import InteractiveSession, SessionHooks
from agent.mcp.http_client import make_client
from agent.mcp.listing import list_tools, works_as_task
from agent.mcp.live_calls import ANSWER_SECONDS
from agent.mcp.own_tools import OwnTool, sign_in_tool
from agent.mcp.remote_calls import OWN, TASK, call_tool
from agent.mcp.stateless import Era, HeaderParameters
from agent.mcp.stateless_http import open_stateless_http
from agent.mcp.tool import CallTool, McpTool, usable_schema
from agent.shared.process import OutputBuffer

__all__ = ["Era", "SessionHooks", "call_tool", "convert_tool", "list_tools", "open_session", "sign_in_tool"]
MAX_DESCRIPTION = 2_000
UNUSABLE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors that LangChain and the json module raise for a schema that they can't convert."""

# Callers get the logged exceptions anyway, and the log lines would show URLs and headers.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)


@asynccontextmanager
async def open_session(
    server: McpServer, *, auth: httpx.Auth | None, tail: OutputBuffer, hooks: SessionHooks
) -> AsyncIterator[InteractiveSession]:
    """Open a session that is not yet initialized."""
    if server.transport == "sse":
        # Only versions with sessions have this transport.
        hooks.era.is_stateless = False
    is_remote = server.transport != "stdio"
    parameters = HeaderParameters() if is_remote and hooks.era.is_stateless is not False else None
    opened = _connect(server, auth, hooks, parameters) if is_remote else _open_program(server, tail)
    async with (
        opened as (reading, writing),
        InteractiveSession(reading, writing, hooks, parameters) as session,
    ):
        yield session


@asynccontextmanager
async def _connect(
    server: McpServer, auth: httpx.Auth | None, hooks: SessionHooks, parameters: HeaderParameters | None
) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server over HTTP, stateless if `parameters` is set, and return its streams."""
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    # A server that waits for a person may send nothing for as long.
    silence = max(server.timeout_seconds, ANSWER_SECONDS) + 60
    timeout = httpx.Timeout(server.start_seconds, read=silence)
    client = await asyncio.to_thread(
        make_client, hooks.on_broken, headers=headers, timeout=timeout, auth=auth
    )
    url = server.url or ""
    if server.transport == "sse":
        async with sse_client(url, httpx_client_factory=lambda *_, **__: client) as streams:
            yield streams
        return
    if parameters is not None:
        async with client, open_stateless_http(url, client, parameters) as streams:
            yield streams
        return
    async with client, streamable_http_client(url, http_client=client) as (reading, writing, _):
        yield reading, writing


@asynccontextmanager
async def _open_program(server: McpServer, tail: OutputBuffer) -> AsyncIterator[tuple[Any, Any]]:
    """Start a local program, which inherits only basic environment variables of the service."""
    folder = await asyncio.to_thread(_find_folder, server.cwd) if server.cwd else None
    parameters = StdioServerParameters(
        command=server.command or "",
        args=list(server.args),
        env={name: value.get_secret_value() for name, value in server.env.items()},
        cwd=folder,
        encoding_error_handler="replace",
    )
    async with tail.open_pipe() as errors, stdio_client(parameters, errlog=errors) as streams:
        yield streams


def _find_folder(name: str) -> Path:
    """Return the program's working folder. Blocks. Raises McpUnavailable."""
    with suppress(RuntimeError):
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
    raise McpUnavailable("can't be started: its folder (cwd) does not exist", server="")


_HINTS = set(protocol.ToolAnnotations.model_fields)


def convert_tool(
    tool: protocol.Tool,
    *,
    name: str,
    server: str,
    call: CallTool,
    leave_out: Callable[[str], None] | None = None,
) -> BaseTool:
    """Convert a tool under a new name. Calls go to `call`, which chooses the session.

    `leave_out` records why the tool is not offered. Raises one of `UNUSABLE` if a request can't contain the
    tool.
    """
    about = (tool.description or "")[:MAX_DESCRIPTION]
    hints = tool.annotations
    # Other fields of a server's annotations must not become settings of the harness.
    metadata: dict[str, Any] = hints.model_dump(include=_HINTS) if hints is not None else {}
    metadata |= {"mcp_server": server}
    if hints is not None and (hints.readOnlyHint or hints.idempotentHint):
        metadata["idempotent"] = True
    if hints is not None and hints.readOnlyHint:
        metadata[ORDER] = Order.FREE
    mark = OWN if isinstance(tool, OwnTool) else TASK if works_as_task(tool) else ""
    renamed: dict[str, str] = {}
    made = McpTool(
        name=name,
        description=about or f"The tool {tool.name} of {server}.",
        args_schema=usable_schema(tool.inputSchema, renamed),
        metadata=metadata,
        remote_name=f"{mark}{tool.name}",
        call=call,
        renamed=renamed,
        leave_out=leave_out,
    )
    json.dumps(convert_to_openai_tool(made), ensure_ascii=False, allow_nan=False).encode()
    return made
