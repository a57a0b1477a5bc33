"""Records of converted documents, in `threads/{thread_id}/documents/{name}.json`, out of reach of sandboxes.

All functions block.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.core.schemas import MarkdownInfo, OutlineEntry, TableInfo
from agent.uploads.documents.report import Report
from agent.uploads.folders import UPLOADS, ThreadRecords


class DocumentRecord(BaseModel):
    """Result of a conversion. `markdown` is the upload with the Markdown, or None.

    `pictures` are the uploads with the images of the document.
    """

    model_config = ConfigDict(frozen=True)

    markdown: str | None
    note: str | None
    lines: int
    outline: list[OutlineEntry]
    pictures: list[str] = Field(default_factory=list)
    tables: list[TableInfo] = Field(default_factory=list)

    @classmethod
    def of(cls, report: Report, markdown: str | None, pictures: Sequence[str] = ()) -> DocumentRecord:
        outline = [OutlineEntry(title=one.title, line=one.line) for one in report.headings]
        return cls(
            markdown=markdown,
            note=report.problem or " ".join(report.notes) or None,
            lines=report.lines,
            outline=outline,
            pictures=list(pictures),
            tables=[TableInfo(**asdict(one)) for one in report.tables],
        )

    @property
    def uploads(self) -> list[str]:
        return [*([self.markdown] if self.markdown else []), *self.pictures]

    def info(self, thread_id: str, size: int) -> MarkdownInfo:
        """Describe the Markdown of `size` bytes."""
        path = f"{UPLOADS}/{self.markdown}" if self.markdown else None
        return MarkdownInfo(
            path=path,
            artifact_url=f"/api/threads/{thread_id}/artifacts{path}" if path else None,
            size=size,
            lines=self.lines,
            outline=self.outline,
            note=self.note,
            pictures=[f"{UPLOADS}/{name}" for name in self.pictures],
            tables=self.tables,
        )


class DocumentRecords(ThreadRecords):
    """The records of all threads, by the name of the upload."""

    folder = "documents"

    def write(self, thread_id: str, name: str, record: DocumentRecord) -> None:
        """Store a record, replacing an earlier one. Raises OSError."""
        self._put(thread_id, name, record.model_dump_json())

    def of(self, thread_id: str, names: Collection[str]) -> Mapping[str, DocumentRecord]:
        known = set(self._known(thread_id))
        found = {}
        for name in names:
            record = self._read(thread_id, name) if name in known else None
            if record is not None and (record.markdown is None or record.markdown in names):
                found[name] = record
        return found

    def _read(self, thread_id: str, name: str) -> DocumentRecord | None:
        with suppress(OSError, ValidationError):
            return DocumentRecord.model_validate_json(self._path(thread_id, name).read_bytes())
        return None

    def _known(self, thread_id: str) -> Iterator[str]:
        with suppress(OSError), os.scandir(self._folders.thread(thread_id) / self.folder) as found:
            for entry in found:
                yield entry.name.removesuffix(".json")
