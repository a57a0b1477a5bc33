"""The routes about MCP servers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.api.endpoints import answer, guarded
from agent.mcp.management import McpManagement
from agent.runtime.http.respond import read_json, validate


class McpUpdate(BaseModel):
    """The body of `PUT /api/mcp/config`."""

    model_config = ConfigDict(extra="forbid")
    mcp_servers: dict[str, dict[str, Any]]


def mcp_routes(servers: McpManagement) -> list[BaseRoute]:
    """`GET` and `PUT /api/mcp/config`."""

    async def shown(_: Request) -> Response:
        return answer(await servers.config())

    async def update(request: Request) -> Response:
        body = validate(McpUpdate, await read_json(request))
        return answer(await servers.update(body.mcp_servers))

    return [
        Route("/api/mcp/config", guarded(shown), methods=["GET"]),
        Route("/api/mcp/config", guarded(update), methods=["PUT"]),
    ]
