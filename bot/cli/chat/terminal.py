"""Terminal of `roebot chat`: read typed messages and show replies as they grow."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import signal
import unicodedata
from collections.abc import AsyncIterator, Callable
from itertools import takewhile
from types import TracebackType
from typing import TextIO

from bot.cli.chat.client import Update

CHUNK = 65_536
# Lines that arrive within this time (s) are treated as one paste and form one message.
PASTE = 0.02
PROMPT = "› "
DIM, RESET = "\x1b[2m", "\x1b[0m"
CLEAR_BELOW = "\x1b[J"


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
        """Read the available input. In line mode a read returns one line, so a paste takes several reads."""
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


def count_rows(line: str, columns: int) -> int:
    """Return the number of terminal rows that a line takes."""
    width = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)
    return max(1, -(-width // max(1, columns)))


class Screen:
    """Writes replies to a terminal one at a time, in the order of their turns.

    A terminal (`colors`) takes back what is no longer part of a reply, as long as it is on the screen, whose
    size `size` returns. Elsewhere a text that does not continue the printed one is printed anew.
    """

    def __init__(
        self, out: TextIO, colors: bool, size: Callable[[], os.terminal_size] = shutil.get_terminal_size
    ) -> None:
        self._out = out
        self._colors = colors
        self._size = size
        self._waiting: dict[int, Update] = {}
        self._expected: set[int] = set()
        self._shown = ""
        self._turn = 0

    @property
    def busy(self) -> bool:
        """Return whether an answer is pending."""
        return bool(self._expected or self._turn)

    def say(self, text: str) -> None:
        """Print a line from the client itself."""
        self._write(f"{DIM}{text}{RESET}" if self._colors else text)

    def prompt(self) -> None:
        """Print the prompt."""
        self._write(PROMPT)

    def expect(self, turn: int) -> None:
        """Register an accepted message whose turn will be answered."""
        if turn:
            self._expected.add(turn)

    def show(self, update: Update) -> None:
        """Show the state of a turn. Other turns wait until the reply in progress is complete."""
        if self._turn not in (0, update.turn):
            self._waiting[update.turn] = update
            return
        self._one(update)
        while self._turn == 0 and self._waiting:
            self._one(self._waiting.pop(min(self._waiting)))

    def _one(self, update: Update) -> None:
        if update.text and update.text != self._shown:
            self._turn = update.turn
            self._grow(update.text)
        if update.closed:
            self._close(update)

    def _grow(self, text: str) -> None:
        """Print the new part of a text, or all of it if it doesn't continue the printed one."""
        if text.startswith(self._shown):
            self._write(text[len(self._shown) :])
        elif (kept := self._take_back(text)) is not None:
            self._write(text[kept:])
        elif not self._shown.startswith(text):
            self._write(f"\n\n{text}")
        else:
            return
        self._shown = text

    def _take_back(self, text: str) -> int | None:
        """Clear the printed lines from the first difference. Return the number of characters that stay, or
        None if the lines can't be cleared.
        """
        columns, rows = self._size()
        same = takewhile(lambda pair: pair[0] == pair[1], zip(text, self._shown, strict=False))
        kept = self._shown.rfind("\n", 0, sum(1 for _ in same)) + 1
        used = sum(count_rows(line, columns) for line in self._shown[kept:].split("\n"))
        if not self._colors or used >= rows:
            return None
        self._write("\r" + (f"\x1b[{used - 1}A" if used > 1 else "") + CLEAR_BELOW)
        return kept

    def _close(self, update: Update) -> None:
        if self._shown:
            self._write("\n")
        elif update.state != "done":
            # The text itself includes how the turn was closed.
            self.say(f"({update.state})\n")
        for path in update.files:
            self._write(f"{path}\n")
        self._expected.discard(update.turn)
        self._turn, self._shown = 0, ""
        self._write("\n")
        self.prompt()

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
