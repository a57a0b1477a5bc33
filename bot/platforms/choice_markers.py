"""Coordination of an adapter's choice marker with the service's own text, which the marker must not hide."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from bot.core.recent_values import RecentValues
from bot.domain import OutboundMessage
from bot.errors import NotModified

_REMEMBERED = 1024


class ChoiceMarkers:
    """Tracks questions with their final text: a later marker would hide who decided.

    Messages are identified by a key that the adapter chooses.
    """

    def __init__(self) -> None:
        self._settled: RecentValues[bool] = RecentValues(_REMEMBERED)
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def guard_edit(self, key: str, message: OutboundMessage) -> AsyncIterator[None]:
        """Hold back markers while the service edits a message; a message without choices settles the
        question.
        """
        if not message.final or message.choices:
            yield
            return
        async with self._orders.setdefault(key, asyncio.Lock()):
            try:
                yield
            except NotModified:
                self._settled.put(key, True)
                raise
            self._settled.put(key, True)

    @asynccontextmanager
    async def claim_marker(self, key: str) -> AsyncIterator[bool]:
        """Yield True if the adapter may show its marker now.

        An edit in progress goes first, and the marker is skipped: no adapter waits for it.
        """
        order = self._orders.setdefault(key, asyncio.Lock())
        if order.locked() or key in self._settled:
            yield False
            return
        async with order:
            yield True
