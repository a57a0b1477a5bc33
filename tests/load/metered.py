"""A database that counts what its transactions cost."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from bot.store.connection import Connection, SqliteConnection
from bot.store.database import SqliteDatabase

P = ParamSpec("P")
T = TypeVar("T")


class MeteredDatabase:
    """See `bot.store.database.Database`.

    `statements` and `steps` (of SQLite's machine, so every row that a statement visits counts) grow while
    `counting`; `seconds` is the time spent in transactions. `asked` and `open` say how many were begun and
    how many go on.
    """

    def __init__(self, inner: SqliteDatabase) -> None:
        self.inner = inner
        self.statements = 0
        self.steps = 0
        self.seconds = 0.0
        self.counting = False
        self.asked = 0
        self.open = 0

    async def transact(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """See Database."""
        began = time.perf_counter()
        self.asked += 1
        self.open += 1
        try:
            return await self.inner.transact(work, *args, **kwargs)
        finally:
            self.open -= 1
            self.seconds += time.perf_counter() - began

    async def close(self) -> None:
        """See Database."""
        await self.inner.close()

    async def count_steps(self, on: bool) -> None:
        """Count steps and statements from now on, or no more."""
        self.counting = on
        await self.inner.transact(lambda at: _raw(at).set_progress_handler(self._step if on else None, 1))
        await self.inner.transact(lambda at: _raw(at).set_trace_callback(self._executed if on else None))

    async def keep_log(self) -> int:
        """Let the WAL grow from now on; its size in bytes."""
        await self.inner.transact(lambda at: _raw(at).execute("PRAGMA wal_autocheckpoint=0"))
        return self.log_size()

    def log_size(self) -> int:
        """The size of the WAL in bytes."""
        return self.inner.path.with_name(self.inner.path.name + "-wal").stat().st_size

    def _executed(self, _statement: str) -> None:
        self.statements += self.counting

    def _step(self) -> int:
        self.steps += 1
        return 0


def _raw(connection: Connection) -> sqlite3.Connection:
    assert isinstance(connection, SqliteConnection)
    return connection.raw
