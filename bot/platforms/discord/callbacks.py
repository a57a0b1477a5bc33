"""Callbacks of interactions: made beside the receive loop, so that a slow one keeps nobody else waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import structlog

log = structlog.get_logger(__name__)

CALLBACK_SECONDS = 3.0
"""How long Discord waits for a callback
(docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback)."""
MOST = 100
"""Callbacks under way; a click beyond them is stored and stays unconfirmed."""


class InteractionCallbacks:
    """Runs the callbacks of one account while `open` is entered, each in a task of its own."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._group: asyncio.TaskGroup | None = None
        self._running: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Accept callbacks. Leaving cancels none; a cancelled body does."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None

    def start(self, interaction: str, work: Coroutine[Any, Any, None]) -> bool:
        """Make a callback soon; return False where too many are under way. `work` ends in time by itself."""
        if self._group is None or len(self._running) >= MOST:
            log.warning("discord.callback_dropped", account=self._account, interaction=interaction)
            work.close()
            return False
        task = self._group.create_task(work, name=f"discord:{self._account}:callback:{interaction}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return True

    async def finish(self) -> None:
        """Wait for the callbacks that are under way."""
        if self._running:
            await asyncio.wait(self._running)
