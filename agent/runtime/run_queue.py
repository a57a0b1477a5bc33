"""Order of runs: one at a time per thread, and a limited number overall."""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar


class LaneItem(Protocol):
    """An item in its thread's lane."""

    @property
    def thread_id(self) -> str:
        """Lane of the item."""


T = TypeVar("T", bound=LaneItem)


class RunLanes(Generic[T]):
    """Queues and reservations of all lanes. Every operation is O(1) except `remove_item`, O(queue)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reserved: set[str] = set()
        self._waiting: dict[str, deque[T]] = {}
        self._ready: deque[str] = deque()

    def reserve_lane(self, thread_id: str) -> bool:
        """Reserve a lane, unless it is busy, other items wait or the limit is reached. Return whether it was
        reserved.
        """
        if (
            thread_id in self._reserved
            or thread_id in self._waiting
            or self._ready
            or len(self._reserved) >= self._limit
        ):
            return False
        self._reserved.add(thread_id)
        return True

    def add_item(self, item: T) -> None:
        """Queue an item behind others of its thread."""
        queue = self._waiting.get(item.thread_id)
        if queue is None:
            queue = self._waiting[item.thread_id] = deque()
            if item.thread_id not in self._reserved:
                self._ready.append(item.thread_id)
        queue.append(item)

    def remove_item(self, item: T) -> bool:
        """Remove an item from its queue; return False if it is not queued."""
        queue = self._waiting.get(item.thread_id)
        if queue is None or item not in queue:
            return False
        queue.remove(item)
        if not queue:
            del self._waiting[item.thread_id]
            if item.thread_id in self._ready:
                self._ready.remove(item.thread_id)
        return True

    def release_lane(self, thread_id: str) -> None:
        """Free a lane whose run has finished."""
        self._reserved.discard(thread_id)
        if thread_id in self._waiting:
            self._ready.append(thread_id)

    def take_next(self) -> T | None:
        """Reserve the lane of the next runnable item, and return the item; None if there is none."""
        if not self._ready or len(self._reserved) >= self._limit:
            return None
        thread_id = self._ready.popleft()
        queue = self._waiting[thread_id]
        item = queue.popleft()
        if not queue:
            del self._waiting[thread_id]
        self._reserved.add(thread_id)
        return item
