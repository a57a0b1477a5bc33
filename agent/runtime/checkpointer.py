"""The checkpointer for LangGraph's own server, referenced in `langgraph.json`.

The server enters an asynchronous context manager without arguments when it starts and leaves it when it stops
(docs.langchain.com/langsmith/custom-checkpointer). Roebot's own runtime opens its saver itself.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from agent.config.loader import LoadedAgentConfig, load_agent_config
from agent.core.paths import home_from_environment, make_private_folder
from agent.runtime.saver import RuntimeSaver
from agent.runtime.settings import RuntimeSettings


@asynccontextmanager
async def make_checkpointer() -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open the configured checkpointer; SQLite stores its data in the data directory.

    Configuration and data directory are found as for `agent.lead.make_lead_agent`. Raises ConfigErrors.
    """
    found = await asyncio.to_thread(_load_config)
    if found.config.checkpointer.type == "memory":
        yield InMemorySaver()
        return
    settings = RuntimeSettings(home=home_from_environment())
    await asyncio.to_thread(make_private_folder, settings.home)
    async with RuntimeSaver.open(settings.checkpoints) as saver:
        yield saver


def _load_config() -> LoadedAgentConfig:
    return load_agent_config(None, os.environ, Path.cwd())
