"""Interaction callbacks outside the receive loop, so that a slow one delays no others."""

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
MAX_CALLBACKS = 100
"""Maximum number of callbacks in progress; a click beyond it is stored, but not confirmed."""
MAX_CALLBACKS_EACH = 10
"""Maximum number of callbacks in progress for one person or one question, to leave room for others."""


class InteractionCallbacks:
    """Runs an account's callbacks within the context `open`, each in its own task."""

    def __init__(self, account: str) -> None:
        self._account = account
        self._group: asyncio.TaskGroup | None = None
        self._running: dict[asyncio.Task[None], tuple[str, ...]] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Accept callbacks. Exiting waits for those in progress; if the context is cancelled, they are
        cancelled too.
        """
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                self._group = None

    def start(self, interaction: str, work: Coroutine[Any, Any, None], *sharing: str) -> bool:
        """Start a callback; return False if too many are in progress, in total or for one of the keys in
        `sharing` (the person and the question). `work` must limit its own duration.
        """
        if self._group is None or len(self._running) >= MAX_CALLBACKS or any(map(self._is_full, sharing)):
            log.warning("discord.callback_dropped", account=self._account, interaction=interaction)
            work.close()
            return False
        task = self._group.create_task(work, name=f"discord:{self._account}:callback:{interaction}")
        self._running[task] = sharing
        task.add_done_callback(self._running.pop)
        return True

    def _is_full(self, shared: str) -> bool:
        return sum(shared in sharing for sharing in self._running.values()) >= MAX_CALLBACKS_EACH

    async def finish(self) -> None:
        """Wait for the callbacks that are in progress."""
        if self._running:
            await asyncio.wait(self._running)
