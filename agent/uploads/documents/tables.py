"""Rows as Markdown tables, and delimited text such as CSV.

Markdown is for reading, the file itself for calculations, so tables end at 1,000 rows. A CSV file that is not
UTF-8 has its Markdown for reading too, because `read_file` can't read the original.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from functools import partial
from itertools import islice
from typing import BinaryIO

from agent.shared.text import shorten, to_one_line
from agent.uploads.documents.report import COLUMNS, TITLE, TableSummary, Unreadable
from agent.uploads.documents.text_encoding import detect_encoding

ROWS = 1_000
MAX_ROWS_READ = 20_000
CELL = 500
FIELD = 1_000_000
SAMPLE_ROWS, SAMPLE_COLUMNS, SAMPLE_CELL = 4, 15, 40
SAMPLES = 4_000
"""Maximum number of characters of the samples of all tables of a file."""
_SAMPLE = 65_536
_LINES = 20
# In order of preference: commas occur in numbers too.
_TAB = "\t"
_DELIMITERS = (_TAB, ";", "|", ",")
_SEPARATOR = re.compile(r"sep=(.)", re.IGNORECASE)
"""First line with which Excel is told the delimiter."""
Row = Sequence[object]
RowCount = tuple[int, bool]
"""Number of rows of a table, and whether it is an estimate."""
CountRows = Callable[[int], RowCount]
"""Counts the rows of a table of which so many are known."""


def table(rows: Sequence[Row]) -> str:
    """Render rows, using the first one as the header, without empty columns on the right."""
    texts = [[cell(value) for value in row] for row in rows]
    width = max((index for row in texts for index, text in enumerate(row, 1) if text), default=0)
    if not width:
        return ""
    head, *body = [[*row[:width], *[""] * (width - len(row))] for row in texts]
    return "\n".join([_line(head), _line(["---"] * width), *map(_line, body), ""])


def cut_table(
    rows: Iterable[Row],
    notes: list[str],
    tables: list[TableSummary],
    count: CountRows,
    *,
    title: str = "",
    layout: str = "",
) -> Iterator[str]:
    """Yield a table of the first non-empty rows, with a line and a note about omitted rows.

    A summary of it is added to `tables`; if there may be more rows, `count` counts them.
    """
    kept, read = _read_first_rows(rows)
    text = table([row[:COLUMNS] for row in kept[: ROWS + 1]])
    yield f"{text}\n" if text else "(empty)\n\n"
    has_more = len(kept) > ROWS + 1
    is_long = has_more or read == MAX_ROWS_READ
    tables.append(_summarize(kept, count(len(kept)) if is_long else (len(kept), False), title, layout))
    if has_more:
        yield f"(Only the first {ROWS:,} rows; the file itself contains more.)\n\n"
        _note(notes, f"Longer tables are cut off after {ROWS:,} rows; the file itself contains all rows.")
    elif read == MAX_ROWS_READ:
        yield f"(Only rows among the first {MAX_ROWS_READ:,} lines; the file itself may contain more.)\n\n"
        _note(notes, f"Tables are cut off after {MAX_ROWS_READ:,} lines; the file itself contains all rows.")
    if any(_has_content(row[COLUMNS:]) for row in kept):
        _note(
            notes, f"Wider tables are cut off after {COLUMNS} columns; the file itself contains all columns."
        )


def _read_first_rows(rows: Iterable[Row]) -> tuple[list[Row], int]:
    """Return the first non-empty rows, at most `ROWS` plus a header and one more, and the number of lines
    read for them.
    """
    kept: list[Row] = []
    read = 0
    for row in islice(rows, MAX_ROWS_READ):
        read += 1
        if _has_content(row):
            kept.append(row)
        if len(kept) == ROWS + 2:
            break
    return kept, read


def _summarize(kept: Sequence[Row], count: RowCount, title: str, layout: str) -> TableSummary:
    """Describe a table by its first rows."""
    rows, is_estimate = count
    texts = [[cell(value) for value in row] for row in kept]
    width = max((index for row in texts for index, text in enumerate(row, 1) if text), default=0)
    sample = [_sample_line(row[:width]) for row in texts[:SAMPLE_ROWS]]
    return TableSummary(title[:TITLE], rows, width, layout, sample, is_estimate)


def _sample_line(texts: Sequence[str]) -> str:
    cells = [shorten(text, SAMPLE_CELL) for text in texts[:SAMPLE_COLUMNS]]
    return " | ".join([*cells, *(["…"] if len(texts) > SAMPLE_COLUMNS else [])])


def shorten_samples(tables: Sequence[TableSummary]) -> list[TableSummary]:
    """Return the tables with samples of the first ones, up to `SAMPLES` characters."""
    room = SAMPLES
    shortened: list[TableSummary] = []
    for one in tables:
        room -= sum(len(line) + 1 for line in one.sample)
        shortened.append(one if room >= 0 else replace(one, sample=[]))
    return shortened


def cell(value: object) -> str:
    """Render a value as the text of a cell, in one line."""
    return shorten(to_one_line(_plain(value)), CELL).replace("|", "\\|")


def _plain(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return f"{value:.15g}"
        case datetime():
            is_day = value.time() == time(0)
            return value.date().isoformat() if is_day else value.isoformat(" ")
        case date() | time():
            return value.isoformat()
    return str(value)


def _has_content(row: Row) -> bool:
    return any(value is not None and value != "" for value in row)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _note(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)


def read_delimited(file: BinaryIO, notes: list[str], tables: list[TableSummary]) -> Iterator[str]:
    """Yield the table of a delimited text file. Raises Unreadable if it is not text."""
    sample = file.read(_SAMPLE)
    file.seek(0)
    encoding = detect_encoding(sample, is_whole=len(sample) < _SAMPLE)
    if encoding is None:
        raise Unreadable("It is not a text file, despite its name.")
    file.seek(len(encoding.bom))
    text = io.TextIOWrapper(file, encoding=encoding.codec, errors="replace", newline="")
    lines = sample.removeprefix(encoding.bom).decode(encoding.codec, errors="replace").splitlines()[:_LINES]
    csv.field_size_limit(FIELD)
    declared = _SEPARATOR.fullmatch(lines[0].strip('"')) if lines else None
    delimiter = declared[1] if declared else guess_delimiter(lines)
    if declared:
        text.readline()
    reader = csv.reader(text, delimiter=delimiter)
    shown = "tab" if delimiter == _TAB else f'"{delimiter}"'
    layout = f"delimiter {shown}, encoding {encoding.name}"
    yield from cut_table(reader, notes, tables, partial(_count_rows, reader), layout=layout)


def _count_rows(rest: Iterator[Row], rows: int) -> RowCount:
    """Return the number of rows including the rest, or an estimate if reading fails."""
    try:
        return rows + sum(1 for row in rest if _has_content(row)), False
    except csv.Error:
        return rows, True


def guess_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that splits the most lines into an equal, largest number of fields."""
    best, most = ",", (0, 0)
    for delimiter in _DELIMITERS:
        counts = Counter(line.count(delimiter) for line in lines if delimiter in line)
        regular = max(((number, count) for count, number in counts.items()), default=(0, 0))
        if regular > most:
            best, most = delimiter, regular
    return best
