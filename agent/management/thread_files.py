"""Thread files for the management API: uploads, artifacts and all local data."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from agent.catalog.source import ModelSource
from agent.core.schemas import UploadInfo, UploadList, UploadResult
from agent.shared.management import FileOperations, operation
from agent.shared.schemas import DeletionResult, OperationResult, RecordingTranscript
from agent.transcription.service import TranscriptionService
from agent.uploads.folders import ThreadFolders, open_artifact
from agent.uploads.store import UploadLimits, UploadStore

FILES_PER_BATCH = 10
"""Size limit of a batch of files, as a multiple of `limits.file_mb`."""


class ThreadFiles(FileOperations):
    """Thread files in a data directory; `limits.file_mb` limits their sizes. Raises BadIdentifier and
    FileMissing.
    """

    def __init__(self, home: Path, source: ModelSource) -> None:
        self._folders = ThreadFolders(home)
        self._source = source
        self._transcripts = TranscriptionService(home, source)

    async def upload(self, thread_id: str, files: Sequence[Path]) -> UploadResult:
        """Copy local files into the uploads, all or none. Raises FileError, for folders too."""
        store = UploadStore(self._folders, await limits_of(self._source))
        stored = await store.save_local(thread_id, files)
        return UploadResult(success=True, files=stored, message=describe_upload(stored))

    @operation("GET", "/api/threads/{thread_id}/uploads/list")
    async def list_uploads(self, thread_id: str) -> UploadList:
        """List the uploads of a thread."""
        uploads = await UploadStore(self._folders).list_uploads(thread_id)
        return UploadList(files=uploads, count=len(uploads))

    @operation("DELETE", "/api/threads/{thread_id}/uploads/{filename}")
    async def delete_upload(self, thread_id: str, filename: str) -> OperationResult:
        """Delete an upload."""
        await UploadStore(self._folders).delete(thread_id, filename)
        return OperationResult(success=True, message=f"{filename} was deleted.")

    async def transcribe_upload(self, thread_id: str, filename: str) -> RecordingTranscript:
        return await self._transcripts.transcribe(thread_id, filename)

    async def artifact(self, thread_id: str, path: str) -> tuple[bytes, str]:
        """Return content and MIME type of a file. Raises BadIdentifier or FileMissing."""
        return await asyncio.to_thread(self._read_file, thread_id, path)

    async def delete_thread_data(self, thread_id: str) -> DeletionResult:
        await asyncio.to_thread(self._folders.remove, thread_id)
        return DeletionResult(success=True)

    def _read_file(self, thread_id: str, path: str) -> tuple[bytes, str]:
        found = open_artifact(self._folders, thread_id, path)
        with (
            self._folders.open_file(thread_id, path) as descriptor,
            os.fdopen(os.dup(descriptor), "rb") as file,
        ):
            return file.read(), found.mime_type


def describe_upload(files: Sequence[UploadInfo]) -> str:
    """Describe an upload for display, including unreadable documents."""
    lines = [f"{len(files)} file{'s' if len(files) > 1 else ''} uploaded."]
    for file in files:
        if file.markdown is not None and file.markdown.path is None:
            lines.append(f"{file.filename} can't be read: {file.markdown.note}")
    return "\n".join(lines)


async def limits_of(source: ModelSource) -> UploadLimits:
    file_bytes = (await source.config()).limits.file_mb * 1_000_000
    return UploadLimits(file_bytes=file_bytes, batch_bytes=file_bytes * FILES_PER_BATCH)
