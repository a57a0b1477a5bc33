"""Outages of the store, which don't count as failures of the work that they interrupt.

After StoreUnavailable, a task waits here until the store is back, and then starts again. One probe serves all
waiting tasks, and each outage is logged once at its start and once at its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from agent.shared.aio import within_time
from bot.clock import Clock
from bot.errors import OwnershipLost, StoreError, StoreUnavailable
from bot.store.connection import Connection, sql
from bot.store.database import Database
from bot.store.replica_leases import unfenced

log = structlog.get_logger(__name__)
T = TypeVar("T")

PROBE_EVERY = 5.0
"""Shortest interval between two probes (s)."""
PROBE_LASTS = 5.0
"""Time limit of a probe (s), for connections that are open but don't respond."""
PROBE = sql(
    "INSERT INTO leases (name, renewed_at) VALUES ('probe', :now)"
    " ON CONFLICT (name) DO UPDATE SET renewed_at = excluded.renewed_at RETURNING renewed_at"
)


def probe_store(connection: Connection, now: float) -> None:
    """Write and read a row."""
    connection.execute(PROBE, {"now": now}).one()


def is_outage(error: BaseException) -> bool:
    """Return whether an error, or each one of a group, comes from an unavailable store."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_outage, error.exceptions))
    return isinstance(error, StoreUnavailable)


def is_lost(error: BaseException) -> bool:
    """Return whether an error, or one of a group, says that another replica owns what the work is about."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_lost, error.exceptions))
    return isinstance(error, OwnershipLost)


class StoreOutages:
    """Waits for an unavailable store, and runs callbacks after each outage."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._probing = asyncio.Lock()
        self._ended = 0
        self._next_probe = 0.0
        self._since = 0.0
        self._followers: list[Callable[[], Awaitable[object]]] = []

    def on_end(self, follow: Callable[[], Awaitable[object]]) -> None:
        """Register a callback for the end of an outage."""
        self._followers.append(follow)

    async def wait(self, error: BaseException) -> None:
        """Wait until the store that raised this error accepts writes."""
        if not self._since:
            self._since = self._clock.now()
            log.error("store_unavailable", problem=_reason(error))
        ended = self._ended
        async with self._probing:
            while ended == self._ended:
                await self._clock.sleep(max(0.0, self._next_probe - self._clock.now()))
                self._next_probe = self._clock.now() + PROBE_EVERY
                if await self._is_back():
                    log.info("store_available", seconds=round(self._clock.now() - self._since, 1))
                    self._since = 0.0
                    self._ended += 1

    async def complete(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `work`, which is repeated after each outage."""
        while True:
            try:
                return await work()
            except Exception as error:
                if not is_outage(error):
                    raise
                await self.wait(error)

    async def _is_back(self) -> bool:
        try:
            with unfenced():
                probe = self._db.transact(probe_store, self._clock.now())
                if await within_time(_completed(probe), self._clock.sleep, PROBE_LASTS) is None:
                    return False
            for follow in self._followers:
                await follow()
        except StoreUnavailable:
            return False
        except StoreError as error:
            log.error("store_probe_failed", problem=str(error))
        return True


async def _completed(work: Awaitable[None]) -> bool:
    await work
    return True


def _reason(error: BaseException) -> str:
    found = error
    while isinstance(found, BaseExceptionGroup):
        found = next(filter(is_outage, found.exceptions))
    return str(found)
