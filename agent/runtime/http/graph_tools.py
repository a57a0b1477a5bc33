"""The route of the Model Context Protocol (MCP): assistants as tools, over HTTP without sessions."""

from __future__ import annotations

import asyncio
import re
from importlib import import_module
from typing import Any

from fastapi import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agent.errors import NotFound
from agent.runtime.domain import Assistant, Json
from agent.runtime.http.assistants import find_assistants, read_input_schema
from agent.runtime.http.base import OpenRuntime
from agent.runtime.http.bodies import AssistantSearch, RunCreate
from agent.runtime.http.run_creation import Creation, RunCreation
from agent.runtime.http.runs import start_run
from agent.runtime.serializers import result_view
from agent.shared.json_routes import make_router

router = make_router("mcp")
MESSAGE = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}
TEXT = {"type": "string", "description": "Message to the agent"}
STOPPED = {"error": "Unavailable", "message": "The server is stopping"}


class _McpResponse(Response):
    """Response of an MCP server to one message."""

    def __init__(self, server: Any, message: bytes) -> None:
        super().__init__()
        self._server, self._message = server, message

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        async def receive() -> Message:
            return {"type": "http.request", "body": self._message}

        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)


@router.post("/mcp", openapi_extra=MESSAGE)
async def call_mcp(request: Request, creation: Creation) -> Response:
    """Answer a message of the Model Context Protocol, whose tools are the assistants."""
    try:
        await asyncio.to_thread(import_module, "mcp.server.streamable_http_manager")
    except ImportError as error:
        raise NotFound("/mcp requires the package mcp. Install roebot[mcp] and restart the server") from error
    return _McpResponse(_make_server(creation), await request.body())


def _make_server(creation: RunCreation) -> Any:
    from mcp import McpError, types
    from mcp.server.lowlevel import Server

    async def list_tools(_: object) -> types.ServerResult:
        tools = []
        for name, one in (await _find_tools(creation.runtime)).items():
            schema = _simplify_schema(await read_input_schema(creation.runtime, one) or {})
            text = one.description or f"Tool based on the assistant {one.name}"
            tools.append(types.Tool(name=name, title=one.name, description=text, inputSchema=schema))
        return types.ServerResult(types.ListToolsResult(tools=tools))

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        name = request.params.name
        if (assistant := (await _find_tools(creation.runtime)).get(name)) is None:
            raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message=f"Unknown tool: {name}"))
        body = RunCreate(assistant_id=assistant.assistant_id, input=request.params.arguments or {})
        active = (await start_run(creation, body)).active
        outcome = None if active is None else await active.done
        error = STOPPED if outcome is None else outcome.error
        text = "" if outcome is None else result_view(outcome.values, outcome.interrupts).decode()
        text = text if error is None else "{error}: {message}".format_map(error)
        content: list[Any] = [types.TextContent(type="text", text=text)]
        return types.ServerResult(types.CallToolResult(content=content, isError=error is not None))

    server: Server[Any, Any] = Server("roebot")
    server.request_handlers |= {types.ListToolsRequest: list_tools, types.CallToolRequest: call_tool}
    return server


async def _find_tools(runtime: OpenRuntime) -> dict[str, Assistant]:
    """Return assistants by tool name; of several with the same name, the oldest."""
    found = await find_assistants(runtime, AssistantSearch())
    return {re.sub(r"[^\w.-]", "", re.sub(r"\s+", "_", one.name), flags=re.A)[:128]: one for one in found}


def _simplify_schema(schema: Json) -> Json:
    """Return the schema of an input, with a single text in place of a list of messages."""
    fields: Json = schema.get("properties", {})
    fields = {name: TEXT if "HumanMessage" in str(one) else one for name, one in fields.items()}
    known = {key: value for key, value in schema.items() if key != "$defs" or "$ref" in str(fields)}
    return {"type": "object", **known, "properties": fields}
