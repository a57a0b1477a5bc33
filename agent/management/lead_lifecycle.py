"""Resume an earlier process's memory updates when a server starts, and stop them when it ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from agent.catalog.source import ModelSource
from agent.config.models import AgentConfig
from agent.core.paths import home_from_environment
from agent.memory.files import MemoryFolder, memory_folder_path

if TYPE_CHECKING:
    from agent.lead import LeadAgent


@asynccontextmanager
async def run_memory_updates() -> AsyncIterator[None]:
    """Run pending memory updates of the environment's lead agent on this event loop while this is open."""
    if await asyncio.to_thread(_has_pending_updates, await ModelSource().config()):
        # Importing its packages takes a second, so without pending updates they wait for the first run.
        await (await asyncio.to_thread(_get_lead_agent)).memory.resume()
    try:
        yield
    finally:
        if "agent.lead" in sys.modules:
            await (await asyncio.to_thread(_get_lead_agent)).aclose()


def _has_pending_updates(config: AgentConfig) -> bool:
    """Return whether an earlier process left pending memory updates."""
    queue = MemoryFolder(memory_folder_path(home_from_environment(), config.memory)).queue
    if not config.memory.enabled or not queue.exists:
        return False
    try:
        return queue.next_due_time() is not None
    finally:
        queue.close()


def _get_lead_agent() -> LeadAgent:
    from agent.lead import get_lead_agent

    return get_lead_agent(home_from_environment())
