"""Cache of platforms' chat descriptions."""

from __future__ import annotations

from collections.abc import Awaitable

from bot.clock import Clock
from bot.core.recent_values import RecentValues
from bot.domain import ChatDescription

CACHE_SECONDS = 3600.0
"""Lifetime of a description (s)."""
RETRY_SECONDS = 60.0
"""Seconds without another lookup after one that failed."""
MAX_CHATS = 4096


class ChatDescriptions:
    """Descriptions by chat, each cached for CACHE_SECONDS; the last known one is kept while lookups fail."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: RecentValues[tuple[ChatDescription, float]] = RecentValues(MAX_CHATS)

    def get(self, chat: str) -> ChatDescription | None:
        """Return the description of a chat, or None if it must be looked up."""
        known = self._known.get(chat)
        return known[0] if known is not None and self._clock.now() < known[1] else None

    async def update(self, chat: str, look_up: Awaitable[ChatDescription | None]) -> ChatDescription:
        """Store and return the result of a lookup, or None if it failed."""
        now, found = self._clock.now(), await look_up
        if found is not None:
            self._known.put(chat, (found, now + CACHE_SECONDS))
            return found
        known = self._known.get(chat)
        before = known[0] if known is not None else ChatDescription()
        self._known.put(chat, (before, now + RETRY_SECONDS))
        return before
