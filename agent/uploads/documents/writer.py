"""Writes Markdown up to a size, and remembers where its headings are."""

from __future__ import annotations

import re
from typing import BinaryIO

from agent.uploads.documents.report import Heading

HEADINGS = 200
TITLE = 120
_HEADING = re.compile(r"#{1,6} +(\S.*)")


class MarkdownWriter:
    """Writes blocks into a file, `room` bytes in all. `lines` and `headings` tell of what was written."""

    def __init__(self, file: BinaryIO, room: int) -> None:
        self._file, self._room = file, room
        self.lines = 0
        self.headings: list[Heading] = []

    def write(self, block: str) -> bool:
        """Add a block of whole lines; False where it was cut, and nothing more may follow."""
        data = block.replace("\x00", "").encode(errors="replace")
        fits = len(data) <= self._room
        if not fits:
            # A row or line that is not whole would be read as if it were.
            data = data[: data.rfind(b"\n", 0, self._room) + 1]
        self._file.write(data)
        self._room -= len(data)
        self._look_through(data.decode())
        return fits

    def _look_through(self, text: str) -> None:
        for line in text.splitlines():
            self.lines += 1
            found = _HEADING.match(line)
            if found and len(self.headings) < HEADINGS:
                self.headings.append(Heading(found[1].strip()[:TITLE], self.lines))
