"""Text length in platform units, safe places to cut text, and upper bounds of rendered sizes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Unit: TypeAlias = Callable[[str], int]
"""A unit of length: text to a count. It is additive: `u(a + b) == u(a) + u(b)`."""

_ZWJ = "\u200d"
_LOOK_BACK = 64  # a longer cluster is an attack; it may be cut


_SURROGATE = re.compile("[\ud800-\udfff]")


def sound(text: str) -> str:
    """Return `text` as valid Unicode: surrogate pairs joined, lone surrogates (which no platform accepts)
    replaced.
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf16_units(text: str) -> int:
    """Return the length in UTF-16 code units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Return the length in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def characters(text: str) -> int:
    """Return the length in Unicode code points."""
    return len(text)


def _regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _extends(char: str) -> bool:
    """Return whether `char` extends the preceding character: marks, joiners, skin tones, tags, Hangul
    vowels.
    """
    if char < "\u0300":
        return False
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in "\u200c\u200d"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\u1160" <= char <= "\u11ff"
        or "\udc00" <= char <= "\udfff"
    )


def is_grapheme_border(text: str, at: int) -> bool:
    """Return whether a cut before index `at` splits no visible character."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before == _ZWJ or _extends(after) or (before, after) == ("\r", "\n"):
        return False
    if not _regional(after):
        return True
    start = at
    while start > 0 and at - start < _LOOK_BACK and _regional(text[start - 1]):
        start -= 1
    return (at - start) % 2 == 0


def grapheme_border(text: str, at: int) -> int:
    """Return the last safe cut at or before `at`, or `at` itself if there is none nearby."""
    for place in range(at, max(at - _LOOK_BACK, 0), -1):
        if is_grapheme_border(text, place):
            return place
    return at


class Weigher(Protocol):
    """Upper bounds of the rendered length of source lines, including the line break; each grows with the
    line.
    """

    def text(self, line: str) -> int:
        """Return the weight of a line outside code."""

    def code(self, line: str) -> int:
        """Return the weight of a line inside a fence."""

    def cells(self, row: str) -> tuple[int, ...]:
        """Return the widths of a table row's cells if tables are drawn as a grid; empty if rows are weighed
        as text.
        """

    def grid(self, widths: Sequence[int], rows: int) -> int:
        """Return the weight of a drawn table of `rows` rows (the rule below the header counts as one)."""


@dataclass(frozen=True, slots=True)
class SourceWeigher:
    """Weigher for platforms that accept Markdown: a line's weight is its length."""

    measure: Callable[[str], int]

    def text(self, line: str) -> int:
        return self.measure(line) + 1

    def code(self, line: str) -> int:
        return self.measure(line) + 1

    def cells(self, row: str) -> tuple[int, ...]:
        del row
        return ()

    def grid(self, widths: Sequence[int], rows: int) -> int:
        return sum(widths) * rows
