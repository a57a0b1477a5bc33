"""Processing of the update queue in a single process: several updates at a time, but only one per memory."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextvars import Context

import structlog

from agent.errors import redact_line
from agent.memory.exchange import PendingUpdate
from agent.memory.files import MemoryFolder, ProcessLock
from agent.memory.scopes import format_scope
from agent.shared.aio import Sleep, wait_first

log = structlog.get_logger(__name__)
Update = Callable[[MemoryFolder, PendingUpdate], Awaitable[None]]
MAX_ATTEMPTS = 5
FIRST_RETRY, RETRY_FACTOR = 30.0, 4.0
UPDATES_AT_ONCE = 8
"""Maximum number of simultaneous updates, each of which is a model call."""
LOCK_POLL_SECONDS = 5.0
"""Seconds between attempts to take over a queue that another process works on."""


class MemoryWorker:
    """Runs while updates are pending in the directory. `wake` starts it, `stop` cancels it.

    Pending updates survive a stop or a crash; the next process continues with them.
    """

    def __init__(self, folder: MemoryFolder, update: Update, *, sleep: Sleep = asyncio.sleep) -> None:
        self._folder = folder
        self._update = update
        self._sleep = sleep
        self._changed = asyncio.Event()
        self._update_ended = asyncio.Event()
        self._busy: set[str] = set()
        """Scopes, as text, that are being updated."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Start the worker, or make it check the queue again."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # A task on another loop has ended with that loop.
            self._loop, self._task, self._changed = loop, None, asyncio.Event()
            self._update_ended = asyncio.Event()
        self._changed.set()
        if self._task is None or self._task.done():
            # A new context, so that callbacks of the run that queued the update don't see these model calls.
            self._task = loop.create_task(self._run(), name="memory-updates", context=Context())

    async def wait_until_idle(self) -> None:
        """Wait until no update is pending."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait until `is_done`, which may block and is called after each update, or until the worker
        stops.
        """
        while True:
            update_ended = self._update_ended
            if await asyncio.to_thread(is_done) or self._task is None or self._task.done():
                return
            await update_ended.wait()

    async def stop(self) -> None:
        """Cancel the worker and wait for it."""
        task, self._task = self._task, None
        if task is not None and self._loop is asyncio.get_running_loop():
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        lock = ProcessLock(self._folder.worker_lock)
        try:
            while not await asyncio.to_thread(lock.try_acquire):
                if await asyncio.to_thread(self._folder.queue.next_due_time) is None:
                    return
                await self._sleep(LOCK_POLL_SECONDS)
            async with asyncio.TaskGroup() as updates:
                while await self._process_next(updates):
                    pass
        except* (OSError, sqlite3.Error) as errors:
            # Pending updates stay on disk; the next `wake` retries them.
            error = next(iter(errors.exceptions))
            log.error("memory_queue_failed", error=type(error).__name__, detail=redact_line(str(error)))
        finally:
            self._busy.clear()
            lock.release()
            self._announce_end()

    async def _process_next(self, updates: asyncio.TaskGroup) -> bool:
        """Start the next due update, or wait until one is due. Return False once the queue is empty."""
        self._changed.clear()
        queue, busy = self._folder.queue, tuple(self._busy)
        if len(busy) == UPDATES_AT_ONCE:
            await self._changed.wait()
            return True
        pending = await asyncio.to_thread(queue.next_update, busy)
        if pending is not None:
            self._busy.add(format_scope(pending.scope))
            updates.create_task(self._run_update(pending))
            return True
        due = await asyncio.to_thread(queue.next_due_time, busy)
        if due is not None:
            await wait_first(self._changed, self._sleep, due - self._folder.clock())
        elif busy:
            await self._changed.wait()
        else:
            return self._changed.is_set()
        return True

    async def _run_update(self, pending: PendingUpdate) -> None:
        try:
            await self._try_update(pending)
        finally:
            self._busy.discard(format_scope(pending.scope))
            self._changed.set()
            self._announce_end()

    def _announce_end(self) -> None:
        """Wake the tasks that wait for the completion of an update."""
        ended, self._update_ended = self._update_ended, asyncio.Event()
        ended.set()

    async def _try_update(self, pending: PendingUpdate) -> None:
        queue = self._folder.queue
        try:
            await self._update(self._folder, pending)
        except Exception as error:  # noqa: BLE001 - supervisor: retry, then give up
            last = pending.attempts + 1 >= MAX_ATTEMPTS
            log.warning(
                "memory_update_failed",
                error=type(error).__name__,
                detail=redact_line(str(error)),
                given_up=last,
            )
            if last:
                await asyncio.to_thread(queue.complete, pending)
            else:
                await asyncio.to_thread(queue.postpone, pending, FIRST_RETRY * RETRY_FACTOR**pending.attempts)
