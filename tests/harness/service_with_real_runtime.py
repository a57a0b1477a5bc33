"""The service within the test's own loop, and its runtime as a real process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent.shared.live_token import LiveToken
from bot.app.home import prepare_home
from bot.app.service import BotService, StartOptions
from bot.clock import Clock, SystemClock
from bot.config import load_config
from tests.harness.credentials import SERVICE_TOKEN
from tests.harness.forks import ForkedRuntime, load
from tests.harness.service import MODEL
from tests.harness.shared_agent import shared_agent
from tests.harness.store_templates import open_store


@asynccontextmanager
async def running(home: Path, config: str, clock: Clock | None = None) -> AsyncIterator[BotService]:
    """A service without its port; leaving it is a shutdown.

    One with the scripted model and no runtime of its own gets the worker's.
    """
    prepare_home(home)
    path = home / "config.yaml"
    if MODEL in config and "\nruntime:" not in config:
        config += f"\n{(await asyncio.to_thread(shared_agent, MODEL)).section}\n"
    path.write_text(config)
    loaded = load_config(path, os.environ, home)
    database = await open_store(home)
    runtime = None
    if loaded.config.runtime.url is None:
        await asyncio.to_thread(load)
        server = loaded.config.server
        runtime = ForkedRuntime(
            home, loaded.path, max_runs=loaded.config.limits.max_runs, address=server.browser_url
        )
    settings = StartOptions(home, loaded, path, dict(os.environ), home, LiveToken(SERVICE_TOKEN), runtime)
    service = BotService(settings, database, clock or SystemClock())
    work = asyncio.create_task(service.run())
    try:
        yield service
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await database.close()
