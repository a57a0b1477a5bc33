"""The last of what a program says on stderr: it tells why the program did not start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

from agent.core.pipes import PipeReader

KEPT = 4_096


class _Reader(asyncio.Protocol):
    def __init__(self) -> None:
        self.kept = bytearray()

    def data_received(self, data: bytes) -> None:
        self.kept += data
        del self.kept[:-KEPT]


class StderrTail:
    """Reads what is written and keeps its end."""

    def __init__(self) -> None:
        self._reader = _Reader()

    @property
    def last_line(self) -> str:
        """The last line that says anything."""
        lines = [line.strip() for line in self._reader.kept.decode(errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[TextIO]:
        """What to give to the program."""
        reading, writing = os.pipe()
        reader = PipeReader(reading, self._reader)
        try:
            with os.fdopen(writing, "w") as write_end:
                yield write_end
        finally:
            reader.close()
