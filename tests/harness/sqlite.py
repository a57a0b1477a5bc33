"""What the service has written down, read beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

OPEN = "SELECT count(*) FROM turns WHERE state IN ('accepted', 'running', 'waiting', 'delivering')"


def _one(home: Path, query: str, *values: object) -> int:
    """The number that a query gives, 0 before there is a database."""
    file = home / "bot.db"
    if not file.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5.0)) as database:
            row = database.execute(query, values).fetchone()
    except sqlite3.OperationalError:  # the tables are being made
        return 0
    return int(row[0]) if row else 0


def turns(home: Path) -> int:
    """How many turns there were."""
    return _one(home, "SELECT count(*) FROM turns")


def open_turns(home: Path) -> int:
    """How many turns are not closed."""
    return _one(home, OPEN)


def counted(home: Path, name: str) -> int:
    """A counter that the service keeps, over all accounts."""
    return _one(home, "SELECT sum(value) FROM counters WHERE name = ?", name)
