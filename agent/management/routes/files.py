"""Endpoints that receive or send the files of a thread."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send

from agent.catalog.source import ModelSource
from agent.core.paths import check_thread_id
from agent.core.schemas import UploadResult
from agent.errors import FileRefused
from agent.management.routes.multipart import FILES_SCHEMA, FileStart, read_files
from agent.management.thread_files import describe_upload, limits_of
from agent.shared.management import operation
from agent.uploads.folders import ThreadFolders, open_artifact
from agent.uploads.store import UploadStore

MULTIPART_OVERHEAD = 100_000
_ARTIFACT_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
    "content-security-policy": "default-src 'none'; sandbox",
}


class BytesResponse(Response):
    """Media type of files in the OpenAPI document."""

    media_type = "application/octet-stream"


class OpenFileResponse(FileResponse):
    """A response from an already open file, so that the agent's commands can't replace it in the meantime."""

    def __init__(self, descriptor: int, **options: Any) -> None:
        super().__init__(f"/dev/fd/{descriptor}", **options)
        self._descriptor = descriptor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file, then close it even after an error."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._descriptor)


class FileEndpoints:
    """Uploads and artifacts in a data directory; `limits.file_mb` limits their sizes."""

    options: Final = {
        "upload_files": {
            "openapi_extra": {"requestBody": {"content": {"multipart/form-data": {"schema": FILES_SCHEMA}}}}
        },
        "get_artifact": {"response_class": BytesResponse},
    }

    def __init__(self, home: Path, source: ModelSource) -> None:
        self._folders = ThreadFolders(home)
        self._source = source

    @operation("POST", "/api/threads/{thread_id}/uploads")
    async def upload_files(self, request: Request, thread_id: str) -> UploadResult:
        """Upload files, all or none.

        With an `Idempotency-Key`, a repeated upload is stored only once.
        """
        thread_id = check_thread_id(thread_id)
        limits = await limits_of(self._source)
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > limits.batch_bytes + MULTIPART_OVERHEAD:
            raise FileRefused("The total size of the files is too large.", status=413)
        store = UploadStore(self._folders, limits)
        async with store.batch(thread_id) as batch:
            async for event in read_files(request.headers.get("content-type", ""), request.stream()):
                if isinstance(event, FileStart):
                    await batch.begin(event.filename)
                else:
                    await batch.write(event.data)
            stored = await store.commit_once(batch, request.headers.get("idempotency-key", ""))
        return UploadResult(success=True, files=stored, message=describe_upload(stored))

    @operation("GET", "/api/threads/{thread_id}/artifacts/{path:path}")
    async def get_artifact(self, thread_id: str, path: str, download: str = "") -> Response:
        """Return a file of a thread.

        It is sent as a download if `download=true`, or if a browser could execute it.
        """
        artifact = await asyncio.to_thread(open_artifact, self._folders, thread_id, path)
        descriptor = await asyncio.to_thread(self._open_file, thread_id, path)
        is_download = download == "true" or not artifact.inline
        return OpenFileResponse(
            descriptor,
            media_type=artifact.mime_type,
            filename=artifact.filename,
            content_disposition_type="attachment" if is_download else "inline",
            headers=_ARTIFACT_HEADERS,
        )

    def _open_file(self, thread_id: str, path: str) -> int:
        with self._folders.open_file(thread_id, path) as descriptor:
            return os.dup(descriptor)
