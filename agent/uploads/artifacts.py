"""Files of a thread on their way out: which file a path means, and how it may be shown."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from pathlib import Path

from agent.uploads.folders import ThreadFolders

BINARY = "application/octet-stream"
_INLINE = frozenset({"application/pdf", "application/json", "text/plain", "text/markdown", "text/csv"})
_INLINE_FAMILIES = ("image/", "audio/", "video/")
_ACTIVE = frozenset({"image/svg+xml"})


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file to hand out; `inline`: a browser may show it, since nothing in it can act."""

    path: Path
    filename: str
    mime_type: str
    inline: bool


def open_artifact(folders: ThreadFolders, thread_id: str, path: str) -> Artifact:
    """The artifact behind a virtual path. Blocking. Raises BadIdentifier or FileMissing."""
    real = folders.find(thread_id, path)
    mime_type = mime_type_of(real.name)
    inline = mime_type not in _ACTIVE and (mime_type in _INLINE or mime_type.startswith(_INLINE_FAMILIES))
    return Artifact(real, real.name, mime_type, inline)


def mime_type_of(name: str) -> str:
    """The content type that a file name stands for; compressed and unknown ones are plain bytes."""
    known = {".md": "text/markdown", ".svg": "image/svg+xml"}
    if kind := known.get(Path(name).suffix.lower()):
        return kind
    guessed, encoding = mimetypes.guess_type(name)
    return BINARY if guessed is None or encoding else guessed
