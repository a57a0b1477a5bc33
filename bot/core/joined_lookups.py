"""Lookups by key: callers join one that is in flight, and what it finds is cached."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.core.recent_values import RecentValues

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LookupResult(Generic[V]):
    """The result of a lookup, and for how many seconds it is cached (0: not at all)."""

    value: V
    seconds: float = 0.0


@dataclass(slots=True)
class _Flight(Generic[V]):
    """A lookup in flight, and how many callers wait for it."""

    task: asyncio.Task[V]
    waiting: int = 0


class JoinedLookups(Generic[V]):
    """Runs one lookup per key at a time, and caches up to `limit` results; `now` tells the time in seconds.

    A lookup is cancelled when everybody who waited for it was. An error is raised to all of them and cached
    for nobody: a lookup that finds nothing returns a value that says so, with the seconds for which no other
    one is made.
    """

    def __init__(self, now: Callable[[], float], limit: int) -> None:
        self._now = now
        self._cached: RecentValues[tuple[V, float]] = RecentValues(limit)
        self._flights: dict[str, _Flight[V]] = {}

    def get(self, key: str) -> V | None:
        """Return a cached result, None if it has to be looked up."""
        cached = self._cached.get(key)
        return cached[0] if cached is not None and self._now() < cached[1] else None

    def get_last(self, key: str) -> V | None:
        """Return a cached result however old it is, None if there is none."""
        cached = self._cached.get(key)
        return cached[0] if cached is not None else None

    def put(self, key: str, value: V, seconds: float) -> None:
        """Cache a value for a number of seconds. A lookup in flight does not replace it."""
        self._flights.pop(key, None)
        self._cached.put(key, (value, self._now() + seconds))

    async def find(self, key: str, look_up: Callable[[], Awaitable[LookupResult[V]]]) -> V:
        """Return the cached result, or that of a lookup, which is started unless one is in flight. Raises the
        errors of the lookup.
        """
        known = self.get(key)
        if known is not None:
            return known
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(self._run(key, look_up)))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                flight.task.cancel()
                self._end(key, flight.task)

    async def _run(self, key: str, look_up: Callable[[], Awaitable[LookupResult[V]]]) -> V:
        task = asyncio.current_task()
        try:
            found = await look_up()
            flight = self._flights.get(key)
            if found.seconds and flight is not None and flight.task is task:
                self.put(key, found.value, found.seconds)
            return found.value
        finally:
            self._end(key, task)

    def _end(self, key: str, task: asyncio.Task[V] | None) -> None:
        """Let nobody else join a lookup."""
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
