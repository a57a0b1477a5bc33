"""Output of the process that reads a document: Markdown up to a size limit, and a report as one line of
JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import BinaryIO

from agent.shared.text import shorten

DAMAGED = "It is damaged, or its content does not match its file name."
LOCKED = "It is password-protected; send a copy without a password."
MACROS = "It contains macros, which are never run."
HEADINGS = 200
COLUMNS = 60
TITLE = 120
FIRST_LINE = 80
_HEADING = re.compile(r"#{1,6} +(\S.*)")
_PAGE = re.compile(r"Page \d+")
_DIGITS = re.compile(r"\d+")
_CANDIDATES = 3
"""Lines at the top of a page of which the first that is no running head names it in the outline."""
_RUNNING_SHARE = 0.3


class Unreadable(Exception):
    """The document can't be read; the message is a sentence for display."""


@dataclass(frozen=True, slots=True)
class DocumentHeading:
    """A heading of the Markdown; lines are counted from 1."""

    title: str
    line: int


@dataclass(frozen=True, slots=True)
class DocumentPicture:
    """A picture in the document, a JPEG image of `size` bytes; `label` describes its position."""

    label: str
    size: int


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A table: its numbers of non-empty `rows` and of `columns`, and the first rows, one line each.

    `title` names a sheet, and `layout` says how a text file is delimited and encoded. `is_estimate`: the rows
    were not counted one by one.
    """

    title: str
    rows: int
    columns: int
    layout: str = ""
    sample: list[str] = field(default_factory=list)
    is_estimate: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """Outcome of reading a document: `problem` is why there is no Markdown, `notes` what it lacks.

    `fault` is the class of an unexpected error, for the log. The images of `pictures` are in a file, one
    after the other.
    """

    problem: str = ""
    notes: list[str] = field(default_factory=list)
    headings: list[DocumentHeading] = field(default_factory=list)
    lines: int = 0
    fault: str = ""
    pictures: list[DocumentPicture] = field(default_factory=list)
    tables: list[TableSummary] = field(default_factory=list)

    def dumps(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False).encode(errors="replace")


class MarkdownWriter:
    """Writes up to `room` bytes of Markdown to a file, and collects its `lines` and headings."""

    def __init__(self, file: BinaryIO, room: int) -> None:
        self._file, self._room = file, room
        self.lines = 0
        self._headings: list[DocumentHeading] = []
        self._tops: dict[int, Sequence[str]] = {}

    @property
    def headings(self) -> list[DocumentHeading]:
        """The headings. A page without a title is named by its first unique line."""
        return name_pages(self._headings, self._tops)

    def write(self, block: str) -> bool:
        """Write a block of whole lines; return False if it was cut, so that nothing may follow."""
        data = block.replace("\x00", "").encode(errors="replace")
        fits = len(data) <= self._room
        if not fits:
            # An incomplete row or line would be taken for a complete one.
            data = data[: data.rfind(b"\n", 0, self._room) + 1]
        self._file.write(data)
        self._room -= len(data)
        self._collect_headings(data.decode())
        return fits

    def _collect_headings(self, text: str) -> None:
        lines = text.splitlines()
        for at, line in enumerate(lines, 1):
            found = _HEADING.match(line)
            if found and len(self._headings) < HEADINGS:
                title = found[1].strip()[:TITLE]
                if _PAGE.fullmatch(title):
                    self._tops[len(self._headings)] = _find_top(lines, at)
                self._headings.append(DocumentHeading(title, self.lines + at))
        self.lines += len(lines)


def name_pages(
    headings: Sequence[DocumentHeading], tops: Mapping[int, Sequence[str]]
) -> list[DocumentHeading]:
    """Return the headings with the first line of each page that has a unique one.

    `tops` are the lines at the top of the pages by the index of their heading.
    """
    seen = Counter(key for lines in tops.values() for key in {_DIGITS.sub("#", line) for line in lines})
    most = max(2, len(tops) * _RUNNING_SHARE)
    named = list(headings)
    for index, lines in tops.items():
        own = next((line for line in lines if seen[_DIGITS.sub("#", line)] <= most), "")
        if own:
            shown = shorten(own, FIRST_LINE)
            named[index] = replace(named[index], title=f"{named[index].title}: {shown}")
    return named


def _find_top(lines: Sequence[str], start: int) -> Sequence[str]:
    """Return the first lines with words from `start`, up to the next heading."""
    found: list[str] = []
    for line in islice(lines, start, None):
        text = " ".join(line.split())
        if _HEADING.match(line) or len(found) == _CANDIDATES:
            break
        if sum(map(str.isalpha, text)) > 1 and not text.startswith(("(no text)", "(picture ")):
            found.append(text)
    return found
