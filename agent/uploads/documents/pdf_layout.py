"""Text of a PDF page in reading order, from the positions of its words.

Each row of a table is a line, and columns of prose are read one after the other. Positions and sizes are in
points (1/72 inch).
"""

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
"""Maximum number of characters that are read of a page."""
_HYPHENS = {0x02: "-", 0xFFFE: "-"}
"""Code points that PDFium returns for hyphens at the end of a line."""
_WORD = re.compile(r"[^\s\0\x02\ufffe]*[\x02\ufffe]|[^\s\0\x02\ufffe]+")
_SAME_BASE = 2.0
"""Maximum distance of a word's characters from its baseline, in points."""
_SAME_LINE = 0.4
"""Maximum distance of a line's baselines, in font sizes."""
_GAP = 1.0
"""Minimum width of a gap between cells, in font sizes."""
_DEPTH = 12
"""Maximum number of nested splits of a page into columns."""
_GUTTERS = 6
"""Number of places that are tried as the start of a second column."""
_COLUMN_LINES = 4
"""Minimum number of lines of a column of prose."""
_COLUMN_CHARACTERS = 16
"""Minimum number of characters of an average cell of prose."""
_FULL = 0.7
"""Minimum width of a full line of prose, as a share of its column's width."""
_WRAPPED = 2
"""Maximum number of lines without gaps between the rows of a table."""
_GRID = 150
"""Maximum indentation of a cell, in characters."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word on a page turned so that its text is horizontal.

    `left`, `right`, `base` (baseline) and `size` (height of the line) are in points; `order` is the index of
    its first character on the page.
    """

    order: int
    text: str
    left: float
    right: float
    base: float
    size: float


Line = Sequence[Word]
PageWords = Mapping[int, Sequence[Word]]
"""The words of a page by the direction of the text, in quarter turns."""


def read_words(text_page: Any) -> tuple[PageWords, bool]:
    """Return the words of a PDFium text page, and False if some were omitted (`_CHARACTERS`)."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    count = text_page.count_chars()
    codes = (c_ushort * (min(count, _CHARACTERS) + 1))()
    pdfium.FPDFText_GetText(text_page, 0, len(codes) - 1, codes)
    text = bytes(codes).decode("utf-16-le", "surrogatepass").rstrip("\0")
    if len(text) < len(codes) - 1:
        # Some characters take two UTF-16 units, or none.
        codes = [pdfium.FPDFText_GetUnicode(text_page, index) for index in range(len(codes) - 1)]
        text = "".join(chr(code) if code <= sys.maxunicode else "\0" for code in codes)
    words: dict[int, list[Word]] = defaultdict(list)
    for found in _WORD.finditer(text):
        for turns, word in _place(pdfium, text_page, found[0], found.start()):
            words[turns].append(word)
    return words, count <= _CHARACTERS


def _place(pdfium: Any, text_page: Any, text: str, first: int) -> Iterator[tuple[int, Word]]:
    """Yield a word with its direction; several words if its characters are on different lines.

    PDFium joins the lines of a right-aligned column that is written cell by cell.
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
    characters = text[:length].translate(_HYPHENS)
    yield turns, Word(first, characters, min(across), max(across), base, size)


def _turn(x: float, y: float, turns: int) -> tuple[float, float]:
    """Return a position on the page turned back by a number of quarter turns."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turns]


def lay_out(words: Iterable[Word], depth: int = 0) -> Iterator[str]:
    """Yield lines of text in reading order, with at least two spaces between the cells of a row."""
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
    """Return the words by line, from top to bottom and left to right."""
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
    """Return the longest run of lines with two columns of prose, or None.

    The result is the first line, the end of the run, and where the second column starts, in points.
    """
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
    """Yield the runs of at least `_COLUMN_LINES` lines between breaks."""
    ends = [-1, *(at for at, is_break in enumerate(breaks) if is_break), len(breaks)]
    return ((one + 1, other) for one, other in pairwise(ends) if other - one > _COLUMN_LINES)


def _is_row(line: Line, gutter: float) -> bool:
    """Return whether a line looks like a row of a table."""
    sides = [side for is_right in (False, True) if (side := _side(line, gutter, is_right))]
    is_short = all(sum(len(one.text) + 1 for one in side) < _COLUMN_CHARACTERS for side in sides)
    return any(len(_split(side)) > 1 for side in sides) or (len(sides) > 1 and is_short)


def _are_prose(lines: Sequence[Line], gutter: float) -> bool:
    """Return whether both sides of the gutter are prose: long, mostly full lines, unlike cells of a table.

    Most programs write one column after the other, some write line by line. Tables are often written cell by
    cell.
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
        # An average over characters, since justified lines fall apart into short cells.
        characters = sum(one * one for one in cells) / sum(cells)
        if characters < _COLUMN_CHARACTERS or full < (0.4 if by_column else 0.7):
            return False
        if not by_column and len(cells) > 1.1 * len(side):
            return False
    return True


def _side(line: Line, gutter: float, is_right: bool) -> list[Word]:
    """Return the words of a line on one side of a gutter."""
    return [word for word in line if (word.left >= gutter) is is_right]


def _split(line: Line) -> list[list[Word]]:
    cells = [[line[0]]]
    for word in line[1:]:
        last = cells[-1][-1]
        if word.left - last.right > _GAP * max(word.size, last.size):
            cells.append([])
        cells[-1].append(word)
    return cells


def _find_blocks(lines: Sequence[Sequence[Line]]) -> Iterator[tuple[int, int]]:
    """Yield runs of lines: each a table, including the wrapped lines of its cells, or a single line."""
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
    """Yield the lines of a block, with the cells of a table aligned as on the page."""
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
    """Return words as text. Words of right-to-left scripts are in the order of the file."""
    if any(unicodedata.bidirectional(one) in {"R", "AL"} for word in words for one in word.text):
        words = sorted(words, key=lambda one: one.order)
    text = words[0].text
    for last, word in pairwise(words):
        is_raised = word.size < 0.8 * last.size and word.base > last.base + 0.2 * last.size
        text += raise_text(word.text) if is_raised else f" {word.text}"
    return text
