"""Who may run now: one run at a time in a thread, in order; a bounded number over all threads."""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar


class InThread(Protocol):
    """What stands in a lane."""

    @property
    def thread_id(self) -> str:
        """The lane."""


T = TypeVar("T", bound=InThread)


class Lanes(Generic[T]):
    """Pure bookkeeping; every operation is O(1) but `remove`, which looks through one thread's queue."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken: set[str] = set()
        self._waiting: dict[str, deque[T]] = {}
        self._ready: deque[str] = deque()

    def reserve(self, thread_id: str) -> bool:
        """Take a lane at once, if nothing stands before."""
        if (
            thread_id in self._taken
            or thread_id in self._waiting
            or self._ready
            or len(self._taken) >= self._limit
        ):
            return False
        self._taken.add(thread_id)
        return True

    def add(self, item: T) -> None:
        """Queue behind the others of the same thread."""
        queue = self._waiting.get(item.thread_id)
        if queue is None:
            queue = self._waiting[item.thread_id] = deque()
            if item.thread_id not in self._taken:
                self._ready.append(item.thread_id)
        queue.append(item)

    def remove(self, item: T) -> bool:
        """Take an item out of its queue; False when it is not there."""
        queue = self._waiting.get(item.thread_id)
        if queue is None or item not in queue:
            return False
        queue.remove(item)
        if not queue:
            del self._waiting[item.thread_id]
            if item.thread_id in self._ready:
                self._ready.remove(item.thread_id)
        return True

    def release(self, thread_id: str) -> None:
        """The lane's run has ended."""
        self._taken.discard(thread_id)
        if thread_id in self._waiting:
            self._ready.append(thread_id)

    def next(self) -> T | None:
        """The next item that may run; its lane is taken."""
        if not self._ready or len(self._taken) >= self._limit:
            return None
        thread_id = self._ready.popleft()
        queue = self._waiting[thread_id]
        item = queue.popleft()
        if not queue:
            del self._waiting[thread_id]
        self._taken.add(thread_id)
        return item
