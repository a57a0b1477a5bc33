"""Uploads of a thread: streamed to disk, kept all or not at all; documents get their Markdown beside them."""

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

from agent.core.schemas import MarkdownInfo, UploadInfo
from agent.core.state import ThreadData
from agent.core.virtual_paths import check_name, safe_name
from agent.errors import FileMissing, FileRefused
from agent.uploads.documents.converter import Converter
from agent.uploads.documents.kinds import kind_of, unread
from agent.uploads.documents.records import Record, Records
from agent.uploads.documents.report import Report
from agent.uploads.folders import FOLDER_MODE, UPLOADS, ThreadFolders, create_unique
from agent.uploads.once import Once

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
    report: Report | None = None

    @property
    def markdown(self) -> Path:
        """Where its Markdown waits."""
        return self.path.with_suffix(".md")


@dataclass(slots=True)
class UploadBatch:
    """Files on their way in; use as `async with`. Without `commit`, leaving it removes everything.

    `begin`, then `write` any number of times, for each file; all raise FileRefused over a limit.
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
        """Read the documents, then move all files to their place under unused names.

        A document that can't be read is kept as it is, with a note. Raises FileRefused when there are none.
        """
        if not self._parts:
            raise FileRefused("There is no file in this upload.")
        await asyncio.to_thread(self._close)
        async with asyncio.TaskGroup() as group:
            for part in self._parts:
                group.create_task(self._convert(part))
        return await asyncio.to_thread(self._publish)

    async def _convert(self, part: _Part) -> None:
        if kind := kind_of(part.name):
            part.report = await self.converter.convert(part.path, kind, part.markdown)
        elif why := unread(part.name):
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
        records = Records(self.folders)
        placed: list[Path] = []
        kept: list[UploadInfo] = []
        try:
            for part in self._parts:
                target = self._placed(part.path, part.name, placed)
                if part.report is None:
                    kept.append(describe(self.thread_id, target))
                    continue
                markdown = None
                if not part.report.problem:
                    markdown = self._placed(part.markdown, f"{target.stem}.md", placed)
                record = Record.of(part.report, markdown.name if markdown else None)
                records.write(self.thread_id, target.name, record)
                kept.append(describe(self.thread_id, target, record))
        except OSError:
            for target in placed:
                target.unlink(missing_ok=True)
                records.remove(self.thread_id, target.name)
            raise
        return kept

    def _placed(self, path: Path, name: str, placed: list[Path]) -> Path:
        """Move a file to its place under an unused name, and count it among the placed ones."""
        target, descriptor = create_unique(self.folders.make(self.thread_id, "uploads"), name)
        os.close(descriptor)
        placed.append(target)
        return path.replace(target)

    def _close(self) -> None:
        for part in self._parts:
            part.file.close()

    def _clean(self) -> None:
        self._close()
        if self._incoming is not None:
            shutil.rmtree(self._incoming, ignore_errors=True)


class UploadStore:
    """What people put into threads."""

    def __init__(
        self,
        folders: ThreadFolders,
        limits: UploadLimits | None = None,
        converter: Converter | None = None,
    ) -> None:
        self._folders = folders
        self._limits = limits or UploadLimits()
        self._converter = converter or Converter()
        self._records = Records(folders)

    def batch(self, thread_id: str) -> UploadBatch:
        """A new batch for the thread."""
        return UploadBatch(self._folders, thread_id, self._limits, self._converter)

    async def commit_once(self, batch: UploadBatch, key: str) -> list[UploadInfo]:
        """Commit it, unless files came under the same key before ("" is none) and are all still there."""
        once, thread_id = Once(self._folders), batch.thread_id
        names = await asyncio.to_thread(once.names, thread_id, key) if key else []
        known = {info.filename: info for info in await self.list_uploads(thread_id)} if names else {}
        if names and all(name in known for name in names):
            return [known[name] for name in names]
        kept = await batch.commit()
        if key:
            await asyncio.to_thread(once.write, thread_id, key, [info.filename for info in kept])
        return kept

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

    async def list_uploads(self, thread_id: str) -> list[UploadInfo]:
        """The uploads of the thread, by name; none for an unknown thread.

        The Markdown of a document is told with it, not listed.
        """
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
        """Delete one, with its Markdown. Raises BadIdentifier or FileMissing."""
        await asyncio.to_thread(self._delete, thread_id, filename)

    def _list(self, thread_id: str) -> list[UploadInfo]:
        files = {path.name: path for path in self._folders.files(thread_id, "uploads")}
        records = self._records.of(thread_id, files.keys())
        made = {record.markdown for record in records.values()}
        return [
            describe(thread_id, path, records.get(name)) for name, path in files.items() if name not in made
        ]

    def _read(self, thread_id: str, filename: str, limit: int) -> bytes | None:
        try:
            with self._folders.open_file(thread_id, f"{UPLOADS}/{filename}") as descriptor:
                if os.fstat(descriptor).st_size > limit:
                    return None
                with os.fdopen(os.dup(descriptor), "rb") as file:
                    return file.read()
        except FileMissing:
            return None

    def _delete(self, thread_id: str, filename: str) -> None:
        name = check_name(filename)
        files = {path.name: path for path in self._folders.files(thread_id, "uploads")}
        if name not in files:
            raise FileMissing("There is no such upload.")
        record = self._records.of(thread_id, files.keys()).get(name)
        files[name].unlink()
        if record is not None and record.markdown is not None:
            files[record.markdown].unlink(missing_ok=True)
        self._records.remove(thread_id, name)


def describe(thread_id: str, path: Path, record: Record | None = None) -> UploadInfo:
    """The public description of an upload at `path`, a document's with what became of it."""
    virtual = f"{UPLOADS}/{path.name}"
    return UploadInfo(
        filename=path.name,
        size=path.stat().st_size,
        path=virtual,
        mime_type=mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        artifact_url=f"/api/threads/{thread_id}/artifacts{virtual}",
        markdown=_markdown(thread_id, path, record) if record else None,
    )


def _markdown(thread_id: str, path: Path, record: Record) -> MarkdownInfo:
    size = path.with_name(record.markdown).stat().st_size if record.markdown else 0
    return record.info(thread_id, size)


def _check_sources(paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir():
            raise FileRefused(f"{path.name} is a directory; only files can be uploaded.")
        if not path.is_file():
            raise FileMissing(f"There is no file {path.name}.")


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:g} MB"


__all__ = ["UploadBatch", "UploadLimits", "UploadStore", "describe"]
