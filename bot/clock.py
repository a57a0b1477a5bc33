"""Time, as everything below the composition root sees it."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the time is, and waiting. Tests inject a manual one."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait that long; 0 lets others run."""
        ...


class SystemClock:
    """The machine's clock: wall time that never runs backwards within the process."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """See Clock."""
        return time.monotonic() + self._offset

    async def sleep(self, seconds: float) -> None:
        """See Clock."""
        await asyncio.sleep(max(0.0, seconds))
