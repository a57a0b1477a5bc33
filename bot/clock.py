"""Clock of the service: wall time and sleeping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

MAX_DRIFT = 1.0
"""Seconds that wall time may be ahead before the clock adopts it; a smaller difference comes from reading two
clocks at slightly different moments.
"""


class Clock(Protocol):
    """Time and sleeping. Tests inject a manual clock."""

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds; 0 yields to other tasks."""
        ...


class SystemClock:
    """The machine's clock: wall time that never decreases within the process.

    It follows when the wall time is set forward or the machine was suspended. If the wall time is set back,
    the clock keeps running until the next start of the process. `steady` is a monotonic clock in seconds.
    """

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        self._offset = wall() - steady()

    def now(self) -> float:
        ahead = self._wall() - self._steady() - self._offset
        if ahead > MAX_DRIFT:
            self._offset += ahead
        return self._steady() + self._offset

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))
