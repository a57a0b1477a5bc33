"""Memory middleware stores: files updated by a model, or recent messages in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from langchain_core.messages import BaseMessage, HumanMessage

from agent.config.harness import MemoryConfig
from agent.core.interfaces import MemoryScope
from agent.errors import BadIdentifier
from agent.memory.exchange import PendingUpdate, to_queued_messages
from agent.memory.extraction import AskModel, update_memory
from agent.memory.files import Clock, MemoryFolder, memory_folder_path
from agent.memory.patch import FactLimits
from agent.memory.prompt_section import render_memory
from agent.memory.scopes import format_scope, parse_scope
from agent.memory.worker import MemoryWorker
from agent.shared.aio import Sleep, within_time
from agent.shared.envelope import plain_text
from agent.shared.recent_items import RecentItems

LoadMemoryConfig = Callable[[], Awaitable[MemoryConfig]]


class FileMemoryStore:
    """Memory in files, updated by a model.

    Use it on one event loop, where its worker runs while updates are pending. `load_config` returns the
    current configuration; `ask` sends a prompt to the extraction model.
    """

    def __init__(
        self,
        home: Path,
        load_config: LoadMemoryConfig,
        ask: AskModel,
        *,
        clock: Clock = time.time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._home = home
        self._load_config = load_config
        self._ask = ask
        self._clock = clock
        self._sleep = sleep
        self._active: tuple[MemoryFolder, MemoryWorker] | None = None

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """Queue an update, which is on disk on return.

        Raises BadIdentifier for a scope outside the grammar.
        """
        if parse_scope(format_scope(scope)) != scope:
            raise BadIdentifier("Invalid memory scope.")
        config = await self._load_config()
        folder, worker = await self._current_folder(config)
        new = to_queued_messages(messages)
        if await asyncio.to_thread(
            folder.queue.add_messages, scope, thread_id, new, quiet=config.debounce_seconds
        ):
            worker.wake()

    async def text(self, scope: MemoryScope) -> str | None:
        """Render the memory for the prompt; None if disabled there."""
        config = await self._load_config()
        if not config.injection_enabled:
            return None
        folder, _ = await self._current_folder(config)
        document = await asyncio.to_thread(folder.files.read, scope)
        return render_memory(document, group=scope.kind == "group", tokens=config.max_injection_tokens)

    async def hasten_updates(
        self, scope: MemoryScope, thread_id: str, author: str | None, *, seconds: float
    ) -> bool:
        """Apply the updates in which `author` wrote something in other threads; wait at most `seconds`, also
        for a locked queue. Return False if some may still be pending.
        """
        config = await self._load_config()
        if not config.injection_enabled:
            return True
        folder, worker = await self._current_folder(config)

        def hasten() -> bool:
            return folder.queue.exists and folder.queue.hasten(scope, thread_id, author)

        async def apply() -> bool:
            if await asyncio.to_thread(hasten):
                worker.wake()
                await worker.wait_until(lambda: not hasten())
            return True

        return bool(await within_time(apply(), self._sleep, seconds))

    async def count_erasures(self, scope: MemoryScope) -> int:
        """Return how often the memory, or a person's part of it, was erased."""
        folder, _ = await self._current_folder(await self._load_config())
        return await asyncio.to_thread(_count_erasures, folder, scope)

    async def resume(self) -> None:
        """Process the updates left in the queue by an earlier process."""
        folder, worker = await self._current_folder(await self._load_config())
        if await asyncio.to_thread(_has_pending, folder):
            worker.wake()

    async def wait_until_idle(self) -> None:
        """Wait until no update is pending."""
        if self._active is not None:
            await self._active[1].wait_until_idle()

    async def close(self) -> None:
        """Stop the worker. Pending updates stay queued for the next process."""
        if self._active is not None:
            folder, worker = self._active
            self._active = None
            await worker.stop()
            await asyncio.to_thread(folder.queue.close)

    async def _current_folder(self, config: MemoryConfig) -> tuple[MemoryFolder, MemoryWorker]:
        """Return the configured directory and its worker."""
        path = memory_folder_path(self._home, config)
        if self._active is None or self._active[0].path != path:
            await self.close()
            folder = MemoryFolder(path, clock=self._clock)
            self._active = (folder, MemoryWorker(folder, self._update, sleep=self._sleep))
        return self._active

    async def _update(self, folder: MemoryFolder, pending: PendingUpdate) -> None:
        config = await self._load_config()
        limits = FactLimits(config.max_facts, config.fact_confidence_threshold)
        await update_memory(folder, pending, self._ask, limits)


def _count_erasures(folder: MemoryFolder, scope: MemoryScope) -> int:
    return folder.queue.count_erasures(scope) if folder.queue.exists else 0


def _has_pending(folder: MemoryFolder) -> bool:
    return folder.queue.exists and folder.queue.next_due_time() is not None


SCOPES = 1_000
THREADS = 5
LINES = 10
LINE = 300


class InProcessMemoryStore:
    """Memory for the lifetime of the process: people's latest messages in each thread, verbatim.

    Keeps the last `LINES` messages of each of the last `THREADS` threads of a scope.
    """

    def __init__(self, *, scopes: int = SCOPES) -> None:
        self._scopes = RecentItems[MemoryScope, RecentItems[str, list[str]]](scopes)

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        threads = self._scopes.setdefault(scope, RecentItems(THREADS))
        people = (plain_text(m.text) for m in messages if isinstance(m, HumanMessage))
        said = [" ".join(text.split())[:LINE] for text in people]
        threads[thread_id] = said[-LINES:]
        threads.move_to_end(thread_id)
        self._scopes.move_to_end(scope)

    async def text(self, scope: MemoryScope) -> str:
        lines = [line for said in self._scopes.get(scope, {}).values() for line in said]
        return "\n".join(["Said earlier:", *(f"- {line}" for line in lines)]) if lines else ""
