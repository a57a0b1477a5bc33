"""Text of a PDF page by the positions of its words: rows stay rows, columns of prose are read one by one."""

from __future__ import annotations

import math
import re
import statistics
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import c_double, c_ushort
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agent.shared.raised_text import raise_text

_CHARACTERS = 200_000
"""Characters of a page that are read."""
_HYPHENS = {0x02: "-", 0xFFFE: "-"}
"""Hyphens at the end of a line in PDFium."""
_WORD = re.compile(r"[^\s\0\x02\ufffe]*[\x02\ufffe]|[^\s\0\x02\ufffe]+")
_SAME_BASE = 2.0
"""Distance in points of characters of a word from one baseline."""
_SAME_LINE = 0.4
_GAP = 1.0
"""Spaces of this width, in font sizes, separate cells."""
_DEPTH = 12
_GUTTERS = 6
_COLUMN_LINES = 4
_COLUMN_CHARACTERS = 16
_FULL = 0.7
"""Share of its column's width that a line of prose has."""
_WRAPPED = 2
"""Lines without gaps between the rows of a table."""
_GRID = 150
"""Longest indentation of a cell in characters."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word in reading direction: from `left` to `right` at the height `base`, `order` in the page."""

    order: int
    text: str
    left: float
    right: float
    base: float
    size: float


Line = Sequence[Word]
PageWords = Mapping[int, Sequence[Word]]
"""The words of a page by the quarter turns of the text."""


def read_words(text_page: Any) -> tuple[PageWords, bool]:
    """Return the words of a PDFium text page, and whether these are all."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    count = text_page.count_chars()
    codes = (c_ushort * (min(count, _CHARACTERS) + 1))()
    pdfium.FPDFText_GetText(text_page, 0, len(codes) - 1, codes)
    text = bytes(codes).decode("utf-16-le", "surrogatepass").rstrip("\0")
    if len(text) < len(codes) - 1:
        # Some characters are two units, or none.
        codes = [pdfium.FPDFText_GetUnicode(text_page, index) for index in range(len(codes) - 1)]
        text = "".join(chr(code) if code <= sys.maxunicode else "\0" for code in codes)
    words: dict[int, list[Word]] = defaultdict(list)
    for found in _WORD.finditer(text):
        for turns, word in _place(pdfium, text_page, found[0], found.start()):
            words[turns].append(word)
    return words, count <= _CHARACTERS


def _place(pdfium: Any, text_page: Any, text: str, first: int) -> Iterator[tuple[int, Word]]:
    """Yield a word, or several ones on different lines.

    PDFium also joins the lines of a right-aligned column that is written cell by cell.
    """
    x, y, box = c_double(), c_double(), pdfium.FS_RECTF()
    turns = -round(pdfium.FPDFText_GetCharAngle(text_page, first) / (math.pi / 2)) % 4

    def find_base(at: int) -> float:
        pdfium.FPDFText_GetCharOrigin(text_page, first + at, x, y)
        return _turn(x.value, y.value, turns)[1]

    base, length = find_base(0), len(text)
    if abs(find_base(length - 1) - base) > _SAME_BASE:
        length = next(at for at in range(1, length) if abs(find_base(at) - base) > _SAME_BASE)
        yield from _place(pdfium, text_page, text[length:], first + length)
    corners = []
    for at in (first, first + length - 1):
        pdfium.FPDFText_GetLooseCharBox(text_page, at, box)
        corners += [_turn(box.left, box.bottom, turns), _turn(box.right, box.top, turns)]
    across, heights = zip(*corners, strict=True)
    size = max(max(heights) - min(heights), 1.0)
    shown = text[:length].translate(_HYPHENS)
    yield turns, Word(first, shown, min(across), max(across), base, size)


def _turn(x: float, y: float, turns: int) -> tuple[float, float]:
    """Return a position after turning the page back by quarters."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turns]


def lay_out(words: Iterable[Word], depth: int = 0) -> Iterator[str]:
    """Yield lines of text in reading order. Gaps between the cells of a row are at least two spaces."""
    lines = _group_lines(words)
    if depth < _DEPTH and (columns := _find_columns(lines)):
        first, last, gutter = columns
        inside = _flatten(lines[first:last])
        sides = [_side(inside, gutter, is_right) for is_right in (False, True)]
        sides.sort(key=lambda side: min(one.order for one in side))
        for part in (_flatten(lines[:first]), *sides, _flatten(lines[last:])):
            yield from lay_out(part, depth + 1)
        return
    cells = [_split(line) for line in lines]
    for begin, end in _find_blocks(cells):
        yield from _render_block(cells[begin:end])


def _group_lines(words: Iterable[Word]) -> list[list[Word]]:
    lines: list[list[Word]] = []
    anchor: Word | None = None
    for word in sorted(words, key=lambda one: (-one.base, one.left)):
        if anchor is None or anchor.base - word.base > _SAME_LINE * max(anchor.size, word.size):
            lines.append([])
            anchor = word
        lines[-1].append(word)
        anchor = word if word.size > anchor.size else anchor
    return [sorted(line, key=lambda one: one.left) for line in lines]


def _flatten(lines: Iterable[Line]) -> list[Word]:
    return [word for line in lines for word in line]


def _find_columns(lines: Sequence[Line]) -> tuple[int, int, float] | None:
    """Return the longest run of lines that are two columns of prose, and where the second one begins."""
    starts = Counter(round(cell[0].left) for line in lines for cell in _split(line))
    best: tuple[int, int, float] | None = None
    for start, count in starts.most_common(_GUTTERS):
        gutter = start - 1.0
        crossing = [
            any(one.left < gutter and one.right > start - 0.4 * one.size for one in line) for line in lines
        ]
        rows = [crosses or _is_row(line, gutter) for line, crosses in zip(lines, crossing, strict=True)]
        for begin, end in {*_find_runs(crossing), *_find_runs(rows)}:
            is_longer = best is None or end - begin > best[1] - best[0]
            if count >= _COLUMN_LINES and is_longer and _are_prose(lines[begin:end], gutter):
                best = begin, end, gutter
    return best


def _find_runs(breaks: Sequence[bool]) -> Iterator[tuple[int, int]]:
    ends = [-1, *(at for at, is_break in enumerate(breaks) if is_break), len(breaks)]
    return ((one + 1, other) for one, other in pairwise(ends) if other - one > _COLUMN_LINES)


def _is_row(line: Line, gutter: float) -> bool:
    """Return whether a line looks like a row of a table."""
    sides = [side for is_right in (False, True) if (side := _side(line, gutter, is_right))]
    is_short = all(sum(len(one.text) + 1 for one in side) < _COLUMN_CHARACTERS for side in sides)
    return any(len(_split(side)) > 1 for side in sides) or (len(sides) > 1 and is_short)


def _are_prose(lines: Sequence[Line], gutter: float) -> bool:
    """Return whether both sides of the gutter are prose: long, mostly full lines, unlike cells of a table.

    Most programs write one column after the other, but some write line by line. A table is often written
    cell by cell.
    """
    left, right = ([_side(line, gutter, is_right) for line in lines] for is_right in (False, True))
    order = sorted((word.order, word.left >= gutter) for line in lines for word in line)
    switches = sum(one[1] is not other[1] for one, other in pairwise(order))
    by_column = switches <= 2
    if not by_column and switches < 1.5 * sum(
        bool(one and other) for one, other in zip(left, right, strict=True)
    ):
        return False
    for side in ([line for line in each if line] for each in (left, right)):
        if len(side) < _COLUMN_LINES:
            return False
        width = max(line[-1].right for line in side) - min(line[0].left for line in side)
        full = statistics.mean(line[-1].right - line[0].left >= _FULL * width for line in side)
        cells = [sum(len(one.text) + 1 for one in each) for line in side for each in _split(line)]
        # Of the cell of a character on average, since justified lines fall apart into short cells.
        characters = sum(one * one for one in cells) / sum(cells)
        if characters < _COLUMN_CHARACTERS or full < (0.4 if by_column else 0.7):
            return False
        if not by_column and len(cells) > 1.1 * len(side):
            return False
    return True


def _side(line: Line, gutter: float, is_right: bool) -> list[Word]:
    return [word for word in line if (word.left >= gutter) is is_right]


def _split(line: Line) -> list[list[Word]]:
    """Return the cells of a line."""
    cells = [[line[0]]]
    for word in line[1:]:
        last = cells[-1][-1]
        if word.left - last.right > _GAP * max(word.size, last.size):
            cells.append([])
        cells[-1].append(word)
    return cells


def _find_blocks(lines: Sequence[Sequence[Line]]) -> Iterator[tuple[int, int]]:
    """Yield runs of lines: a table, with the wrapped lines of its cells, or a single line."""
    begin = 0
    while begin < len(lines):
        end = at = begin + 1
        while at < len(lines) and (len(lines[begin]) > 1 or end > begin + 1) and at - end <= _WRAPPED:
            at += 1
            is_indented = lines[at - 1][0][0].left > lines[begin][0][0].left + 2
            end = at if len(lines[at - 1]) > 1 or (is_indented and at == end + 1) else end
        yield begin, end
        begin = end


def _render_block(lines: Sequence[Sequence[Line]]) -> Iterator[str]:
    """Yield the lines, with the cells of a table where they are on the page."""
    words = [word for line in lines for cell in line for word in cell]
    left = min(word.left for word in words)
    width = statistics.median((word.right - word.left) / len(word.text) for word in words) or 1.0
    for line in lines:
        text = ""
        for cell in line:
            at = min(round((cell[0].left - left) / width), _GRID) if len(lines) > 1 or text else 0
            text = text.ljust(max(at, len(text) + 2) if text else at) + _join(cell)
        yield text


def _join(words: Line) -> str:
    """Return words as text; those of right-to-left scripts are in the order of the page."""
    if any(unicodedata.bidirectional(one) in {"R", "AL"} for word in words for one in word.text):
        words = sorted(words, key=lambda one: one.order)
    text = words[0].text
    for last, word in pairwise(words):
        is_raised = word.size < 0.8 * last.size and word.base > last.base + 0.2 * last.size
        text += raise_text(word.text) if is_raised else f" {word.text}"
    return text
