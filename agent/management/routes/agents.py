"""Routes of custom agents."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from agent.catalog.source import ModelSource
from agent.config.custom_agents import (
    CustomAgentBody,
    NewCustomAgentBody,
    change_custom_agent,
    create_custom_agent,
    delete_custom_agent,
    describe_custom_agent,
    describe_custom_agents,
)
from agent.core.schemas import AgentList, OperationResult
from agent.management.check.report import offer_of
from agent.management.routes.base import (
    ManagementRoute,
    PageCursor,
    PageLimit,
    management_router,
    select_page,
)
from agent.shared.schemas import AgentInfo


class AgentRoute(ManagementRoute):
    """A route whose body limit fits the longest personality, with every character escaped in JSON."""

    largest_body = 512 * 1024


class AgentRoutes:
    """Routes of the custom agents in a data directory."""

    def __init__(self, home: Path, source: ModelSource) -> None:
        self._home, self._source = home, source

    def router(self) -> APIRouter:
        """Return the routes."""
        router = management_router("agents", prefix="/api/agents", route_class=AgentRoute)
        router.get("")(self.list_agents)
        router.post("", status_code=201)(self.create_agent)
        router.get("/{name}")(self.get_agent)
        router.put("/{name}")(self.update_agent)
        router.delete("/{name}")(self.delete_agent)
        return router

    async def list_agents(self, limit: PageLimit = None, cursor: PageCursor = "") -> AgentList:
        """List the custom agents."""
        offer = await offer_of(self._source)
        agents = await asyncio.to_thread(describe_custom_agents, self._home, os.environ, offer)
        return select_page(agents, "agents", limit, cursor)

    async def get_agent(self, name: str) -> AgentInfo:
        """Return a custom agent with its personality."""
        offer = await offer_of(self._source)
        return await asyncio.to_thread(describe_custom_agent, self._home, name, os.environ, offer)

    async def create_agent(self, body: NewCustomAgentBody, response: Response) -> AgentInfo:
        """Create a custom agent."""
        offer = await offer_of(self._source)
        created = await asyncio.to_thread(create_custom_agent, self._home, body, os.environ, offer)
        response.headers["location"] = f"/api/agents/{created.name}"
        return created

    async def update_agent(self, name: str, body: CustomAgentBody) -> AgentInfo:
        """Change a custom agent.

        Omitted fields keep their values; null restores the default.
        """
        offer = await offer_of(self._source)
        return await asyncio.to_thread(change_custom_agent, self._home, name, body, os.environ, offer)

    async def delete_agent(self, name: str) -> OperationResult:
        """Delete a custom agent and its folder."""
        return await asyncio.to_thread(delete_custom_agent, self._home, name)
