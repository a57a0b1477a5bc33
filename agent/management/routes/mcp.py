"""The routes about MCP servers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.management.routes.endpoints import answer, guarded
from agent.management.routes.pagination import paged
from agent.mcp.management import McpManagement
from agent.runtime.http.responses import read_json, validate


class McpSwitch(BaseModel):
    """The body of `PUT /api/mcp/servers/{name}`."""

    model_config = ConfigDict(extra="forbid", strict=True)
    enabled: bool


class McpUpdate(BaseModel):
    """The body of `PUT /api/mcp/config`."""

    model_config = ConfigDict(extra="forbid")
    mcp_servers: dict[str, dict[str, Any]]


def mcp_routes(servers: McpManagement) -> list[BaseRoute]:
    """`/api/mcp/config`, `/api/mcp/servers` and `/api/mcp/servers/{name}`."""

    async def shown(_: Request) -> Response:
        return answer(await servers.load_config())

    async def update(request: Request) -> Response:
        body = validate(McpUpdate, await read_json(request))
        return answer(await servers.replace_servers(body.mcp_servers))

    async def states(request: Request) -> Response:
        return paged(request, await servers.list_servers(), "servers")

    async def switch(request: Request) -> Response:
        body = validate(McpSwitch, await read_json(request))
        return answer(await servers.set_enabled(request.path_params["name"], enabled=body.enabled))

    return [
        Route("/api/mcp/config", guarded(shown), methods=["GET"]),
        Route("/api/mcp/config", guarded(update), methods=["PUT"]),
        Route("/api/mcp/servers", guarded(states), methods=["GET"]),
        Route("/api/mcp/servers/{name}", guarded(switch), methods=["PUT"]),
    ]
