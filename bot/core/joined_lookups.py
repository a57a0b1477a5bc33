"""Lookups by key: concurrent callers share one lookup, and its result is cached."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from bot.core.recent_values import RecentValues

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class LookupResult(Generic[V]):
    """The result of a lookup, and the number of seconds to cache it (0: do not cache it)."""

    value: V
    seconds: float = 0.0


@dataclass(slots=True)
class _Flight(Generic[V]):
    """A lookup in flight, and its number of waiting callers."""

    task: asyncio.Task[V]
    waiting: int = 0


class JoinedLookups(Generic[V]):
    """Runs one lookup per key at a time, and caches up to `limit` results; `now` returns the time in seconds.

    A lookup is cancelled when all callers that waited for it have been cancelled. Its error is raised to each
    of them and not cached. To cache that nothing was found, return a value that says so, with the number of
    seconds until the next attempt.
    """

    def __init__(self, now: Callable[[], float], limit: int) -> None:
        self._now = now
        self._cached: RecentValues[tuple[V, float]] = RecentValues(limit)
        self._flights: dict[str, _Flight[V]] = {}

    def get(self, key: str) -> V | None:
        """Return the cached result, or None if there is none or it has expired."""
        cached = self._cached.get(key)
        return cached[0] if cached is not None and self._now() < cached[1] else None

    def get_last(self, key: str) -> V | None:
        """Return the cached result even if it has expired, or None if there is none."""
        cached = self._cached.get(key)
        return cached[0] if cached is not None else None

    def put(self, key: str, value: V, seconds: float) -> None:
        """Cache a value for a number of seconds. A lookup in flight does not overwrite it."""
        self._flights.pop(key, None)
        self._cached.put(key, (value, self._now() + seconds))

    async def find(self, key: str, look_up: Callable[[], Awaitable[LookupResult[V]]]) -> V:
        """Return the cached result, or join or start a lookup.

        Raises the errors of the lookup.
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
        """Prevent further callers from joining a lookup."""
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
