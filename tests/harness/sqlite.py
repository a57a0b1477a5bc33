"""What the service has written down, read beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

CLOSED = "SELECT i.text FROM inbound i JOIN turns t ON t.id = i.turn_id WHERE t.finished_at > 0"
OPEN = "SELECT count(*) FROM turns WHERE state IN ('accepted', 'running', 'waiting', 'delivering')"


def _rows(home: Path, query: str, *values: object) -> list[tuple[object, ...]]:
    """What a query gives, nothing before there is a database."""
    file = home / "bot.db"
    if not file.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5.0)) as database:
            return database.execute(query, values).fetchall()
    except sqlite3.OperationalError:  # the tables are being made
        return []


def _one(home: Path, query: str, *values: object) -> int:
    """The number that a query gives, 0 before there is a database."""
    rows = _rows(home, query, *values)
    return int(str(rows[0][0] or 0)) if rows else 0


def turns(home: Path) -> int:
    """How many turns there were."""
    return _one(home, "SELECT count(*) FROM turns")


def open_turns(home: Path) -> int:
    """How many turns are not closed."""
    return _one(home, OPEN)


def closed_texts(home: Path) -> set[str]:
    """The messages whose turns are closed."""
    return {str(text) for (text,) in _rows(home, CLOSED)}


def counted(home: Path, name: str) -> int:
    """A counter that the service keeps, over all accounts."""
    return _one(home, "SELECT sum(value) FROM counters WHERE name = ?", name)


def kinds_of(home: Path, word: str) -> set[str]:
    """The kinds of the turns of messages that hold a word."""
    query = "SELECT t.kind FROM inbound i JOIN turns t ON t.id = i.turn_id WHERE instr(i.text, ?)"
    return {str(kind) for (kind,) in _rows(home, query, word)}
