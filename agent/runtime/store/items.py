"""The item store: langgraph's store in the runtime's database, next to the runtime's own writer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite
from langgraph.store.base import InvalidNamespaceError, Op, PutOp, Result, SearchOp
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agent.runtime.store.engines import PRAGMAS
from agent.runtime.store.item_filter import find_filter_problem, matches_json

_MATCHES = "$matches"
"""Internal operator for a whole filter; the library's operators compare single fields."""


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

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations. Raises ValueError for an invalid filter."""
        return await super().abatch([prepare_operation(op) for op in ops])

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


def prepare_operation(op: Op) -> Op:
    """Return the operation as a store of either database runs it.

    PostgreSQL stores no NUL character, so it becomes U+FFFD in values and is refused in keys. Raises
    `ValueError` for an invalid filter, `InvalidNamespaceError` for an invalid key or namespace.
    """
    labels = (getattr(op, "key", ""), *getattr(op, "namespace", ()), *getattr(op, "namespace_prefix", ()))
    if any("\0" in label for label in labels):
        raise InvalidNamespaceError("A key or namespace can't contain a NUL character.")
    if isinstance(op, PutOp):
        return op._replace(value=_without_nul(op.value))
    if not isinstance(op, SearchOp) or not op.filter:
        return op
    if problem := find_filter_problem(op.filter):
        raise ValueError(problem)
    return op._replace(filter={"value": {_MATCHES: json.dumps(_without_nul(op.filter))}})


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, Mapping):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    return [_without_nul(item) for item in value] if isinstance(value, list | tuple) else value
