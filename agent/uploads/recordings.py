"""Transcripts of uploads, in `threads/{thread_id}/recordings/{name}.json`, out of reach of sandboxes.

All functions block.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.uploads.folders import ThreadRecords


class TranscriptRecord(BaseModel):
    """A transcript, "" if there is no speech. `digest` is the SHA-256 of the recording, because another file
    may take its name after a deletion.
    """

    model_config = ConfigDict(frozen=True)

    digest: str
    text: str


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class TranscriptRecords(ThreadRecords):
    """The transcripts of all threads, by the name of the upload."""

    folder = "recordings"

    def read(self, thread_id: str, name: str, digest: str) -> str | None:
        """Return the transcript of a recording, or None if there is none."""
        with suppress(OSError, ValidationError):
            record = TranscriptRecord.model_validate_json(self._path(thread_id, name).read_bytes())
            return record.text if record.digest == digest else None
        return None

    def write(self, thread_id: str, name: str, record: TranscriptRecord) -> None:
        """Store a transcript unless the upload was deleted in the meantime. Raises OSError."""
        upload = self._folders.area(thread_id, "uploads") / name
        if upload.is_file():
            self._put(thread_id, name, record.model_dump_json())
        if not upload.is_file():
            self.remove(thread_id, name)
