"""Run work in order within a key, concurrently between keys.

A lane is a key (a conversation, a control turn) with at most one worker. Waking a lane that is at work
makes it look again when it is done, so a wake-up is never lost and never counted twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from bot.clock import Clock

log = structlog.get_logger(__name__)

RETRY = (0.5, 2.0, 10.0, 60.0)


class TurnLanes:
    """Runs `work(key)` for every key that was woken, `give_up(key)` when it fails again and again.

    `run` owns the tasks and ends when cancelled.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[int], Awaitable[None]],
        give_up: Callable[[int], Awaitable[None]],
        clock: Clock,
    ) -> None:
        self._name = name
        self._work = work
        self._give_up = give_up
        self._clock = clock
        self._active_keys: set[int] = set()
        self._again: set[int] = set()
        self._early: list[int] = []
        self._group: asyncio.TaskGroup | None = None

    @property
    def active_count(self) -> int:
        """The number of active lanes."""
        return len(self._active_keys)

    def wake(self, key: int) -> None:
        """Start the lane of `key`, or have it look again."""
        if self._group is None:
            self._early.append(key)
        elif key in self._active_keys:
            self._again.add(key)
        else:
            self._active_keys.add(key)
            self._group.create_task(self._run_lane(key), name=f"{self._name}:{key}")

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            early, self._early = self._early, []
            for key in early:
                self.wake(key)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None

    async def _run_lane(self, key: int) -> None:
        failures = 0
        try:
            while True:
                self._again.discard(key)
                try:
                    gave_up = failures == len(RETRY)
                    await (self._give_up if gave_up else self._work)(key)
                    failures = 0
                except Exception:  # the lane's supervisor: one bad turn must not end the others
                    log.exception("lane_failed", lanes=self._name, key=key, failures=failures)
                    if failures == len(RETRY):
                        return
                    await self._clock.sleep(RETRY[failures])
                    failures += 1
                    continue
                if not gave_up and key not in self._again:
                    return
        finally:
            self._active_keys.discard(key)
