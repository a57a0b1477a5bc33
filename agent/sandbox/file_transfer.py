"""Listings of a thread's files, and streams with a line of JSON and the content for each file.

Files are equal if size, modification time (ns) and executable bit match. Both sides set the time, as rsync
does, so no state has to survive a restart.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.core.interfaces import SandboxError

EntryKind = Literal["file", "folder", "link", "gone"]
ENTRY_KINDS: tuple[EntryKind, ...] = ("file", "folder", "link", "gone")
HEAD_BYTES = 64_000
"""Bytes of the line before an entry's content."""
OVERHEAD_BYTES = 100_000_000
"""Bytes that entry lines and read-only folders may add to the files of one transfer."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A path as the agent sees it, with the size of its content in bytes (for a link: of its target).

    `changed` is a file's modification time in nanoseconds (of a link: a hash of its target); `runs`: it is
    executable. Equal entries are equal on both machines. The kind `gone` deletes the path.
    """

    path: str
    kind: EntryKind
    size: int = 0
    changed: int = 0
    runs: bool = False

    def as_list(self) -> list[Any]:
        return [self.path, self.kind, self.size, self.changed, self.runs]

    @classmethod
    def from_list(cls, data: object) -> FileEntry:
        """Parse JSON data from an untrusted sender. Raises SandboxError."""
        match data:
            case [str(path), str(kind), int(size), int(changed), bool(runs)] if (
                kind in ENTRY_KINDS and size >= 0
            ):
                return cls(path, kind, size, changed, runs)
        raise SandboxError("The remote side sent files in an unknown format.")

    def head(self) -> bytes:
        """Return the stream's line that precedes the content."""
        return json.dumps(self.as_list()).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class FileTree:
    """Entries by path, folders before their content. `cut`: some entries were omitted because of the
    limit.
    """

    entries: Mapping[str, FileEntry]
    cut: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"entries": [entry.as_list() for entry in self.entries.values()], "cut": self.cut}

    @classmethod
    def from_json(cls, data: object) -> FileTree:
        """Parse JSON data from an untrusted sender. Raises SandboxError."""
        match data:
            case {"entries": list(entries), "cut": bool(cut)}:
                return cls({one.path: one for one in map(FileEntry.from_list, entries)}, cut)
        raise SandboxError("The remote side sent files in an unknown format.")


def find_removed(before: FileTree, after: FileTree) -> Iterator[FileEntry]:
    """Yield entries of `before` that are missing or of another kind in `after`, the deepest first.

    Nothing is yielded if `after` was cut.
    """
    if after.cut:
        return
    for path, entry in reversed(list(before.entries.items())):
        there = after.entries.get(path)
        if there is None or there.kind != entry.kind:
            yield entry


def find_changed(before: FileTree, after: FileTree) -> Sequence[FileEntry]:
    """Return entries of `after` that differ in `before`, folders before their content."""
    return [entry for path, entry in after.entries.items() if before.entries.get(path) != entry]


class EntryReader:
    """Reads a stream of entries by alternating `next_entry` and `content`.

    Raises SandboxError if the stream ends early, is malformed, or is longer than `limit` bytes.
    """

    def __init__(self, pieces: AsyncIterator[bytes], *, limit: int) -> None:
        self._pieces, self._left, self._limit = pieces, 0, limit
        self._buffer = bytearray()

    async def next_entry(self) -> FileEntry | None:
        """Return the next entry, or None at the end. Unread content of the previous one is skipped."""
        async for _ in self.content():
            pass
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > HEAD_BYTES:
                raise SandboxError("The remote side sent files in an unknown format.")
            if not await self._read_piece():
                if self._buffer:
                    raise SandboxError("The file transfer was interrupted.")
                return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            entry = FileEntry.from_list(json.loads(line))
        except (ValueError, RecursionError):
            raise SandboxError("The remote side sent files in an unknown format.") from None
        self._left = entry.size
        return entry

    async def content(self) -> AsyncIterator[bytes]:
        """Yield the content of the current entry in pieces."""
        while self._left:
            if not self._buffer and not await self._read_piece():
                raise SandboxError("The file transfer was interrupted.")
            piece = bytes(self._buffer[: self._left])
            del self._buffer[: len(piece)]
            self._left -= len(piece)
            yield piece

    async def _read_piece(self) -> bool:
        piece = await anext(self._pieces, None)
        if piece is None:
            return False
        self._limit -= len(piece)
        if self._limit < 0:
            raise SandboxError("The files are too large for one transfer.")
        self._buffer += piece
        return True
