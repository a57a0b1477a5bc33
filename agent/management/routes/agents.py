"""The routes about agents of one's own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.catalog.source import ModelSource
from agent.config.custom_agent_changes import (
    CustomAgentBody,
    NewCustomAgentBody,
    change_custom_agent,
    create_custom_agent,
    delete_custom_agent,
)
from agent.config.custom_agents import describe_custom_agent, describe_custom_agents
from agent.management.check.report import offer_of
from agent.management.routes.endpoints import answer, body_of, guarded
from agent.management.routes.pagination import paged

LARGEST_BODY = 512 * 1024
"""A personality of the largest size, whatever its letters look like in JSON."""


def agent_routes(home: Path, source: ModelSource) -> list[BaseRoute]:
    """The routes below `/api/agents`."""
    return AgentRoutes(home, source).routes()


class AgentRoutes:
    """Agents of one's own below a home: shown, made, changed and removed."""

    def __init__(self, home: Path, source: ModelSource) -> None:
        self._home, self._source = home, source

    def routes(self) -> list[BaseRoute]:
        """`/api/agents` and `/api/agents/{name}`."""
        one = "/api/agents/{name}"
        return [
            Route("/api/agents", guarded(self.listing), methods=["GET"]),
            Route("/api/agents", guarded(self.make), methods=["POST"]),
            Route(one, guarded(self.one), methods=["GET"]),
            Route(one, guarded(self.change), methods=["PUT"]),
            Route(one, guarded(self.remove), methods=["DELETE"]),
        ]

    async def listing(self, request: Request) -> Response:
        """All agents of one's own."""
        offer = await offer_of(self._source)
        found = await asyncio.to_thread(describe_custom_agents, self._home, os.environ, offer)
        return paged(request, found, "agents")

    async def one(self, request: Request) -> Response:
        """One agent with its personality."""
        name, offer = request.path_params["name"], await offer_of(self._source)
        return answer(await asyncio.to_thread(describe_custom_agent, self._home, name, os.environ, offer))

    async def make(self, request: Request) -> Response:
        """Make an agent."""
        body = NewCustomAgentBody.of(await body_of(request, LARGEST_BODY))
        offer = await offer_of(self._source)
        made = await asyncio.to_thread(create_custom_agent, self._home, body, os.environ, offer)
        response = answer(made, 201)
        response.headers["location"] = f"/api/agents/{made.name}"
        return response

    async def change(self, request: Request) -> Response:
        """Change an agent; what is absent stays as it is."""
        body = CustomAgentBody.of(await body_of(request, LARGEST_BODY))
        name, offer = request.path_params["name"], await offer_of(self._source)
        return answer(await asyncio.to_thread(change_custom_agent, self._home, name, body, os.environ, offer))

    async def remove(self, request: Request) -> Response:
        """Delete an agent with its folder."""
        return answer(await asyncio.to_thread(delete_custom_agent, self._home, request.path_params["name"]))
