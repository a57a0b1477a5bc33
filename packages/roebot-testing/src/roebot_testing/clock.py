"""Test clocks: a manually advanced one, and one with short waits."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable

from bot.clock import SystemClock

# Iterations of the event loop after which everything that a wake-up started has finished; fewer if the loop
# has nothing but the caller to run AT_REST times in a row (socket events arrive in between).
SETTLE = 50
AT_REST = 4


class ManualClock:
    """A `bot.clock.Clock` that a test moves. Sleepers wake in the order of their times."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self._now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Return the time that the test set, in epoch seconds."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has moved the clock that far."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), done))
        await done

    def set(self, now: float) -> None:
        """Set the wall clock; sleepers keep their remaining time."""
        shift = now - self._now
        self._now = now
        self._sleepers = [(at + shift, order, done) for at, order, done in self._sleepers]

    def next_wake(self) -> float | None:
        """Return the time at which the next sleeper wakes, or None if there is no sleeper."""
        return self._sleepers[0][0] if self._sleepers else None

    async def run_ready(self) -> None:
        """Run everything that is ready."""
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        at_rest = 0
        for _ in range(SETTLE):
            await asyncio.sleep(0)
            at_rest = at_rest + 1 if ready is not None and not ready else 0
            if at_rest == AT_REST:
                return

    settle = run_ready
    """Former name of `run_ready`."""

    async def advance(self, seconds: float) -> None:
        """Move the clock forward, waking each sleeper at its own time."""
        await self.run_ready()
        target = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            at, _, done = heapq.heappop(self._sleepers)
            self._now = max(self._now, at)
            if not done.done():
                done.set_result(None)
                await self.run_ready()
        self._now = target
        await self.run_ready()

    async def leap(self, seconds: float) -> None:
        """Move the clock forward at once, as on a machine that was suspended: sleepers wake afterwards."""
        await self.run_ready()
        self._now += seconds
        await self.advance(0.0)


def _quick(seconds: float) -> float:
    return min(seconds, 0.01)


class QuickClock(SystemClock):
    """Real time with short waits, for tests over real sockets.

    `asked` lists the requested waits, `ahead` moves the time forward, and `shorten` maps a requested wait to
    the real one (all in seconds).
    """

    def __init__(self, shorten: Callable[[float], float] = _quick) -> None:
        super().__init__()
        self.asked: list[float] = []
        self.ahead = 0.0
        self._shorten = shorten

    def now(self) -> float:
        return super().now() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await asyncio.sleep(max(0.0, self._shorten(seconds)))
