"""An event loop in a thread, for callers without a loop or that must not block their own."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from functools import cache
from queue import Queue
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
_END = object()
QUEUE_LIMIT = 64
"""Maximum number of buffered items."""


class BackgroundLoop:
    """Runs coroutines while the caller blocks; the thread starts on first use."""

    def __init__(self, name: str = "roebot-client") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the coroutine's result or raise its exception.

        Raises RuntimeError on the background loop itself.
        """
        try:
            loop = self._ensure_started()
        except RuntimeError:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """Yield items as they arrive, buffering up to QUEUE_LIMIT; closing the iterator cancels the work.

        Raises RuntimeError on the background loop itself.
        """
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
            if threading.current_thread() is self._thread:
                raise RuntimeError(
                    "This call would block the event loop that has to run it; use the asynchronous version."
                )
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run_loop, args=(self._loop,), name=self._name, daemon=True
                )
                self._thread.start()
            return self._loop


class PerLoop(Generic[T]):
    """Holds one object per event loop, created on first use; objects of closed loops are dropped."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def get(self) -> T:
        """Return the running loop's object."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._made:
                # An object that refers to its loop would keep it for ever.
                for closed in [one for one in self._made if one.is_closed()]:
                    del self._made[closed]
                self._made[loop] = self._make()
            return self._made[loop]

    def find(self) -> T | None:
        """Return the running loop's object if it has been created."""
        with self._lock:
            return self._made.get(asyncio.get_running_loop())

    def items(self) -> Sequence[tuple[asyncio.AbstractEventLoop, T]]:
        with self._lock:
            return list(self._made.items())


@cache
def process_loop() -> BackgroundLoop:
    """Return the background loop for blocking calls without an owner; it stops with the process."""
    made = BackgroundLoop("roebot-calls")
    atexit.register(made.close)
    return made


# The thread of the loop does not exist in a child process.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process_loop.cache_clear)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    executor = ThreadPoolExecutor(thread_name_prefix="roebot-calls")
    loop.set_default_executor(executor)
    try:
        loop.run_forever()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        # asyncio would start a thread for this, which Python 3.12 refuses at the end of the process.
        executor.shutdown()
        loop.close()
