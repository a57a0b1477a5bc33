"""Purging of deleted content from the files of an SQLite database. Blocking."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

LARGEST_REWRITE = 1_000_000_000
"""Databases of more bytes are not rewritten, since all writers would have to wait for it."""
WRITER_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Compaction:
    """Result of a compaction. `rewritten`: the database contains no freed space; `log_emptied`: its
    write-ahead log is empty.
    """

    rewritten: bool
    log_emptied: bool


def compact_database(path: Path) -> Compaction:
    """Rewrite a database and truncate its write-ahead log.

    SQLite's `secure_delete` overwrites deleted rows, but pages can hold older copies of rows that were moved
    to other pages, so only a rewritten file is free of them. Another connection may prevent either. Raises
    `sqlite3.Error` for a damaged database.
    """
    with closing(sqlite3.connect(path, timeout=WRITER_SECONDS, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete=ON")
        rewritten = path.stat().st_size <= LARGEST_REWRITE and _rewrite(connection)
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return Compaction(rewritten, not busy)


def _rewrite(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL):
            return False
        raise
    return True
