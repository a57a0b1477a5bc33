"""Check that the database has the data that an installation has stored so far."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from agent.shared.table_copy import find_missing_copy
from bot.config.models import Config


def find_copy_problem(connection: Connection, config: Config, home: Path) -> str | None:
    """Return why a service must not start on this database, or None.

    It may be an unfinished copy, or have no data while the SQLite files in `home` have some.
    """
    if config.database.url is None:
        return find_missing_copy(connection, "bot", "turns", None)
    problem = find_missing_copy(connection, "bot", "turns", home / "bot.db")
    if problem is None and config.runtime.url is None:
        problem = find_missing_copy(connection, "agent", "threads", home / "agent.db")
    return problem
