"""What waits to be taken into a memory."""

from __future__ import annotations

from dataclasses import dataclass

from agent.core.interfaces import MemoryScope


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """One message: its id in the thread, `person` or `assistant`, and its text."""

    id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class PendingUpdate:
    """The update that waits for a thread; `id` changes with everything that is queued.

    `forgotten` is how often the scope had been forgotten when it was read.
    """

    id: str
    scope: MemoryScope
    thread_id: str
    messages: tuple[QueuedMessage, ...]
    attempts: int
    erasures: int
