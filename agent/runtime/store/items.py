"""The item store: langgraph's SQLite store in `agent.db`, next to the runtime's own writer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agent.runtime.store.database import PRAGMAS


class ItemStore(AsyncSqliteStore):
    """`AsyncSqliteStore` whose transactions wait for other writers.

    The library reads and then writes in one transaction. If another connection commits in between, SQLite
    refuses the write at once ("database is locked") without regard to the busy timeout.
    """

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[ItemStore]:
        """Open the store in this database (WAL, synchronous=NORMAL)."""
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
