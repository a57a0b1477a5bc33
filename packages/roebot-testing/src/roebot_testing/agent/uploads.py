"""An in-memory upload store."""

from __future__ import annotations

import asyncio
import io
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from agent.core.paths import check_thread_id
from agent.core.schemas import UploadInfo
from agent.core.state import ThreadData
from agent.uploads.documents.child import Bounds, convert_document
from agent.uploads.documents.kinds import kind_of
from agent.uploads.documents.records import DocumentRecord
from agent.uploads.folders import UPLOADS

_BOUNDS = Bounds(seconds=60, soft_seconds=60, memory=0, markdown=2_000_000)


class MemoryUploadStore:
    """Keeps uploads in memory. Documents are converted synchronously in this process."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, bytes]] = {}
        self._records: dict[str, dict[str, DocumentRecord]] = {}

    def put(self, thread_id: str, filename: str, content: bytes) -> None:
        """Add or replace a file."""
        files = self._files.setdefault(check_thread_id(thread_id), {})
        files[filename] = content
        if kind := kind_of(filename):
            markdown = io.BytesIO()
            report = convert_document(kind, io.BytesIO(content), markdown, _BOUNDS)
            name = None if report.problem else f"{PurePosixPath(filename).stem}.md"
            if name:
                files[name] = markdown.getvalue()
            self._records.setdefault(thread_id, {})[filename] = DocumentRecord.of(report, name)

    def remove(self, thread_id: str, filename: str) -> None:
        """Remove a file."""
        del self._files[thread_id][filename]

    async def list_uploads(self, thread_id: str) -> Sequence[UploadInfo]:
        files = self._files.get(check_thread_id(thread_id), {})
        records = self._records.get(thread_id, {})
        made = {record.markdown for record in records.values()}
        names = [name for name in sorted(files) if name not in made]
        return await asyncio.to_thread(
            lambda: [_describe_upload(thread_id, name, files, records.get(name)) for name in names]
        )

    async def read(self, thread_id: str, filename: str, *, limit: int) -> bytes | None:
        content = self._files.get(check_thread_id(thread_id), {}).get(filename)
        return content if content is not None and len(content) <= limit else None

    def folders(self, thread_id: str) -> ThreadData:
        root = f"/memory/{check_thread_id(thread_id)}"
        return ThreadData(
            workspace_path=f"{root}/workspace", uploads_path=f"{root}/uploads", outputs_path=f"{root}/outputs"
        )


def _describe_upload(
    thread_id: str, name: str, files: Mapping[str, bytes], record: DocumentRecord | None
) -> UploadInfo:
    virtual = f"{UPLOADS}/{name}"
    return UploadInfo(
        filename=name,
        size=len(files[name]),
        path=virtual,
        mime_type=mimetypes.guess_type(name)[0] or "application/octet-stream",
        artifact_url=f"/api/threads/{thread_id}/artifacts{virtual}",
        markdown=record.info(thread_id, len(files.get(record.markdown or "", b""))) if record else None,
    )
