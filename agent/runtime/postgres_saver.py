"""Checkpoint saver on PostgreSQL: langgraph's tables and queries, with own statements for every write.

langgraph's saver holds one lock around each statement and writes a checkpoint in several of them. Here each
write is one statement, or one transaction, on a connection of its own. Nothing depends on a session, so that
pgbouncer may hand each transaction to another connection.

Values are stored apart from the checkpoints that share them, by the version of their channel. The random part
of langgraph's versions therefore tells branches apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import groupby
from typing import Any, Final, TypeVar, cast

import orjson
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointTuple, DeltaChannelHistory
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg import AsyncCursor
from psycopg.errors import DivisionByZero
from psycopg.rows import DictRow, dict_row, tuple_row

from agent.runtime.exact_integers import LARGEST, SMALLEST
from agent.runtime.faults import Faults
from agent.runtime.run_saver import (
    SMALL_BYTES,
    RunSaver,
    WriteRow,
    advance_ids,
    clean_filter,
    compressing_serde,
)
from agent.runtime.store.leases import Lease, LeaseLost
from agent.runtime.store.postgres_pool import ConnectionPool
from agent.runtime.store.retries import WriteRetries
from agent.shared.postgres_url import END_IF_IDLE

SETUP_LOCK: Final = 7_310_468_257_004_113
"""Key of the advisory lock under which one process at a time creates the tables."""
Statement = tuple[str, Sequence[Any]]
T = TypeVar("T")

_SELECT: Final = """
    SELECT thread_id, checkpoint, checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata,
    (
        SELECT array_agg(ARRAY[convert_to(key, 'UTF8'), type::bytea, blob])
        FROM jsonb_each_text(checkpoint -> 'channel_versions') CROSS JOIN LATERAL (
            SELECT type, blob FROM checkpoint_blobs b
            WHERE (b.thread_id, b.checkpoint_ns) = (checkpoints.thread_id, checkpoints.checkpoint_ns)
            AND (b.channel, b.version) = (key, value) LIMIT 1
        ) AS found
    ) AS channel_values,
    (
        SELECT array_agg(ARRAY[
            task_id::bytea, convert_to(channel, 'UTF8'), w.type::bytea, blob,
            convert_to(task_path, 'UTF8'), idx::text::bytea
        ])
        FROM checkpoint_writes w
        WHERE (w.thread_id, w.checkpoint_ns) = (checkpoints.thread_id, checkpoints.checkpoint_ns)
        AND w.checkpoint_id = checkpoints.checkpoint_id
    ) AS pending_writes
    FROM checkpoints """
"""langgraph's query, except that values are looked up one by one: PostgreSQL would read all those of the
thread. Casts of text to bytes take backslashes for escapes.
"""
_FREE: Final = "WITH fence AS MATERIALIZED (SELECT 1)"
_HELD: Final = (
    "WITH fence AS MATERIALIZED ("
    "SELECT 1 / (1 - count(*)) FROM (SELECT owner, fence FROM runs WHERE run_id = %s FOR SHARE) AS run "
    "WHERE owner <> %s OR fence <> %s)"
)
"""Fails if another process executes the run, with an error that undoes the statement. Until the commit, no
process takes the run over.
"""
_CHECK: Final = f"{_HELD} SELECT 1 FROM fence"  # noqa: S608 - constants
_INSERT: Final = """
    INSERT INTO checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    SELECT %s, %s, %s, %s, %s::jsonb, %s::jsonb FROM fence
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET
        parent_checkpoint_id = EXCLUDED.parent_checkpoint_id,
        checkpoint = EXCLUDED.checkpoint,
        metadata = EXCLUDED.metadata
"""
_PUT: Final = f"{_FREE} {_INSERT}"
_PUT_WITH_BLOBS: Final = f"""
    {_FREE}, blobs AS (
        INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
        SELECT %s, %s, one.*
        FROM unnest(%s::text[], %s::text[], %s::text[], %s::bytea[]) AS one
        ON CONFLICT DO NOTHING
    ) {_INSERT}
"""  # noqa: S608
_INSERT_WRITES: Final = f"""
    {_FREE} INSERT INTO checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %s, %s, %s, %s, %s, one.*
    FROM unnest(%s::int[], %s::text[], %s::text[], %s::bytea[]) AS one, fence
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
"""  # noqa: S608
_ADD_WRITES: Final = f"{_INSERT_WRITES} DO NOTHING"
_REPLACE_WRITES: Final = f"""{_INSERT_WRITES} DO UPDATE SET
    task_path = EXCLUDED.task_path, channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob
"""
_SELECT_OF_RUN: Final = (
    "SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' AND metadata ->> 'run_id' = ? "
    "LIMIT 1"
)
_SELECT_WRITES: Final = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob "
    "FROM checkpoint_writes WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
)
_DELETE_WRITES: Final = (
    "DELETE FROM checkpoint_writes WHERE thread_id = %s AND checkpoint_ns = '' AND checkpoint_id = %s"
)
_DELETE_RUN: Final = "DELETE FROM checkpoints WHERE thread_id = %s AND metadata ->> 'run_id' = %s"
_THREADS_OF_RUNS: Final = "SELECT DISTINCT thread_id FROM checkpoints WHERE metadata ->> 'run_id' = ANY(?)"
_DELETE_FOR_RUNS: Final = (
    "DELETE FROM checkpoint_writes w USING checkpoints c WHERE c.metadata ->> 'run_id' = ANY(%s) "
    "AND (w.thread_id, w.checkpoint_ns, w.checkpoint_id) = (c.thread_id, c.checkpoint_ns, c.checkpoint_id)",
    "DELETE FROM checkpoints WHERE metadata ->> 'run_id' = ANY(%s)",
)
_OLDER: Final = "thread_id = %s AND checkpoint_ns = %s AND checkpoint_id < %s AND checkpoint_id <> ALL(%s)"
_DELETE_OLDER: Final = (
    f"DELETE FROM checkpoint_writes WHERE {_OLDER}",  # noqa: S608
    f"DELETE FROM checkpoints WHERE {_OLDER}",  # noqa: S608
)
_DELETE_STRAY_WRITES: Final = """
    DELETE FROM checkpoint_writes WHERE ctid = ANY(ARRAY(
        SELECT unnest(array_agg(place)) FROM (
            SELECT checkpoint_ns, checkpoint_id, ctid AS place FROM checkpoint_writes WHERE thread_id = %s
            UNION ALL
            SELECT checkpoint_ns, checkpoint_id, NULL FROM checkpoints WHERE thread_id = %s
        ) AS every GROUP BY checkpoint_ns, checkpoint_id HAVING count(*) = count(place)
    ))
"""
"""Delete writes without a checkpoint: those of a rolled back run, which may have been cancelled before it
stored their checkpoint. Another run's checkpoint may still be on its way.
"""
_DELETE_UNUSED_BLOBS: Final = """
    DELETE FROM checkpoint_blobs WHERE ctid = ANY(ARRAY(
        SELECT min(place) FROM (
            SELECT checkpoint_ns, channel, version, ctid AS place FROM checkpoint_blobs WHERE thread_id = %s
            UNION ALL
            SELECT checkpoint_ns, key, value, NULL
            FROM checkpoints CROSS JOIN LATERAL jsonb_each_text(checkpoint -> 'channel_versions')
            WHERE thread_id = %s
        ) AS every GROUP BY checkpoint_ns, channel, version HAVING count(*) = count(place)
    ))
"""
"""Delete values of no checkpoint.

Grouped instead of joined: of a thread that grew since the last ANALYZE, PostgreSQL expects one row and joins
in quadratic time.
"""
_DELETE_THREAD: Final = (
    "DELETE FROM checkpoints WHERE thread_id = %s",
    "DELETE FROM checkpoint_blobs WHERE thread_id = %s",
    "DELETE FROM checkpoint_writes WHERE thread_id = %s",
)
_COPY: Final = (
    "INSERT INTO checkpoints "
    "(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) "
    "SELECT %s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata "
    "FROM checkpoints WHERE thread_id = %s",
    "INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) "
    "SELECT %s, checkpoint_ns, channel, version, type, blob FROM checkpoint_blobs WHERE thread_id = %s",
    "INSERT INTO checkpoint_writes "
    "(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob) "
    "SELECT %s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob "
    "FROM checkpoint_writes WHERE thread_id = %s",
)


class PostgresRuntimeSaver(RunSaver, AsyncPostgresSaver):
    """langgraph's `AsyncPostgresSaver` for concurrent runs, with compression and rollback.

    While the database can't be reached, reads and writes wait for it, so that runs continue afterwards. All
    writes can be repeated, because a lost connection may hide that one was committed.
    """

    SELECT_SQL = _SELECT

    def __init__(
        self, pool: ConnectionPool, *, serde: SerializerProtocol | None = None, faults: Faults | None = None
    ) -> None:
        super().__init__(cast(Any, pool), serde=compressing_serde(serde))
        self._pool = pool
        self._retries = WriteRetries(asyncio.sleep)
        self._prepare(faults)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, url: str, *, serde: SerializerProtocol | None = None, faults: Faults | None = None
    ) -> AsyncIterator[PostgresRuntimeSaver]:
        """Open the saver on this database and create or update its tables."""
        saver = cls(ConnectionPool(url), serde=serde, faults=faults)
        try:
            await saver.setup()
            yield saver
        finally:
            await saver._pool.close()

    async def setup(self) -> None:
        """Create or update the tables, in one transaction under a lock for all processes.

        langgraph's own `setup` builds indexes concurrently, which waits for the transactions of other
        processes that wait for it. The versions it records are kept up.
        """
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [SETUP_LOCK])
            cursor = connection.cursor(row_factory=tuple_row)
            version = -1
            if await _fetch_value(cursor, "SELECT to_regclass('checkpoint_migrations')") is not None:
                version = await _fetch_value(cursor, "SELECT coalesce(max(v), -1) FROM checkpoint_migrations")
            for number, migration in enumerate(self.MIGRATIONS[version + 1 :], version + 1):
                await cursor.execute(migration.replace(" CONCURRENTLY", ""))
                await cursor.execute("INSERT INTO checkpoint_migrations (v) VALUES (%s)", [number])

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        read = partial(super().aget_tuple, config)
        found = None if _names_nothing(config) else await self._retries.repeat(read)
        if found is not None:
            advance_ids(found.checkpoint["id"])
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the matching checkpoints, latest first."""
        if _names_nothing(config) or _names_nothing(before):
            return
        list_all = partial(super().alist, config, filter=clean_filter(filter), before=before, limit=limit)

        async def read() -> list[CheckpointTuple]:
            return [one async for one in list_all()]

        # All are read first, so that no connection is held while the caller does something else.
        for one in await self._retries.repeat(read):
            yield one

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        read = partial(super().aget_delta_channel_history, config=config, channels=channels)
        return await self._retries.repeat(read)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread."""
        await self._write(*((statement, [str(thread_id)]) for statement in _DELETE_THREAD))

    async def _store_checkpoint(
        self, place: dict[str, Any], checkpoint: Checkpoint, facts: str, new_versions: ChannelVersions
    ) -> None:
        values = checkpoint["channel_values"]
        plain = {name: value for name, value in values.items() if _is_plain(value)}
        blobs = [
            (name, str(new_versions[name]), *self.serde.dumps_typed(value))
            for name, value in values.items()
            if name not in plain and name in new_versions
        ]
        thread = str(place["thread_id"]), place["checkpoint_ns"]
        body = orjson.dumps({**checkpoint, "channel_values": plain}).decode()
        row = (*thread, checkpoint["id"], place.get("checkpoint_id"), body, facts)
        put = (_PUT_WITH_BLOBS, (*thread, *_columns(blobs), *row)) if blobs else (_PUT, row)
        await self._write(put, run_id=str(place.get("run_id", "")))

    async def _store_writes(self, rows: Sequence[WriteRow], run_id: str, *, can_replace: bool) -> None:
        if can_replace:
            # A statement may replace a row only once.
            rows = [*{row[:6]: row for row in rows}.values()]
        if rows:
            put = _REPLACE_WRITES if can_replace else _ADD_WRITES
            await self._write(*_insert_writes(rows, put), run_id=run_id)

    async def has_checkpoint_of(self, thread_id: str, run_id: str) -> bool:
        return bool(await self._fetch_rows(_SELECT_OF_RUN, (thread_id, run_id)))

    async def pending_writes(self, thread_id: str, checkpoint_id: str) -> list[WriteRow]:
        return await self._fetch_rows(_SELECT_WRITES, (thread_id, checkpoint_id))

    async def roll_back_run(
        self, thread_id: str, run_id: str, base: str | None, writes: Sequence[WriteRow] | None
    ) -> None:
        statements: list[Statement] = [
            (_DELETE_RUN, (thread_id, run_id)),
            (_DELETE_STRAY_WRITES, (thread_id, thread_id)),
            (_DELETE_UNUSED_BLOBS, (thread_id, thread_id)),
        ]
        if base is not None and writes is not None:
            statements += (_DELETE_WRITES, (thread_id, base)), *_insert_writes(writes, _ADD_WRITES)
        await self._write(*statements, run_id=run_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        places = (target_thread_id, source_thread_id)
        deletions: list[Statement] = [(statement, [target_thread_id]) for statement in _DELETE_THREAD]
        await self._write(*deletions, *((statement, places) for statement in _COPY))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        threads = [row[0] for row in await self._fetch_rows(_THREADS_OF_RUNS, ([*run_ids],))]
        deletions = [(query, ([*run_ids],)) for query in _DELETE_FOR_RUNS]
        await self._write(*deletions, *((_DELETE_UNUSED_BLOBS, (thread, thread)) for thread in threads))

    async def _delete_older(self, thread_id: str, namespace: str, latest: str, needed: Sequence[str]) -> None:
        older = (thread_id, namespace, latest, [*needed])
        deletions = ((query, older) for query in _DELETE_OLDER)
        await self._write(*deletions, (_DELETE_UNUSED_BLOBS, (thread_id, thread_id)))

    async def _write(self, *statements: Statement, run_id: str = "") -> None:
        """Execute the statements in one transaction; all writes go through here.

        Raises `LeaseLost` if they belong to a run that another process has taken over.
        """
        if (lease := self._leases.get(run_id)) is not None:
            statements = (*_hold(lease, statements),)
        try:
            await self._retries.repeat(lambda: _finish(self._execute(*statements)))
        except DivisionByZero as error:
            raise LeaseLost(run_id) from error

    async def _execute(self, *statements: Statement) -> None:
        async with self._pool.connection() as connection:
            if len(statements) == 1:
                await connection.execute(*statements[0])
                return
            async with connection.transaction():
                await connection.execute(END_IF_IDLE)
                for statement, values in statements:
                    await connection.execute(statement, values)

    async def _fetch_rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        return await self._retries.repeat(partial(self._fetch_once, query.replace("?", "%s"), values))

    async def _fetch_once(self, query: str, values: Sequence[Any]) -> list[Any]:
        async with (
            self._pool.connection() as connection,
            connection.cursor(binary=True, row_factory=tuple_row) as cursor,
        ):
            return await (await cursor.execute(query, values)).fetchall()

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Open a cursor for langgraph's own queries, without its lock."""
        async with (
            self._pool.connection() as connection,
            connection.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            yield cursor


async def _fetch_value(cursor: AsyncCursor[tuple[Any, ...]], query: str) -> Any:
    row = await (await cursor.execute(query)).fetchone()
    return row and row[0]


async def _finish(write: Awaitable[T]) -> T:
    """Let a write end before its caller is cancelled: `end_run` waits for it, and a rollback comes after."""
    task = asyncio.ensure_future(write)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # marks it as seen
        raise


def _is_plain(value: Any) -> bool:
    """Return whether JSON in PostgreSQL keeps a value as it is. It has neither NUL nor negative zero, turns
    large floats into integers, and is not compressed.
    """
    if type(value) is str:
        return len(value) <= SMALL_BYTES and value.isprintable()
    return value is None or type(value) is bool or (type(value) is int and SMALLEST <= value <= LARGEST)


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _hold(lease: Lease, statements: Sequence[Statement]) -> Sequence[Statement]:
    """Return the statements for a transaction that fails unless the process holds the lease."""
    held = (lease.run_id, lease.owner, lease.fence)
    query, values = statements[0]
    if _FREE in query:
        return [(query.replace(_FREE, _HELD, 1), (*held, *values)), *statements[1:]]
    return [(_CHECK, held), *statements]


def _insert_writes(rows: Sequence[WriteRow], query: str) -> Iterator[Statement]:
    for task, group in groupby(rows, key=lambda row: row[:5]):
        yield query, (*task, *_columns([row[5:] for row in group]))


def _names_nothing(config: RunnableConfig | None) -> bool:
    """Return whether the place contains NUL, which no stored place does; PostgreSQL refuses to compare it."""
    place = config["configurable"] if config else {}
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return any("\0" in str(place.get(name, "")) for name in names)
