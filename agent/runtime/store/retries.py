"""Retries of writes until the disk has room again or another program unlocks the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog
from sqlalchemy.exc import DBAPIError

from agent.shared.sqlite_errors import is_temporary

log = structlog.get_logger("agent.runtime")
T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]
DELAYS: Final = (0.1, 0.3, 1.0, 2.0, 5.0)


def is_storage_error(error: BaseException | None) -> bool:
    """Return whether the disk or a lock caused the error, so that the same work may succeed later."""
    if isinstance(error, DBAPIError):
        error = error.orig
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return is_temporary(code)
    return isinstance(error, OSError | sqlite3.OperationalError)


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
