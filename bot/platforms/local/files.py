"""Files of incoming messages, on disk before the message is accepted.

They are stored in one folder under random names. A turn that was not started within 12 hours expires, so
files older than two days are no longer needed.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

KEPT = 48 * 3600.0
CHUNK = 256 * 1024
FOLDER = "inbox"
_NAME = re.compile(r"[0-9a-f]{32}")


class FileTooLarge(Exception):
    """More than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"at most {limit} bytes")
        self.limit = limit


class InboxFiles:
    """The folder below a home (an absolute path)."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    async def store_file(self, source: BinaryIO, limit: int) -> tuple[Path, int]:
        """Store a file; return its path and size. Raises FileTooLarge without storing anything."""
        return await asyncio.to_thread(self._keep, source, limit)

    async def delete_file(self, path: Path) -> None:
        """Delete a file; ignored if it is missing."""
        await asyncio.to_thread(path.unlink, missing_ok=True)

    async def delete_expired(self, now: float) -> int:
        """Delete the files that are no longer needed; return their number."""
        return await asyncio.to_thread(self._sweep, now - KEPT)

    def _keep(self, source: BinaryIO, limit: int) -> tuple[Path, int]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / uuid.uuid4().hex
        path.touch(mode=0o600)
        size = 0
        try:
            with path.open("wb") as target:
                while chunk := source.read(CHUNK):
                    size += len(chunk)
                    if size > limit:
                        raise FileTooLarge(limit)
                    target.write(chunk)
        except (OSError, FileTooLarge):
            path.unlink(missing_ok=True)
            raise
        return path, size

    def _sweep(self, before: float) -> int:
        if not self._folder.is_dir():
            return 0
        old = [path for path in self._folder.iterdir() if path.stat().st_mtime < before]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)


async def read_inbox(path: Path) -> AsyncIterator[bytes]:
    """Yield the content of a stored file. Raises OSError for a missing file or a path outside the folder."""
    if path.parent.name != FOLDER or not _NAME.fullmatch(path.name):
        raise FileNotFoundError(path.name)
    source = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(source.read, CHUNK):
            yield chunk
    finally:
        await asyncio.to_thread(source.close)
