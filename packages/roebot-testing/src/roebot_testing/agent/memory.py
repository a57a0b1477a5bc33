"""A memory store that records its calls."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from agent.core.interfaces import MemoryScope


class RecordingMemory:
    """Remembers messages line by line.

    `queued` lists the updates in order; `fail` makes every call raise.
    """

    def __init__(self, *, fail: Exception | None = None) -> None:
        self.queued: list[tuple[MemoryScope, str, list[str]]] = []
        self.fail = fail

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        if self.fail is not None:
            raise self.fail
        self.queued.append((scope, thread_id, [message.text for message in messages]))

    async def text(self, scope: MemoryScope) -> str:
        if self.fail is not None:
            raise self.fail
        latest = {thread: said for whose, thread, said in self.queued if whose == scope}
        return "\n".join(line for said in latest.values() for line in said)
