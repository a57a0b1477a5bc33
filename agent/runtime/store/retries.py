"""Retries of writes until the disk has room again, or the database is unlocked or reachable."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from agent.shared.sqlite_errors import is_temporary

log = structlog.get_logger("agent.runtime")
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]
DELAYS: Final = (0.1, 0.3, 1.0, 2.0, 5.0)
_POSTGRES_TEMPORARY: Final = ("08", "25006", "25P03", "40", "53", "57P", "58")
"""SQLSTATEs of PostgreSQL and pgbouncer for a lost connection, a read-only or full server, a shutdown, and a
transaction that collided with another one.
"""


def is_storage_error(error: BaseException | None) -> bool:
    """Return whether the disk, a lock or a lost connection caused the error, so that the same work may
    succeed later.
    """
    if isinstance(error, DBAPIError):
        error = error.orig
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return is_temporary(code)
    return isinstance(error, OSError | sqlite3.OperationalError | PoolTimeout) or _is_postgres_away(error)


def _is_postgres_away(error: BaseException | None) -> bool:
    # The driver is loaded only where PostgreSQL is used.
    driver = sys.modules.get("psycopg")
    if driver is None or not isinstance(error, driver.Error):
        return False
    state: str | None = error.sqlstate
    # Without a state, the error comes from the connection and not from the server.
    return state.startswith(_POSTGRES_TEMPORARY) if state else isinstance(error, driver.OperationalError)


def retry_delay(failures: int) -> float:
    """Return the time to wait after this number of consecutive failures (s)."""
    return DELAYS[min(failures, len(DELAYS)) - 1]


class WriteRetries:
    """Repeats writes until they succeed. The start and the end of an outage are logged once."""

    def __init__(self, sleep: Sleep) -> None:
        self._sleep = sleep
        self._waiting = 0

    async def repeat(self, write: Callable[[], Awaitable[T]]) -> T:
        """Return the result of `write`, repeated after storage errors. Raises its other exceptions."""
        failures = 0
        try:
            while True:
                try:
                    result = await write()
                except Exception as error:
                    if not is_storage_error(error):
                        raise
                    if failures == 0:
                        self._count_waiting(error)
                    failures += 1
                else:
                    if failures and self._waiting == 1:
                        log.info("storage_available")
                    return result
                await self._sleep(retry_delay(failures))
        finally:
            self._waiting -= bool(failures)

    def _count_waiting(self, error: Exception) -> None:
        self._waiting += 1
        if self._waiting == 1:
            log.error("storage_unavailable", error=type(error).__name__, detail=str(error).partition("\n")[0])
