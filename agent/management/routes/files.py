"""The routes about a thread's files: uploads, artifacts, and all local data."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from agent.catalog.source import ModelSource
from agent.core.schemas import UploadResult
from agent.core.virtual_paths import check_thread_id
from agent.errors import FileRefused
from agent.management.routes.endpoints import answer, guarded
from agent.management.routes.multipart import FileStart, files
from agent.management.routes.pagination import paged
from agent.management.thread_files import ThreadFiles, limits_of, uploaded
from agent.uploads.artifacts import open_artifact
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore

MULTIPART_OVERHEAD = 100_000
_ARTIFACT_HEADERS = {
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
    "content-security-policy": "default-src 'none'; sandbox",
}


class OpenedFile(FileResponse):
    """A file that was opened already, which no command of the agent can put another in the place of."""

    def __init__(self, descriptor: int, **given: Any) -> None:
        super().__init__(f"/dev/fd/{descriptor}", **given)
        self._descriptor = descriptor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and close it in any case."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._descriptor)


class FileRoutes:
    """Uploads and artifacts below a home; sizes by the configuration's `limits.file_mb`."""

    def __init__(self, home: Path, source: ModelSource) -> None:
        self._folders = ThreadFolders(home)
        self._files = ThreadFiles(home, source)
        self._source = source

    def routes(self) -> list[BaseRoute]:
        """The routes below `/api/threads/{thread_id}`."""
        base = "/api/threads/{thread_id}"
        return [
            Route(f"{base}/uploads", guarded(self.upload), methods=["POST"]),
            Route(f"{base}/uploads/list", guarded(self.listing), methods=["GET"]),
            Route(f"{base}/uploads/{{filename}}", guarded(self.delete), methods=["DELETE"]),
            Route(f"{base}/artifacts/{{path:path}}", guarded(self.artifact), methods=["GET"]),
            Route(base, guarded(self.forget), methods=["DELETE"]),
        ]

    async def upload(self, request: Request) -> Response:
        """Take all files of a multipart body, or none; what comes again under an `Idempotency-Key`, once."""
        thread_id = check_thread_id(request.path_params["thread_id"])
        limits = await limits_of(self._source)
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > limits.batch_bytes + MULTIPART_OVERHEAD:
            raise FileRefused("These files are too large together.", status=413)
        store = UploadStore(self._folders, limits)
        async with store.batch(thread_id) as batch:
            async for event in files(request.headers.get("content-type", ""), request.stream()):
                if isinstance(event, FileStart):
                    await batch.begin(event.filename)
                else:
                    await batch.write(event.data)
            kept = await store.commit_once(batch, request.headers.get("idempotency-key", ""))
        return answer(UploadResult(success=True, files=kept, message=uploaded(kept)))

    async def listing(self, request: Request) -> Response:
        """The uploads of the thread."""
        found = await self._files.listed(request.path_params["thread_id"])
        return paged(request, found, "files", "filename")

    async def delete(self, request: Request) -> Response:
        """Delete one upload."""
        parameters = request.path_params
        return answer(await self._files.delete(parameters["thread_id"], parameters["filename"]))

    async def artifact(self, request: Request) -> Response:
        """Hand out a file of the thread; whatever could act in a browser only as a download."""
        parameters = request.path_params
        thread_id, path = parameters["thread_id"], parameters["path"]
        found = await asyncio.to_thread(open_artifact, self._folders, thread_id, path)
        descriptor = await asyncio.to_thread(self._opened, thread_id, path)
        download = request.query_params.get("download") == "true" or not found.inline
        return OpenedFile(
            descriptor,
            media_type=found.mime_type,
            filename=found.filename,
            content_disposition_type="attachment" if download else "inline",
            headers=_ARTIFACT_HEADERS,
        )

    def _opened(self, thread_id: str, path: str) -> int:
        with self._folders.opened(thread_id, path) as descriptor:
            return os.dup(descriptor)

    async def forget(self, request: Request) -> Response:
        """Delete all local data of the thread."""
        return answer(await self._files.forget(request.path_params["thread_id"]))
