"""The whole service in the test's own loop, with a runtime of scripted graphs there too: quick to start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.shared.live_token import LiveToken
from bot.app.home import prepare_home
from bot.app.service import BotService, StartOptions
from bot.clock import Clock, SystemClock
from bot.config import load_config
from tests.harness.credentials import SERVICE_TOKEN
from tests.harness.store_templates import open_store
from tests.platforms.web.serving import MODELS, RUNTIME_TOKEN, SIGNING_KEY, runtime_app, serving
from tests.platforms.web.serving import running as working


class ShiftedClock(SystemClock):
    """The machine's clock, which a test can put forward; sleeps stay as they are."""

    def __init__(self) -> None:
        super().__init__()
        self._shift = 0.0

    def now(self) -> float:
        return super().now() + self._shift

    def jump(self, seconds: float) -> None:
        """So much time has passed."""
        self._shift += seconds


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime that listens, as the section of a configuration."""

    url: str

    def section(self, graph: str = "echo") -> str:
        """`runtime:` with this graph as the assistant of every account that names none."""
        return (
            f"runtime: {{url: '{self.url}', assistant_id: {graph}, api_key: {RUNTIME_TOKEN},"
            f" signing_key: {SIGNING_KEY}}}"
        )


@asynccontextmanager
async def scripted_runtime(home: Path) -> AsyncIterator[Runtime]:
    """A runtime with every scripted graph and the management routes."""
    config = home / "runtime.yaml"
    await asyncio.to_thread(prepare_home, home)
    await asyncio.to_thread(config.write_text, MODELS)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ROEBOT_HOME", str(home))
        app = await asyncio.to_thread(runtime_app, home, config)
        async with serving(app) as (url, _):
            yield Runtime(url)


def config_text(
    runtime: Runtime, channels: Mapping[str, str], *, graph: str = "echo", access: str = "default: allow"
) -> str:
    """A configuration with these accounts alone (name to entry without braces)."""
    entries = "".join(f"  {name}: {{{entry}}}\n" for name, entry in channels.items())
    return (
        f"config_version: 1\n{runtime.section(graph)}\nserver: {{port: 0}}\n"
        "channels:\n  web: {enabled: false}\n  terminal: {enabled: false}\n"
        f"{entries}access: {{{access}}}\n"
    )


@asynccontextmanager
async def serviced(home: Path, config: str, clock: Clock | None = None) -> AsyncIterator[BotService]:
    """A service at work with this configuration; leaving the block is a shutdown."""
    await asyncio.to_thread(prepare_home, home)
    path = home / "config.yaml"
    await asyncio.to_thread(path.write_text, config)
    loaded = await asyncio.to_thread(load_config, path, {}, home)
    database = await open_store(home)
    service = BotService(
        StartOptions(home, loaded, path, {}, home, LiveToken(SERVICE_TOKEN)), database, clock or SystemClock()
    )
    try:
        async with working(service):
            yield service
    finally:
        await database.close()
