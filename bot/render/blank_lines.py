"""Shorten runs of blank lines, which mean no more than one in Markdown but fill messages."""

from __future__ import annotations

import re

from bot.render.block_scanner import Leaf, ScannerState, scan

MOST_BLANK_LINES = 2
_LONG_RUN = re.compile(rf"\n(?:[ \t]*\n){{{MOST_BLANK_LINES + 1}}}")


class BlankRuns:
    """Shortens a growing text; a call's cost is proportional to the added text. Code is unchanged."""

    def __init__(self) -> None:
        self._known = ""
        self._short = ""
        self._state = ScannerState()
        self._run = 0

    def shorten(self, text: str) -> str:
        """Return the text with at most `MOST_BLANK_LINES` blank lines in a row."""
        if not self._known and not _LONG_RUN.search(text):
            return text
        if not text.startswith(self._known):
            self._known, self._short, self._state, self._run = "", "", ScannerState(), 0
        at = len(self._known)
        lines = []
        while (end := text.find("\n", at)) >= 0:
            line = text[at:end]
            self._state = scan(line, self._state).state
            is_blank = not line.strip(" \t") and self._state.leaf not in (Leaf.FENCE, Leaf.CODE)
            self._run = self._run + 1 if is_blank else 0
            if self._run <= MOST_BLANK_LINES:
                lines.append(text[at : end + 1])
            at = end + 1
        self._known, self._short = text[:at], self._short + "".join(lines)
        return self._short + text[at:]
