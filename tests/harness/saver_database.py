"""Databases of each kind for a checkpoint saver."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from agent.runtime.run_saver import RunSaver
from agent.runtime.saver import RuntimeSaver


@dataclass(frozen=True)
class SaverDatabase:
    """A database for a checkpoint saver, empty at first."""

    url: str | None
    path: Path
    open: Callable[[], AbstractAsyncContextManager[RunSaver]]
    """Opens a saver on it."""

    @contextmanager
    def refusing(self) -> Iterator[type[Exception]]:
        """Refuse checkpoints for the time of the block. Yield the error that `aput` raises then."""
        if self.url is None:
            yield self._execute_on_sqlite("ALTER TABLE checkpoints RENAME TO away")
            self._execute_on_sqlite("ALTER TABLE away RENAME TO checkpoints")
            return
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as admin:
            admin.execute("ALTER TABLE checkpoints RENAME TO away")
            yield psycopg.errors.UndefinedTable
            admin.execute("ALTER TABLE away RENAME TO checkpoints")

    def _execute_on_sqlite(self, statement: str) -> type[Exception]:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute(statement)
        return sqlite3.OperationalError

    def read_all(self) -> dict[str, list[Any]]:
        """Everything that is stored, by table."""
        if self.url is None:
            with closing(sqlite3.connect(self.path)) as connection:
                return {
                    table: sorted(connection.execute(f"SELECT * FROM {table}"))
                    for table in ("checkpoints", "writes")
                }
        import psycopg

        with psycopg.connect(self.url) as admin:
            return {
                table: admin.execute(f"SELECT * FROM {table} AS one ORDER BY one").fetchall()
                for table in ("checkpoint_blobs", "checkpoint_writes", "checkpoints")
            }


def saver_on_sqlite(path: Path) -> SaverDatabase:
    """A file that does not exist yet."""
    return SaverDatabase(None, path, partial(RuntimeSaver.open, path))


def saver_on_postgres(url: str) -> SaverDatabase:
    """An empty PostgreSQL database."""
    from agent.runtime.postgres_saver import PostgresRuntimeSaver

    return SaverDatabase(url, Path(), partial(PostgresRuntimeSaver.open, url))
