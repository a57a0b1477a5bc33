"""Interface of a thread's files: uploads and folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent.core.schemas import UploadInfo
from agent.core.state import ThreadData


class ThreadFileStore(Protocol):
    """Uploads by thread. Every method raises BadIdentifier for an invalid thread id."""

    async def list_uploads(self, thread_id: str) -> Sequence[UploadInfo]:
        """List the thread's uploads by name; empty for an unknown thread.

        A document's Markdown is part of its entry and not listed; `read` returns it by its own name.
        """
        ...

    async def read(self, thread_id: str, filename: str, *, limit: int) -> bytes | None:
        """Return the content of an upload; None if it is missing or larger than `limit` bytes."""
        ...

    def folders(self, thread_id: str) -> ThreadData:
        """Return the host paths of the thread's folders, which may not exist. No disk access."""
        ...
