"""Terminal input: lines and Ctrl-C, without a thread that can't be interrupted."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TextIO

CHUNK = 65_536
# Lines that arrive within this time (s) come from one paste and form one message.
PASTE = 0.02


class Lines:
    """Iterate over messages from a terminal; None stands for Ctrl-C, and Ctrl-D ends the iteration."""

    def __init__(self, source: TextIO) -> None:
        self._fd = source.fileno()
        self._typed: asyncio.Queue[str | None] = asyncio.Queue(maxsize=1000)
        self._ended = asyncio.Event()

    def __enter__(self) -> Lines:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._fd, self._read)
        loop.add_signal_handler(signal.SIGINT, self._typed.put_nowait, None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._fd)
        loop.remove_signal_handler(signal.SIGINT)

    async def __aiter__(self) -> AsyncIterator[str | None]:
        while True:
            getting = asyncio.ensure_future(self._typed.get())
            ending = asyncio.ensure_future(self._ended.wait())
            try:
                await asyncio.wait({getting, ending}, return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    return
                yield getting.result()
            finally:
                getting.cancel()
                ending.cancel()

    def _read(self) -> None:
        """Read the available input; a terminal in line mode returns one line per read, a paste several."""
        text = b""
        while True:
            found = os.read(self._fd, CHUNK)
            if not found:
                self._ended.set()
                asyncio.get_running_loop().remove_reader(self._fd)
                break
            text += found
            if not select.select([self._fd], [], [], PASTE)[0]:
                break
        if text:
            self._typed.put_nowait(text.decode(errors="replace").rstrip("\n"))
