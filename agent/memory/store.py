"""The memory that a model keeps, in files: what the agent's middleware reads and queues to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from langchain_core.messages import BaseMessage

from agent.config.memory import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.errors import BadIdentifier
from agent.memory.conversation import said
from agent.memory.folder import Clock, MemoryFolder, folder_path
from agent.memory.merge import Limits
from agent.memory.prompt_section import shown
from agent.memory.queued_exchange import Pending
from agent.memory.scopes import parse_scope, scope_text
from agent.memory.updates import Ask, update
from agent.memory.worker import MemoryWorker, Sleep

Settings = Callable[[], Awaitable[MemoryConfig]]


class FileMemory:
    """See `agent.core.interfaces.MemoryStore`. Belongs to one loop; its worker runs there while
    something waits.

    `settings` gives the configuration as it is now; `ask` puts a question to the model that updates.
    """

    def __init__(
        self,
        home: Path,
        settings: Settings,
        ask: Ask,
        *,
        clock: Clock = time.time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._home = home
        self._settings = settings
        self._ask = ask
        self._clock = clock
        self._sleep = sleep
        self._at_work: tuple[MemoryFolder, MemoryWorker] | None = None

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """See `MemoryStore`. On disk when this returns.

        Raises BadIdentifier for a scope outside the grammar.
        """
        if parse_scope(scope_text(scope)) != scope:
            raise BadIdentifier("This is no scope that can be kept.")
        config = await self._settings()
        folder, worker = await self._used(config)
        new = said(messages)
        if await asyncio.to_thread(folder.queue.put, scope, thread_id, new, quiet=config.debounce_seconds):
            worker.wake()

    async def text(self, scope: MemoryScope) -> str:
        """See `MemoryStore`; "" too where nothing is to be put before the model."""
        config = await self._settings()
        if not config.injection_enabled:
            return ""
        folder, _ = await self._used(config)
        document = await asyncio.to_thread(folder.files.read, scope)
        return shown(document, group=scope.kind == "group", tokens=config.max_injection_tokens)

    async def resume(self) -> None:
        """Take up what an earlier process left in the queue."""
        folder, worker = await self._used(await self._settings())
        if await asyncio.to_thread(_waits, folder):
            worker.wake()

    async def idle(self) -> None:
        """Wait until nothing waits in the queue."""
        if self._at_work is not None:
            await self._at_work[1].idle()

    async def close(self) -> None:
        """Stop; what waits is kept for the next process."""
        if self._at_work is not None:
            folder, worker = self._at_work
            self._at_work = None
            await worker.stop()
            await asyncio.to_thread(folder.queue.close)

    async def _used(self, config: MemoryConfig) -> tuple[MemoryFolder, MemoryWorker]:
        """The folder of the configuration as it is now, and its worker."""
        path = folder_path(self._home, config)
        if self._at_work is None or self._at_work[0].path != path:
            await self.close()
            folder = MemoryFolder(path, clock=self._clock)
            self._at_work = (folder, MemoryWorker(folder, self._update, sleep=self._sleep))
        return self._at_work

    async def _update(self, folder: MemoryFolder, pending: Pending) -> None:
        config = await self._settings()
        limits = Limits(config.max_facts, config.fact_confidence_threshold)
        await update(folder, pending, self._ask, limits)


def _waits(folder: MemoryFolder) -> bool:
    return folder.queue.exists and folder.queue.next_due() is not None
