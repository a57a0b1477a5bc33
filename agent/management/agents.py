"""Management of the custom agents in a data directory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

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
from agent.management.check.report import offer_of
from agent.shared.management import AgentOperations, operation
from agent.shared.schemas import AgentInfo, AgentList, OperationResult

AGENT_BYTES: Final = 512 * 1024
"""Size of a body with the longest personality, with every character escaped in JSON."""


class AgentManagement(AgentOperations):
    """Custom agents of a data directory."""

    def __init__(self, home: Path, source: ModelSource, environ: Mapping[str, str] = os.environ) -> None:
        self._home, self._source, self._environ = home, source, environ

    async def list_agents(self) -> AgentList:
        offer = await offer_of(self._source)
        return await asyncio.to_thread(describe_custom_agents, self._home, self._environ, offer)

    @operation("POST", "/api/agents", largest_body=AGENT_BYTES, status=201, location="/api/agents/{name}")
    async def create_agent(self, body: NewCustomAgentBody) -> AgentInfo:
        """Create a custom agent."""
        offer = await offer_of(self._source)
        return await asyncio.to_thread(create_custom_agent, self._home, body, self._environ, offer)

    @operation("GET", "/api/agents/{name}")
    async def get_agent(self, name: str) -> AgentInfo:
        """Return a custom agent with its personality."""
        offer = await offer_of(self._source)
        return await asyncio.to_thread(describe_custom_agent, self._home, name, self._environ, offer)

    @operation("PUT", "/api/agents/{name}", largest_body=AGENT_BYTES)
    async def update_agent(self, name: str, body: CustomAgentBody) -> AgentInfo:
        """Change a custom agent.

        Omitted fields keep their values; null restores the default.
        """
        offer = await offer_of(self._source)
        return await asyncio.to_thread(change_custom_agent, self._home, name, body, self._environ, offer)

    @operation("DELETE", "/api/agents/{name}")
    async def delete_agent(self, name: str) -> OperationResult:
        """Delete a custom agent and its folder."""
        return await asyncio.to_thread(delete_custom_agent, self._home, name)
