"""What became of documents: `threads/{thread_id}/documents/{name}.json`, out of a sandbox's reach.

Blocking.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.core.schemas import MarkdownInfo, OutlineEntry
from agent.uploads.documents.report import Report
from agent.uploads.folders import UPLOADS, ThreadFolders, put_private

FOLDER = "documents"
_ENDING = ".json"


class Record(BaseModel):
    """`markdown` is the name of the upload that is the document's Markdown; None where there is none."""

    model_config = ConfigDict(frozen=True)

    markdown: str | None
    note: str | None
    lines: int
    outline: list[OutlineEntry]

    @classmethod
    def of(cls, report: Report, markdown: str | None) -> Record:
        """As a report tells it."""
        outline = [OutlineEntry(title=one.title, line=one.line) for one in report.headings]
        note = report.problem or " ".join(report.notes) or None
        return cls(markdown=markdown, note=note, lines=report.lines, outline=outline)

    def info(self, thread_id: str, size: int) -> MarkdownInfo:
        """As it is told, of Markdown of `size` bytes."""
        path = f"{UPLOADS}/{self.markdown}" if self.markdown else None
        return MarkdownInfo(
            path=path,
            artifact_url=f"/api/threads/{thread_id}/artifacts{path}" if path else None,
            size=size,
            lines=self.lines,
            outline=self.outline,
            note=self.note,
        )


class Records:
    """The records of threads, by the name of the upload."""

    def __init__(self, folders: ThreadFolders) -> None:
        self._folders = folders

    def write(self, thread_id: str, name: str, record: Record) -> None:
        """Put it in the place of what was known of this name. Raises OSError."""
        put_private(self._path(thread_id, name), record.model_dump_json())

    def remove(self, thread_id: str, name: str) -> None:
        """Forget what is known of this name."""
        self._path(thread_id, name).unlink(missing_ok=True)

    def of(self, thread_id: str, names: Collection[str]) -> Mapping[str, Record]:
        """What is known of these uploads. One whose Markdown is gone is as if it had never been read."""
        known = set(self._known(thread_id))
        found = {}
        for name in names:
            record = self._read(thread_id, name) if name in known else None
            if record is not None and (record.markdown is None or record.markdown in names):
                found[name] = record
        return found

    def _read(self, thread_id: str, name: str) -> Record | None:
        with suppress(OSError, ValidationError):
            return Record.model_validate_json(self._path(thread_id, name).read_bytes())
        return None

    def _known(self, thread_id: str) -> Iterator[str]:
        with suppress(OSError), os.scandir(self._folders.thread(thread_id) / FOLDER) as found:
            for entry in found:
                yield entry.name.removesuffix(_ENDING)

    def _path(self, thread_id: str, name: str) -> Path:
        return self._folders.thread(thread_id) / FOLDER / f"{name}{_ENDING}"
