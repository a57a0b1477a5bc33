"""Timer for background work that is due at certain times."""

from __future__ import annotations

import asyncio

from agent.runtime.domain import Clock
from agent.runtime.store.retries import Sleep

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
        sleeping = asyncio.ensure_future(self._sleep(seconds))
        changing = asyncio.ensure_future(self._changed.wait())
        try:
            await asyncio.wait((sleeping, changing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sleeping, changing):
                task.cancel()
            # Not `await task`: suppressing its cancellation would suppress ours, too.
            await asyncio.wait((sleeping, changing))
