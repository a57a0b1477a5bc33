"""Route dependencies: services, and pagination by `limit` and `cursor` (opaque to clients)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import httpx
from fastapi import Depends, HTTPException, Query, Request

from agent.shared.live_token import LiveToken
from bot.bus.admission import AdmissionPolicy
from bot.bus.message_bus import MessageBus
from bot.clock import Clock
from bot.commands.registry import Registry
from bot.config import ConfigWatcher, Rejected, Reloaded
from bot.config.models import ServerConfig
from bot.dispatch.dispatcher import Dispatcher
from bot.dispatch.pacing import ChannelRegistry
from bot.feature import Feature
from bot.platforms.base import Inbox
from bot.store import Database
from bot.store.connection import NEWEST
from bot.wiring import Core

# A run may be silent for a long time, but sends heartbeats every few seconds.
RUNTIME_TIMEOUT = httpx.Timeout(60.0, connect=5.0, read=300.0)


@dataclass(frozen=True, slots=True)
class RuntimeClients:
    """HTTP clients of the runtime's LangGraph API and of its management routes."""

    langgraph: httpx.AsyncClient
    management: httpx.AsyncClient

    async def close(self) -> None:
        """Close the connections."""
        await self.langgraph.aclose()
        if self.management is not self.langgraph:
            await self.management.aclose()


@dataclass(frozen=True, slots=True)
class ApiServices:
    """Services used by routes.

    `watcher` knows the configuration file, and `reload` applies it now. `runtime_client` creates an HTTP
    client for proxied calls to the agent runtime (with its address and the service token);
    `management_client` creates one for its management routes if they are served elsewhere.
    `runtime_trouble` returns why the bundled runtime exited ("" if it did not, or gave no reason). `port`
    is the listening port (0: taken from the connection); `file_bytes` is the size limit for one file.
    """

    core: Core
    channels: ChannelRegistry
    bus: MessageBus
    commands: Registry
    features: Sequence[Feature]
    dispatcher: Dispatcher
    home: Path
    token: LiveToken
    version: str
    watcher: ConfigWatcher
    reload: Callable[[], Awaitable[Reloaded | Rejected]]
    runtime_client: Callable[[], httpx.AsyncClient]
    management_client: Callable[[], httpx.AsyncClient] | None = None
    runtime_trouble: Callable[[], str] = str
    port: int = 0
    file_bytes: int = 20_000_000

    @property
    def db(self) -> Database:
        """Return the store."""
        return self.core.db

    @property
    def clock(self) -> Clock:
        """Return the clock."""
        return self.core.clock

    @property
    def server(self) -> ServerConfig:
        """Return the server configuration."""
        return self.core.server

    def inbox(self, account: str) -> Inbox | None:
        """Return the inbox that accepts an account's messages, or None if the account isn't enabled."""
        if account not in {one.name for one in self.core.config.accounts}:
            return None
        admissions = AdmissionPolicy(self.core.account(account), self.commands, self.core.new_id)
        return self.bus.open_inbox(account, admissions)


# Dependencies of routes are coroutines, because FastAPI runs a plain function in another thread.


async def services_of(request: Request) -> ApiServices:
    """Return the services of a request's application."""
    found: ApiServices = request.app.state.services
    return found


Services = Annotated[ApiServices, Depends(services_of)]


Limit = Annotated[int, Query(ge=1, le=200, description="Maximum number of items to return.")]
Cursor = Annotated[
    str, Query(max_length=64, description="`next` of the previous page; omit it for the first page.")
]
Names = Annotated[
    str, Query(max_length=256, description="`next` of the previous page; omit it for the first page.")
]
"""Cursor of a list ordered by name."""
DEFAULT = 50
DAYS = 30
Days = Annotated[int, Query(ge=1, le=366, description="Number of days to cover, up to now.")]
Ahead = Annotated[int, Query(ge=-900, le=900, description="Offset of local time from UTC in minutes.")]


def parse_cursor(cursor: str) -> int:
    """Return the id below which a page starts. Raises 422 for an invalid cursor."""
    if not cursor:
        return NEWEST
    if not cursor.isdecimal() or int(cursor) > NEWEST:
        raise HTTPException(422, "cursor: not valid for this list")
    return int(cursor)


def period_start(services: ApiServices, days: int) -> float:
    """Return the start of the last `days` days up to now."""
    return services.clock.now() - days * 24 * 3600.0


def day_start(services: ApiServices, ahead: int, days: int = 1) -> float:
    """Return the midnight at which the last `days` days begin, today included, `ahead` minutes from UTC."""
    now = services.clock.now()
    return now - (now + ahead * 60.0) % 86_400.0 - (days - 1) * 86_400.0
