"""The clock that every part of the bot uses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

MAX_DRIFT = 1.0
"""Seconds from which on a wall that is ahead is followed; less is the reading of two clocks."""


class Clock(Protocol):
    """Time and waiting. Tests inject a manual clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for a time; 0 yields to other tasks."""
        ...


class SystemClock:
    """The machine's clock: wall time that never runs backwards within the process.

    It follows where the wall is set forward, or where the machine slept; where the wall is set back it goes
    on, and the next start follows. `steady` counts the seconds that the machine works.
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
