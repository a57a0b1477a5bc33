"""Errors of SQLite that come from its file or from other programs, not from the statement."""

from __future__ import annotations

import sqlite3
from typing import Final

_PRIMARY_CODE: Final = 0xFF
_TEMPORARY: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_READONLY,
    }
)


def is_temporary(code: int) -> bool:
    """Return whether the same work may succeed later, by the (extended) result code."""
    return code & _PRIMARY_CODE in _TEMPORARY
