"""The item store on PostgreSQL: langgraph's store, with the filters of `item_filter` as SQL."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from langgraph.store.base import Op, Result
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncCursor
from psycopg.rows import DictRow, dict_row

from agent.runtime.store.engines import MIGRATION_LOCK
from agent.runtime.store.items import prepare_operation
from agent.runtime.store.postgres_pool import ConnectionPool
from agent.runtime.store.retries import WriteRetries

Condition = tuple[str, list[Any]]
"""SQL that is true or false, never NULL, and its parameters."""
CONNECTIONS = 4
_COMPARISONS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class PostgresItemStore(AsyncPostgresStore):
    """`AsyncPostgresStore` whose batches are transactions."""

    _retries: WriteRetries

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str) -> AsyncIterator[PostgresItemStore]:
        """Open the store in this database."""
        pool = ConnectionPool(url, CONNECTIONS)
        store = cls(cast(Any, pool))
        store._retries = WriteRetries(asyncio.sleep)
        try:
            await store.setup()
            yield store
        finally:
            await pool.close()

    async def setup(self) -> None:
        """Create or change the tables, one process at a time."""
        async with self._cursor() as cursor:
            await cursor.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
            await cursor.execute("CREATE TABLE IF NOT EXISTS store_migrations (v INTEGER PRIMARY KEY)")
            await cursor.execute("SELECT coalesce(max(v), -1) + 1 AS next FROM store_migrations")
            row = await cursor.fetchone()
            assert row is not None
            for number in range(row["next"], len(self.MIGRATIONS)):
                # An index can't be built concurrently in a transaction, and these tables are new.
                await cursor.execute(self.MIGRATIONS[number].replace("CONCURRENTLY", ""))
                await cursor.execute("INSERT INTO store_migrations (v) VALUES (%s)", (number,))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run the operations, once the database can be reached. Raises ValueError for an invalid filter."""
        prepared = [prepare_operation(op) for op in ops]
        return await self._retries.repeat(partial(super().abatch, prepared))

    def _get_filter_condition(self, key: str, op: str, value: Any) -> tuple[str, list[Any]]:
        return _matches_fields("store.value", [], json.loads(value))

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        pool: Any = self.conn
        async with (
            pool.connection() as connection,
            connection.transaction(),
            connection.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            yield cursor


def _matches_fields(found: str, path: list[str], wanted: Mapping[str, Any]) -> Condition:
    """Return the condition for the object `found`, which `path` leads to."""
    return _join([_matches(f"{found}->%s", [*path, name], one) for name, one in wanted.items()])


def _matches(found: str, path: list[str], wanted: Any) -> Condition:
    if not isinstance(wanted, Mapping):
        return _compare("$eq", found, path, wanted)
    if any(key.startswith("$") for key in wanted):
        return _join([_compare(name, found, path, operand) for name, operand in wanted.items()])
    is_object = f"coalesce(jsonb_typeof({found}), '') = 'object'", path
    return _join([is_object, _matches_fields(found, path, wanted)])


def _compare(name: str, found: str, path: list[str], operand: Any) -> Condition:
    written = json.dumps(operand)
    if name == "$eq":
        return f"coalesce({found}, 'null') = %s::jsonb", [*path, written]
    if name == "$ne":
        return f"coalesce({found} <> %s::jsonb, false)", [*path, written]
    kind, sign = "string" if isinstance(operand, str) else "number", _COMPARISONS[name]
    has_kind = f"coalesce(jsonb_typeof({found}), '') = '{kind}'"
    if kind == "string":
        # By code points, as in Python.
        compare = f"({found}) #>> '{{}}' COLLATE \"C\" {sign} %s"
        return f"({has_kind} AND {compare})", [*path, *path, operand]
    return f"({has_kind} AND {found} {sign} %s::jsonb)", [*path, *path, written]


def _join(conditions: list[Condition]) -> Condition:
    texts, values = [text for text, _ in conditions], [one for _, some in conditions for one in some]
    return f"({' AND '.join(texts) or 'true'})", values
