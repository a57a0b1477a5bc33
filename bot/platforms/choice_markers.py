"""The adapters' own signs of what was chosen, which come before the service's words or not at all."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from bot.domain import OutboundMessage
from bot.errors import NotModified

_KEPT = 1024


class ChoiceMarkers:
    """Which questions have their last words: a sign that comes after them would hide who decided.

    Messages go by a key of the adapter's own choice.
    """

    def __init__(self) -> None:
        self._settled: OrderedDict[str, None] = OrderedDict()
        self._orders: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def guard_edit(self, key: str, message: OutboundMessage) -> AsyncIterator[None]:
        """While the service changes a message; what offers nothing to press any more is settled by that."""
        if not message.final or message.choices:
            yield
            return
        async with self._orders.setdefault(key, asyncio.Lock()):
            try:
                yield
            except NotModified:
                self._mark_settled(key)
                raise
            self._mark_settled(key)

    @asynccontextmanager
    async def claim_marker(self, key: str) -> AsyncIterator[bool]:
        """While an adapter shows its sign; whether it still may. Words that are on their way take its place:
        no adapter waits for them.
        """
        order = self._orders.setdefault(key, asyncio.Lock())
        if order.locked() or key in self._settled:
            yield False
            return
        async with order:
            yield True

    def _mark_settled(self, key: str) -> None:
        self._settled[key] = None
        self._settled.move_to_end(key)
        while len(self._settled) > _KEPT:
            self._settled.popitem(last=False)
