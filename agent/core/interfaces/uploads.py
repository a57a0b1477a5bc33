"""The port of a thread's files: what people put in, and where its folders are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent.core.schemas import UploadInfo
from agent.core.state import ThreadData


class ThreadFileStore(Protocol):
    """Uploads by thread. Every method raises BadIdentifier for an id that no thread has."""

    async def list_uploads(self, thread_id: str) -> Sequence[UploadInfo]:
        """The uploads of the thread, by name; none for an unknown thread.

        The Markdown of a document is told with it, not listed; `read` gives it by its own name.
        """
        ...

    async def read(self, thread_id: str, filename: str, *, limit: int) -> bytes | None:
        """The content of an upload; None where it is gone or larger than `limit` bytes."""
        ...

    def folders(self, thread_id: str) -> ThreadData:
        """The host paths of the thread's folders, which need not exist yet. Touches no disk."""
        ...
