"""A thread's uploads. A batch is stored completely or not at all, documents with their Markdown."""

from __future__ import annotations

import asyncio
import hashlib
import json
import mimetypes
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from agent.core.paths import check_name, safe_name
from agent.core.schemas import UploadInfo
from agent.core.state import ThreadData
from agent.errors import FileMissing, FileRefused
from agent.uploads.documents.converter import Converter
from agent.uploads.documents.kinds import explain_unsupported, kind_of
from agent.uploads.documents.records import DocumentRecord, DocumentRecords
from agent.uploads.documents.report import DocumentPicture, Report
from agent.uploads.folders import (
    FOLDER_MODE,
    UPLOADS,
    ThreadFolders,
    ThreadRecords,
    create_unique,
)
from agent.uploads.recordings import TranscriptRecords

_COPY_CHUNK = 1 << 20
_LABEL = re.compile(r"[a-z]+-\d+(?:-\d+)?")
_JPEG = b"\xff\xd8\xff"


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Largest size of a file and of a batch in bytes, and number of files in a batch."""

    file_bytes: int = 50_000_000
    batch_bytes: int = 200_000_000
    batch_files: int = 20


@dataclass(slots=True)
class _Part:
    name: str
    path: Path
    file: BinaryIO
    size: int = 0
    report: Report | None = None

    @property
    def markdown(self) -> Path:
        """Path of its Markdown until the batch is stored."""
        return self.path.with_suffix(".md")

    @property
    def pictures(self) -> Path:
        """Path of its images until the batch is stored."""
        return self.path.with_suffix(".pictures")


@dataclass(slots=True)
class UploadBatch:
    """An upload in progress, as an async context manager. Without `commit`, leaving it deletes everything.

    For each file, call `begin` once and `write` repeatedly; they raise FileRefused over a limit.
    """

    folders: ThreadFolders
    thread_id: str
    limits: UploadLimits
    converter: Converter = field(default_factory=Converter)
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
        """Start the next file, using a safe version of its name."""
        if len(self._parts) >= self.limits.batch_files:
            raise FileRefused(
                f"Too many files; you can upload at most {self.limits.batch_files} at once.", status=413
            )
        await asyncio.to_thread(self._open, safe_name(filename))

    async def write(self, data: bytes) -> None:
        """Append to the current file."""
        part = self._parts[-1]
        part.size += len(data)
        self._total += len(data)
        if part.size > self.limits.file_bytes:
            raise FileRefused(f"{part.name} is larger than {_megabytes(self.limits.file_bytes)}.", status=413)
        if self._total > self.limits.batch_bytes:
            limit = _megabytes(self.limits.batch_bytes)
            raise FileRefused(f"Together, these files are larger than {limit}.", status=413)
        await asyncio.to_thread(part.file.write, data)

    async def commit(self) -> list[UploadInfo]:
        """Convert the documents, then store all files under unused names.

        A document that can't be read is stored with a note. Raises FileRefused if there are no files.
        """
        if not self._parts:
            raise FileRefused("The upload contains no files.")
        await asyncio.to_thread(self._close)
        async with asyncio.TaskGroup() as group:
            for part in self._parts:
                group.create_task(self._convert(part))
        return await asyncio.to_thread(self._publish)

    async def _convert(self, part: _Part) -> None:
        if kind := kind_of(part.name):
            part.report = await self.converter.convert(part.path, kind, part.markdown, part.pictures)
        elif why := explain_unsupported(part.name):
            part.report = Report(problem=why)

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
        records = DocumentRecords(self.folders)
        moved: list[Path] = []
        stored: list[UploadInfo] = []
        try:
            for part in self._parts:
                target = self._move(part.path, part.name, moved)
                if part.report is None:
                    stored.append(describe(self.thread_id, target))
                    continue
                record = self._store_result(part, part.report, target, moved)
                records.write(self.thread_id, target.name, record)
                stored.append(describe(self.thread_id, target, record))
        except OSError:
            for target in moved:
                target.unlink(missing_ok=True)
                records.remove(self.thread_id, target.name)
            raise
        return stored

    def _store_result(self, part: _Part, report: Report, target: Path, moved: list[Path]) -> DocumentRecord:
        """Move a document's Markdown and images to the uploads, and return its record."""
        if report.problem:
            return DocumentRecord.of(report, None)
        markdown = self._move(part.markdown, f"{target.stem}.md", moved)
        names = []
        for number, image in enumerate(split_images(part.pictures, report.pictures), 1):
            path = part.path.with_suffix(".jpg")
            path.write_bytes(image)
            label = report.pictures[number - 1].label
            name = label if _LABEL.fullmatch(label) else f"picture-{number}"
            names.append(self._move(path, f"{target.stem}-{name}.jpg", moved).name)
        return DocumentRecord.of(report, markdown.name, names)

    def _move(self, path: Path, name: str, moved: list[Path]) -> Path:
        """Move a file to the uploads under an unused name, and add it to `moved`."""
        target, descriptor = create_unique(self.folders.make(self.thread_id, "uploads"), name)
        os.close(descriptor)
        moved.append(target)
        return path.replace(target)

    def _close(self) -> None:
        for part in self._parts:
            part.file.close()

    def _clean(self) -> None:
        self._close()
        if self._incoming is not None:
            shutil.rmtree(self._incoming, ignore_errors=True)


class UploadReceipts(ThreadRecords):
    """Names of the files stored for an upload's idempotency key."""

    folder = "uploads-once"

    def names(self, thread_id: str, key: str) -> list[str]:
        """Return the names stored for a key, [] if there are none or the record can't be read."""
        with suppress(OSError, ValueError):
            found = json.loads(self._path(thread_id, _hash(key)).read_bytes())
            return [str(name) for name in found] if isinstance(found, list) else []
        return []

    def write(self, thread_id: str, key: str, names: Sequence[str]) -> None:
        """Store the names. Raises OSError."""
        self._put(thread_id, _hash(key), json.dumps(list(names)))


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class UploadStore:
    """The uploads of all threads."""

    def __init__(
        self,
        folders: ThreadFolders,
        limits: UploadLimits | None = None,
        converter: Converter | None = None,
    ) -> None:
        self._folders = folders
        self._limits = limits or UploadLimits()
        self._converter = converter or Converter()
        self._records = DocumentRecords(folders)

    def batch(self, thread_id: str) -> UploadBatch:
        return UploadBatch(self._folders, thread_id, self._limits, self._converter)

    async def commit_once(self, batch: UploadBatch, key: str) -> list[UploadInfo]:
        """Commit a batch, unless its `key` was already stored and all its files exist ("": no key)."""
        receipts, thread_id = UploadReceipts(self._folders), batch.thread_id
        names = await asyncio.to_thread(receipts.names, thread_id, key) if key else []
        known = {info.filename: info for info in await self.list_uploads(thread_id)} if names else {}
        if names and all(name in known for name in names):
            return [known[name] for name in names]
        stored = await batch.commit()
        if key:
            await asyncio.to_thread(receipts.write, thread_id, key, [info.filename for info in stored])
        return stored

    async def save_local(self, thread_id: str, paths: Sequence[Path]) -> list[UploadInfo]:
        """Store copies of local files. Folders and missing files are rejected before anything is copied."""
        await asyncio.to_thread(_check_sources, paths)
        async with self.batch(thread_id) as batch:
            for path in paths:
                await batch.begin(path.name)
                with await asyncio.to_thread(path.open, "rb") as source:
                    while chunk := await asyncio.to_thread(source.read, _COPY_CHUNK):
                        await batch.write(chunk)
            return await batch.commit()

    async def list_uploads(self, thread_id: str) -> list[UploadInfo]:
        """Return the uploads of a thread by name, [] for an unknown thread.

        The Markdown and the images of a document are part of its entry, not entries themselves.
        """
        return await asyncio.to_thread(self._list, thread_id)

    async def read(self, thread_id: str, filename: str, *, limit: int) -> bytes | None:
        """Return the content of an upload, or None if it is missing or larger than `limit` bytes."""
        return await asyncio.to_thread(self._read, thread_id, filename, limit)

    async def digest(self, thread_id: str, filename: str, *, limit: int) -> str | None:
        """Return an upload's SHA-256 without loading it into memory, None in the same cases as `read`."""
        return await asyncio.to_thread(self._digest, thread_id, filename, limit)

    def folders(self, thread_id: str) -> ThreadData:
        """Return the host paths of a thread's folders, which need not exist yet."""
        return ThreadData(
            workspace_path=str(self._folders.area(thread_id, "workspace")),
            uploads_path=str(self._folders.area(thread_id, "uploads")),
            outputs_path=str(self._folders.area(thread_id, "outputs")),
        )

    async def delete(self, thread_id: str, filename: str) -> None:
        """Delete an upload with its Markdown, images and transcript. Raises BadIdentifier or FileMissing."""
        await asyncio.to_thread(self.delete_now, thread_id, filename)

    def _list(self, thread_id: str) -> list[UploadInfo]:
        files = {path.name: path for path in self._folders.files(thread_id, "uploads")}
        records = self._records.of(thread_id, files.keys())
        parts = {name for record in records.values() for name in record.uploads}
        return [
            describe(thread_id, path, records.get(name)) for name, path in files.items() if name not in parts
        ]

    def _read(self, thread_id: str, filename: str, limit: int) -> bytes | None:
        with self._open_upload(thread_id, filename, limit) as file:
            return file.read() if file else None

    def _digest(self, thread_id: str, filename: str, limit: int) -> str | None:
        with self._open_upload(thread_id, filename, limit) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() if file else None

    @contextmanager
    def _open_upload(self, thread_id: str, filename: str, limit: int) -> Iterator[BufferedReader | None]:
        with ExitStack() as stack:
            try:
                opened = self._folders.open_file(thread_id, f"{UPLOADS}/{filename}")
                descriptor = stack.enter_context(opened)
            except FileMissing:
                yield None
                return
            if os.fstat(descriptor).st_size > limit:
                yield None
                return
            with os.fdopen(os.dup(descriptor), "rb") as file:
                yield file

    def delete_now(self, thread_id: str, filename: str) -> None:
        """Blocking version of `delete`."""
        name = check_name(filename)
        files = {path.name: path for path in self._folders.files(thread_id, "uploads")}
        if name not in files:
            raise FileMissing("Upload not found.")
        record = self._records.of(thread_id, files.keys()).get(name)
        files[name].unlink()
        for part in record.uploads if record is not None else ():
            if part in files:
                files[part].unlink(missing_ok=True)
        self._records.remove(thread_id, name)
        TranscriptRecords(self._folders).remove(thread_id, name)


def describe(thread_id: str, path: Path, record: DocumentRecord | None = None) -> UploadInfo:
    virtual = f"{UPLOADS}/{path.name}"
    size = path.with_name(record.markdown).stat().st_size if record and record.markdown else 0
    return UploadInfo(
        filename=path.name,
        size=path.stat().st_size,
        path=virtual,
        mime_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        artifact_url=f"/api/threads/{thread_id}/artifacts{virtual}",
        markdown=record.info(thread_id, size) if record else None,
    )


def split_images(path: Path, pictures: Sequence[DocumentPicture]) -> Iterator[bytes]:
    """Yield the JPEG images in a file, stopping where it differs from the report. Blocking."""
    if not pictures:
        return
    with path.open("rb") as file:
        for picture in pictures:
            image = file.read(max(0, picture.size))
            if len(image) != picture.size or not image.startswith(_JPEG):
                return
            yield image


def _check_sources(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir():
            raise FileRefused(f"{path.name} is a directory; only files can be uploaded.")
        if not path.is_file():
            raise FileMissing(f"There is no file {path.name}.")


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:g} MB"


__all__ = ["UploadBatch", "UploadLimits", "UploadStore", "describe"]
