"""Open sessions with the MCP packages, and convert a server's tools to the agent's.

Imported when the first server is used, since the packages are optional and slow to import.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
from langchain_core.tools import BaseTool
from langchain_mcp_adapters.interceptors import MCPToolCallRequest
from langchain_mcp_adapters.sessions import StdioConnection, create_session
from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
from mcp import ClientSession, StdioServerParameters
from mcp import types as protocol
from mcp.client.stdio import stdio_client

from agent.config.extensions import McpServer
from agent.mcp.http_client import OAuthTokenAuth, Report, make_client
from agent.shared.process import OutputBuffer

MAX_DESCRIPTION = 2_000
MAX_TEXT_CHARACTERS = 100_000
MAX_PAGES = 100
CallTool = Callable[[str, dict[str, Any]], Awaitable[protocol.CallToolResult]]
OnChanged = Callable[[], None]
_NO_CONNECTION = StdioConnection(transport="stdio", command="", args=[])

# Callers get the logged exceptions anyway, and the log lines would show URLs and headers.
logging.getLogger("mcp.client").setLevel(logging.CRITICAL)


@asynccontextmanager
async def open_session(
    server: McpServer,
    *,
    auth: OAuthTokenAuth | None,
    tail: OutputBuffer,
    report: Report,
    on_changed: OnChanged,
) -> AsyncIterator[ClientSession]:
    """Open a session that is not yet initialized.

    `report` is called when the connection can no longer be used.
    """

    async def on_message(message: object) -> None:
        root = getattr(message, "root", None)
        if isinstance(root, protocol.ToolListChangedNotification):
            on_changed()

    options: dict[str, Any] = {
        "message_handler": on_message,
        "client_info": protocol.Implementation(name="roebot", version="1"),
    }
    if server.transport == "stdio":
        async with _open_program_session(server, tail, options) as session:
            yield session
        return
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    timeout = httpx.Timeout(server.start_seconds, read=server.timeout_seconds + 60)
    client = await asyncio.to_thread(make_client, report, headers=headers, timeout=timeout, auth=auth)
    connection: Any = {
        "transport": "sse" if server.transport == "sse" else "streamable_http",
        "url": server.url,
        "httpx_client_factory": lambda **_: client,
        "session_kwargs": options,
    }
    async with create_session(connection) as session:
        yield session


@asynccontextmanager
async def _open_program_session(
    server: McpServer, tail: OutputBuffer, options: dict[str, Any]
) -> AsyncIterator[ClientSession]:
    """Open a session with a local program, which gets only basic environment variables of the service."""
    parameters = StdioServerParameters(
        command=server.command or "",
        args=list(server.args),
        env={name: value.get_secret_value() for name, value in server.env.items()},
        encoding_error_handler="replace",
    )
    async with (
        tail.open_pipe() as errors,
        stdio_client(parameters, errlog=errors) as (reading, writing),
        ClientSession(reading, writing, **options) as session,
    ):
        yield session


async def list_tools(session: ClientSession) -> tuple[protocol.Tool, ...]:
    """Return all tools of the server."""
    tools: list[protocol.Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await session.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.nextCursor
        if not cursor:
            break
    return tuple(tools)


async def call_tool(session: ClientSession, tool: str, arguments: dict[str, Any]) -> protocol.CallToolResult:
    """Call a tool, without a time limit."""
    return await session.call_tool(tool, arguments, read_timeout_seconds=timedelta(days=1))


def convert_tool(tool: protocol.Tool, *, name: str, server: str, call: CallTool) -> BaseTool:
    """Convert a tool under a new name. Calls go to `call`, which chooses the session."""

    async def intercept(request: MCPToolCallRequest, handler: Any) -> protocol.CallToolResult:
        return limit_text(await call(request.name, request.args))

    about = (tool.description or "")[:MAX_DESCRIPTION]
    made = convert_mcp_tool_to_langchain_tool(
        None,
        tool.model_copy(update={"description": about or f"The tool {tool.name} of {server}."}),
        connection=_NO_CONNECTION,
        tool_interceptors=[intercept],
        server_name=server,
    )
    hints = tool.annotations
    repeatable = hints is not None and bool(hints.readOnlyHint or hints.idempotentHint)
    metadata = {**(made.metadata or {}), "mcp_server": server, **({"idempotent": True} if repeatable else {})}
    return made.model_copy(update={"name": name, "metadata": metadata})


def limit_text(result: protocol.CallToolResult) -> protocol.CallToolResult:
    """Shorten the text of the result to a length that a model can use."""
    room = MAX_TEXT_CHARACTERS
    content: list[protocol.ContentBlock] = []
    for block in result.content:
        if isinstance(block, protocol.TextContent):
            if len(block.text) > room:
                left_out = len(block.text) - room
                text = f"{block.text[:room]}\n[… {left_out:,} characters omitted]"
                block = block.model_copy(update={"text": text})  # noqa: PLW2901
            room = max(room - len(block.text), 0)
        content.append(block)
    return result.model_copy(update={"content": content})
