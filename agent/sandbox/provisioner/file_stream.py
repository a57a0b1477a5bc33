"""Many files as one stream: for each a line of JSON, then its content."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from agent.core.interfaces import SandboxError
from agent.sandbox.provisioner.file_listing import Entry

HEAD_BYTES = 64_000


def head(entry: Entry) -> bytes:
    """The line before an entry's content."""
    return json.dumps(entry.as_list()).encode() + b"\n"


class Frames:
    """Reads such a stream: `next`, then all of `content`, and again.

    Raises SandboxError where the stream breaks off, is no such stream, or is longer than `limit` bytes.
    """

    def __init__(self, pieces: AsyncIterator[bytes], *, limit: int) -> None:
        self._pieces, self._left, self._limit = pieces, 0, limit
        self._held = bytearray()

    async def next(self) -> Entry | None:
        """The next entry; None at the end. What was not read of the one before is skipped."""
        async for _ in self.content():
            pass
        while (end := self._held.find(b"\n")) < 0:
            if len(self._held) > HEAD_BYTES:
                raise SandboxError("The files were sent in a way that is not known here.")
            if not await self._more():
                if self._held:
                    raise SandboxError("The files broke off on their way.")
                return None
        line = bytes(self._held[:end])
        del self._held[: end + 1]
        try:
            entry = Entry.from_list(json.loads(line))
        except (ValueError, RecursionError):
            raise SandboxError("The files were sent in a way that is not known here.") from None
        self._left = entry.size
        return entry

    async def content(self) -> AsyncIterator[bytes]:
        """The content of the entry, in pieces."""
        while self._left:
            if not self._held and not await self._more():
                raise SandboxError("The files broke off on their way.")
            piece = bytes(self._held[: self._left])
            del self._held[: len(piece)]
            self._left -= len(piece)
            yield piece

    async def _more(self) -> bool:
        piece = await anext(self._pieces, None)
        if piece is None:
            return False
        self._limit -= len(piece)
        if self._limit < 0:
            raise SandboxError("The files are too large for one transfer.")
        self._held += piece
        return True
