"""Rows as a Markdown table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice

ROWS = 1_000
COLUMNS = 60
LOOKED_AT = 20_000
CELL = 500
Row = Sequence[object]


def table(rows: Sequence[Row]) -> str:
    """The rows, the first one as the head; columns at the right that are empty are left out."""
    texts = [[cell(value) for value in row] for row in rows]
    width = max((index for row in texts for index, text in enumerate(row, 1) if text), default=0)
    if not width:
        return ""
    head, *body = [[*row[:width], *[""] * (width - len(row))] for row in texts]
    return "\n".join([_line(head), _line(["---"] * width), *map(_line, body), ""])


def cut_table(rows: Iterable[Row], notes: list[str]) -> Iterator[str]:
    """A table of the first rows that are not empty; a line and a note tell of what is left out."""
    found = (row for row in islice(rows, LOOKED_AT) if _filled(row))
    kept = list(islice(found, ROWS + 2))
    text = table([row[:COLUMNS] for row in kept[: ROWS + 1]])
    yield f"{text}\n" if text else "(empty)\n\n"
    if len(kept) > ROWS + 1:
        yield f"(The first {ROWS:,} rows; the file itself has more.)\n\n"
        _note(notes, f"Of longer tables only the first {ROWS:,} rows are in it; the file itself has all.")
    if any(_filled(row[COLUMNS:]) for row in kept):
        _note(notes, f"Of wider tables only the first {COLUMNS} columns are in it; the file itself has all.")


def cell(value: object) -> str:
    """A value as the text of a cell, in one line."""
    text = " ".join(_plain(value).split())
    if len(text) > CELL:
        text = f"{text[:CELL]}…"
    return text.replace("|", "\\|")


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


def _filled(row: Row) -> bool:
    return any(value is not None and value != "" for value in row)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _note(notes: list[str], note: str) -> None:
    if note not in notes:
        notes.append(note)
