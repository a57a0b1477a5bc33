"""The port of the tool journal: which calls were begun and may have had an effect."""

from __future__ import annotations

from typing import Protocol


class ToolJournal(Protocol):
    """Remembers beginnings. A call is named by its thread and an id that is unique in it."""

    async def begin(self, thread_id: str, call_id: str) -> bool:
        """Record that the call is about to run, durably before this returns; True: it was begun before."""
        ...

    async def finish(self, thread_id: str, call_id: str) -> None:
        """Forget the call: its result is stored. Unknown ones are no error."""
        ...
