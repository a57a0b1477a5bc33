"""A plain memory for the life of the process: what was said last, in the words it was said in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from agent.core.interfaces import MemoryScope

SCOPES = 1_000
THREADS = 5
LINES = 10
LINE = 300


class InProcessMemoryStore:
    """Keeps the last `LINES` things that people said in each of the last `THREADS` threads of a scope."""

    def __init__(self, *, scopes: int = SCOPES) -> None:
        self._limit = scopes
        self._scopes: OrderedDict[MemoryScope, OrderedDict[str, list[str]]] = OrderedDict()

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """See `MemoryStore`."""
        threads = self._scopes.setdefault(scope, OrderedDict())
        said = [" ".join(m.text.split())[:LINE] for m in messages if isinstance(m, HumanMessage)]
        threads[thread_id] = said[-LINES:]
        threads.move_to_end(thread_id)
        self._scopes.move_to_end(scope)
        while len(threads) > THREADS:
            threads.popitem(last=False)
        while len(self._scopes) > self._limit:
            self._scopes.popitem(last=False)

    async def text(self, scope: MemoryScope) -> str:
        """See `MemoryStore`."""
        lines = [line for said in self._scopes.get(scope, {}).values() for line in said]
        return "\n".join(["Said earlier:", *(f"- {line}" for line in lines)]) if lines else ""
