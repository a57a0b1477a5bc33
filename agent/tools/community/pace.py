"""Pacing of requests to a service that blocks addresses after too many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from agent.errors import WebFailed


class RequestPace:
    """Allows one request every `interval` seconds, and none for `pause` seconds after the service blocks one.

    It belongs to the process, not to an event loop.
    """

    def __init__(
        self,
        name: str,
        *,
        interval: float = 1.0,
        pause: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._name, self._interval, self._pause = name, interval, pause
        self._clock, self._sleep = clock, sleep
        self._next_at = self._blocked_until = float("-inf")

    async def wait(self) -> None:
        """Wait for the next turn. Raises WebFailed during a pause."""
        now = self._clock()
        self._refuse_during_pause(now)
        start = max(now, self._next_at)
        self._next_at = start + self._interval
        if start > now:
            await self._sleep(start - now)
            self._refuse_during_pause(self._clock())

    def block(self) -> None:
        self._blocked_until = self._clock() + self._pause

    def _refuse_during_pause(self, now: float) -> None:
        left = self._blocked_until - now
        if left > 0:
            raise WebFailed(
                f"{self._name} suspects automated use and refuses requests from this address; try again in "
                f"{max(1, round(left / 60))} min"
            )
