"""Timer for background work that is due at certain times."""

from __future__ import annotations

import asyncio

from agent.runtime.domain import Clock
from agent.shared.aio import Sleep, wait_first

LOOK_EVERY = 60.0
"""Longest wait in seconds, so that a change of the system clock is noticed."""


class DueTimer:
    """Base of background work that waits until some of it is due, or is added."""

    def __init__(self, clock: Clock, sleep: Sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._changed = asyncio.Event()

    def notify(self) -> None:
        """End the current wait, or the next one, because the work has changed."""
        self._changed.set()

    def _clear(self) -> None:
        """Forget the changes so far; call it before the work is read."""
        self._changed.clear()

    async def _wait(self, until: float | None) -> None:
        """Wait until this time (seconds since the epoch), a change, or `LOOK_EVERY`."""
        seconds = LOOK_EVERY if until is None else min(LOOK_EVERY, max(0.0, until - self._clock()))
        await wait_first(self._changed, self._sleep, seconds)
