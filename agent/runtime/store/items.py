"""The item store: langgraph's SQLite store in `agent.db`, next to the runtime's own writer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.store.base import SearchOp
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agent.runtime.store.database import PRAGMAS
from agent.runtime.store.item_filter import find_filter_problem, matches_json

_MATCHES = "$matches"
"""Our operator for a whole filter, in place of the library's operators for single fields."""


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
            await connection.create_function("item_matches", 2, matches_json, deterministic=True)
            store = cls(connection)
            await store.setup()
            yield store

    def _prepare_batch_search_queries(self, search_ops: Sequence[tuple[int, SearchOp]]) -> Any:
        """Build the queries. Raises ValueError for an unknown filter."""
        for _, search in search_ops:
            if problem := find_filter_problem(search.filter or {}):
                raise ValueError(problem)
        whole = [
            (at, one._replace(filter={"value": {_MATCHES: json.dumps(one.filter)}} if one.filter else None))
            for at, one in search_ops
        ]
        return super()._prepare_batch_search_queries(whole)

    def _get_filter_condition(self, key: str, op: str, value: Any) -> tuple[str, list[Any]]:
        return f"item_matches({key}, ?)", [value]

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
