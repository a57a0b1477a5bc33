"""Uploads of a thread: streamed to disk, kept all or not at all."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from agent.errors import FileMissing, FileRefused
from agent.results import UploadInfo
from agent.state import ThreadData
from agent.uploads.folders import FOLDER_MODE, UPLOADS, ThreadFolders, create_unique
from agent.uploads.names import check_name, safe_name

_COPY_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Sizes in bytes of one file and of one batch, and files in a batch."""

    file_bytes: int = 50_000_000
    batch_bytes: int = 200_000_000
    batch_files: int = 20


@dataclass(slots=True)
class _Part:
    name: str
    path: Path
    file: BinaryIO
    size: int = 0


@dataclass(slots=True)
class UploadBatch:
    """Files on their way in; use as `async with`. Without `commit`, leaving it removes everything.

    `begin`, then `write` any number of times, for each file; all raise FileRefused over a limit.
    """

    folders: ThreadFolders
    thread_id: str
    limits: UploadLimits
    _incoming: Path | None = None
    _parts: list[_Part] = field(default_factory=list)
    _total: int = 0

    async def __aenter__(self) -> Self:
        self._incoming = await asyncio.to_thread(self._make_incoming)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.shield(asyncio.to_thread(self._clean))

    async def begin(self, filename: str) -> None:
        """Start the next file under a safe form of its name."""
        if len(self._parts) >= self.limits.batch_files:
            raise FileRefused(f"At most {self.limits.batch_files} files at once.", status=413)
        await asyncio.to_thread(self._open, safe_name(filename))

    async def write(self, data: bytes) -> None:
        """Add to the file that was begun last."""
        part = self._parts[-1]
        part.size += len(data)
        self._total += len(data)
        if part.size > self.limits.file_bytes:
            raise FileRefused(f"{part.name} is larger than {_megabytes(self.limits.file_bytes)}.", status=413)
        if self._total > self.limits.batch_bytes:
            limit = _megabytes(self.limits.batch_bytes)
            raise FileRefused(f"These files are larger than {limit} together.", status=413)
        await asyncio.to_thread(part.file.write, data)

    async def commit(self) -> list[UploadInfo]:
        """Move all files to their place under unused names. Raises FileRefused when there are none."""
        if not self._parts:
            raise FileRefused("There is no file in this upload.")
        return await asyncio.to_thread(self._publish)

    def _make_incoming(self) -> Path:
        uploads = self.folders.make(self.thread_id, "uploads")
        incoming = uploads.parent / f".incoming-{secrets.token_hex(8)}"
        incoming.mkdir(mode=FOLDER_MODE)
        return incoming

    def _open(self, name: str) -> None:
        assert self._incoming is not None
        path, descriptor = create_unique(self._incoming, f"part-{len(self._parts)}")
        self._parts.append(_Part(name, path, os.fdopen(descriptor, "wb")))

    def _publish(self) -> list[UploadInfo]:
        uploads = self.folders.make(self.thread_id, "uploads")
        placed: list[Path] = []
        try:
            for part in self._parts:
                part.file.close()
                target, descriptor = create_unique(uploads, part.name)
                os.close(descriptor)
                placed.append(target)
                part.path.replace(target)
        except OSError:
            for target in placed:
                target.unlink(missing_ok=True)
            raise
        return [describe(self.thread_id, target) for target in placed]

    def _clean(self) -> None:
        for part in self._parts:
            part.file.close()
        if self._incoming is not None:
            shutil.rmtree(self._incoming, ignore_errors=True)


class UploadStore:
    """What people put into threads."""

    def __init__(self, folders: ThreadFolders, limits: UploadLimits | None = None) -> None:
        self._folders = folders
        self._limits = limits or UploadLimits()

    def batch(self, thread_id: str) -> UploadBatch:
        """A new batch for the thread."""
        return UploadBatch(self._folders, thread_id, self._limits)

    async def save_local(self, thread_id: str, paths: Sequence[Path]) -> list[UploadInfo]:
        """Copy local files in. Directories and missing files are refused before anything is copied."""
        await asyncio.to_thread(_check_sources, paths)
        async with self.batch(thread_id) as batch:
            for path in paths:
                await batch.begin(path.name)
                with await asyncio.to_thread(path.open, "rb") as source:
                    while chunk := await asyncio.to_thread(source.read, _COPY_CHUNK):
                        await batch.write(chunk)
            return await batch.commit()

    async def listed(self, thread_id: str) -> list[UploadInfo]:
        """The uploads of the thread, by name; none for an unknown thread."""
        return await asyncio.to_thread(self._list, thread_id)

    async def read(self, thread_id: str, filename: str, *, limit: int) -> bytes | None:
        """The content of one; None where it is gone or larger than `limit` bytes."""
        return await asyncio.to_thread(self._read, thread_id, filename, limit)

    def folders(self, thread_id: str) -> ThreadData:
        """The host paths of the thread's folders, which need not exist yet."""
        return ThreadData(
            workspace_path=str(self._folders.area(thread_id, "workspace")),
            uploads_path=str(self._folders.area(thread_id, "uploads")),
            outputs_path=str(self._folders.area(thread_id, "outputs")),
        )

    async def delete(self, thread_id: str, filename: str) -> None:
        """Delete one. Raises BadIdentifier or FileMissing."""
        await asyncio.to_thread(self._delete, thread_id, filename)

    def _list(self, thread_id: str) -> list[UploadInfo]:
        return [describe(thread_id, path) for path in self._folders.files(thread_id, "uploads")]

    def _read(self, thread_id: str, filename: str, limit: int) -> bytes | None:
        try:
            with self._folders.opened(thread_id, f"{UPLOADS}/{filename}") as descriptor:
                if os.fstat(descriptor).st_size > limit:
                    return None
                with os.fdopen(os.dup(descriptor), "rb") as file:
                    return file.read()
        except FileMissing:
            return None

    def _delete(self, thread_id: str, filename: str) -> None:
        name = check_name(filename)
        for path in self._folders.files(thread_id, "uploads"):
            if path.name == name:
                path.unlink()
                return
        raise FileMissing("There is no such upload.")


def describe(thread_id: str, path: Path) -> UploadInfo:
    """The public description of an upload at `path`."""
    virtual = f"{UPLOADS}/{path.name}"
    return UploadInfo(
        filename=path.name,
        size=path.stat().st_size,
        path=virtual,
        mime_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        artifact_url=f"/api/threads/{thread_id}/artifacts{virtual}",
    )


def _check_sources(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir():
            raise FileRefused(f"{path.name} is a directory; only files can be uploaded.")
        if not path.is_file():
            raise FileMissing(f"There is no file {path.name}.")


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:g} MB"


__all__ = ["UploadBatch", "UploadLimits", "UploadStore", "describe"]
