"""Interface of the tool journal, which records the tool calls that were started."""

from __future__ import annotations

from typing import Protocol


class ToolJournal(Protocol):
    """Records started calls. A call is identified by its thread and an id unique in the thread."""

    async def begin(self, thread_id: str, call_id: str) -> bool:
        """Durably record that the call is about to run; return True if it was recorded before."""
        ...

    async def finish(self, thread_id: str, call_id: str) -> None:
        """Delete the record, since the call's result is stored. Unknown calls are no error."""
        ...
