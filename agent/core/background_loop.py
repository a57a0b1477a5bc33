"""Run an event loop in a thread, for callers without a loop or that must not block theirs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from contextlib import aclosing, suppress
from queue import Queue
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()
QUEUE_LIMIT = 64
"""Maximum number of buffered items."""


class BackgroundLoop:
    """Runs coroutines while the caller blocks; the thread starts on first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the coroutine's result or raise its exception."""
        future = asyncio.run_coroutine_threadsafe(work, self._ensure_started())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """Yield items as they arrive, buffering up to QUEUE_LIMIT; closing the iterator cancels the work."""
        queue: Queue[Any] = Queue()
        # An asyncio semaphore, because a waiting thread could not be cancelled when the loop is closed.
        room = asyncio.Semaphore(QUEUE_LIMIT)

        async def pump_items() -> None:
            async with aclosing(items):
                async for item in items:
                    await room.acquire()
                    queue.put(item)

        loop = self._ensure_started()
        future = asyncio.run_coroutine_threadsafe(pump_items(), loop)
        future.add_done_callback(lambda _: queue.put(_END))
        try:
            while (item := queue.get()) is not _END:
                with suppress(RuntimeError):  # the loop is closed, so nothing waits
                    loop.call_soon_threadsafe(room.release)
                yield item
            future.result()
        finally:
            future.cancel()

    def owns(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether `loop` is the running background loop."""
        return loop is self._loop

    def close(self) -> None:
        """Stop the thread and cancel running work."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _ensure_started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_loop, args=(self._loop,), name="roebot-client", daemon=True
                )
                self._thread.start()
            return self._loop


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
