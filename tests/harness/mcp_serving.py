"""Serve an MCP server of a test over stdio or streamable HTTP, with results that are sent as they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import anyio
import mcp.types as protocol
from mcp.server.lowlevel import Server

Json = dict[str, Any]


def raw(result: Json) -> protocol.ServerResult:
    """A result in any form; the types of the package would refuse most of the bad ones."""
    return protocol.ServerResult(protocol.EmptyResult.model_validate(result))


def make_server(name: str, tools: Sequence[Json], answer: Callable[[str, Json], Json]) -> Server[Any, Any]:
    """A server with these definitions of tools, whose calls `answer` answers."""
    server: Server[Any, Any] = Server(name)

    async def list_tools(_: Any) -> protocol.ServerResult:
        return raw({"tools": tools})

    async def call_tool(request: protocol.CallToolRequest) -> protocol.ServerResult:
        return raw(answer(request.params.name, request.params.arguments or {}))

    server.request_handlers[protocol.ListToolsRequest] = list_tools
    server.request_handlers[protocol.CallToolRequest] = call_tool
    return server


def define(name: str, *required: str, about: str = "", **properties: Mapping[str, Any]) -> Json:
    """The definition of a tool; the `required` arguments are texts unless `properties` has them."""
    fields = {one: {"type": "string"} for one in required} | dict(properties)
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return {"name": name, "description": about, "inputSchema": schema}


def serve(server: Server[Any, Any], arguments: Sequence[str]) -> None:
    """Serve until the end; `arguments` are `stdio` or `http [port]`."""
    if arguments[0] == "stdio":
        anyio.run(_serve_stdio, server)
    else:
        _serve_http(server, int(arguments[1]) if len(arguments) > 1 else 0)


async def _serve_stdio(server: Server[Any, Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _serve_http(server: Server[Any, Any], port: int) -> None:
    """Serve at any path, after the port has been printed."""
    import socket
    from contextlib import asynccontextmanager

    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Mount

    manager = StreamableHTTPSessionManager(server)

    @asynccontextmanager
    async def running(_: Any) -> AsyncIterator[None]:
        async with manager.run():
            yield

    application = Starlette(routes=[Mount("/", manager.handle_request)], lifespan=running)
    listener = socket.create_server(("127.0.0.1", port))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application, log_level="critical")).run([listener])
