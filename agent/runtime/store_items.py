"""The store of items: langgraph's SQLite store, beside the runtime's own writer on the same database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agent.runtime.pragmas import PRAGMAS


class ItemStore(AsyncSqliteStore):
    """`AsyncSqliteStore` whose transactions wait for other writers.

    The library reads first and writes then, in one transaction; where another connection commits in between,
    SQLite refuses the write at once ("database is locked") however long it may wait.
    """

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[ItemStore]:
        """The store in this database (WAL, synchronous=NORMAL)."""
        async with aiosqlite.connect(path, isolation_level=None) as connection:
            for pragma in PRAGMAS:
                await connection.execute(f"PRAGMA {pragma}")
            store = cls(connection)
            await store.setup()
            yield store

    @asynccontextmanager
    async def _cursor(self, *, transaction: bool = True) -> AsyncIterator[aiosqlite.Cursor]:
        async with self.lock:
            if transaction:
                await self.conn.execute("BEGIN IMMEDIATE")
            try:
                async with self.conn.cursor() as cursor:
                    yield cursor
            except BaseException:
                if transaction:
                    await self.conn.rollback()
                raise
            if transaction:
                await self.conn.commit()
