"""Uploads in memory."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Sequence

from agent.results import UploadInfo
from agent.state import ThreadData
from agent.uploads.folders import UPLOADS
from agent.uploads.names import check_thread_id


class MemoryUploadStore:
    """See `agent.ports.uploads.UploadStore`."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, bytes]] = {}

    def put(self, thread_id: str, filename: str, content: bytes) -> None:
        """Add or replace a file."""
        self._files.setdefault(check_thread_id(thread_id), {})[filename] = content

    def remove(self, thread_id: str, filename: str) -> None:
        """Take a file away."""
        del self._files[thread_id][filename]

    async def listed(self, thread_id: str) -> Sequence[UploadInfo]:
        """See `UploadStore`."""
        files = self._files.get(check_thread_id(thread_id), {})
        described = [(thread_id, name, len(files[name])) for name in sorted(files)]
        return await asyncio.to_thread(lambda: [_described(*file) for file in described])

    async def read(self, thread_id: str, filename: str, *, limit: int) -> bytes | None:
        """See `UploadStore`."""
        content = self._files.get(check_thread_id(thread_id), {}).get(filename)
        return content if content is not None and len(content) <= limit else None

    def folders(self, thread_id: str) -> ThreadData:
        """See `UploadStore`."""
        root = f"/memory/{check_thread_id(thread_id)}"
        return ThreadData(
            workspace_path=f"{root}/workspace", uploads_path=f"{root}/uploads", outputs_path=f"{root}/outputs"
        )


def _described(thread_id: str, name: str, size: int) -> UploadInfo:
    virtual = f"{UPLOADS}/{name}"
    return UploadInfo(
        filename=name,
        size=size,
        path=virtual,
        mime_type=mimetypes.guess_type(name)[0] or "application/octet-stream",
        artifact_url=f"/api/threads/{thread_id}/artifacts{virtual}",
    )
