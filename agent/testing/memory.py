"""A memory that records what it is given."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from agent.core.interfaces import MemoryScope


class RecordingMemory:
    """See `agent.core.interfaces.MemoryStore`: what is remembered is what was said, line by line.

    `queued` are the updates in order; `fail` makes every call raise.
    """

    def __init__(self, *, fail: Exception | None = None) -> None:
        self.queued: list[tuple[MemoryScope, str, list[str]]] = []
        self.fail = fail

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """See `MemoryStore`."""
        if self.fail is not None:
            raise self.fail
        self.queued.append((scope, thread_id, [message.text for message in messages]))

    async def text(self, scope: MemoryScope) -> str:
        """See `MemoryStore`."""
        if self.fail is not None:
            raise self.fail
        latest = {thread: said for whose, thread, said in self.queued if whose == scope}
        return "\n".join(line for said in latest.values() for line in said)
