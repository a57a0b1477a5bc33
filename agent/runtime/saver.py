"""Checkpoint saver on SQLite: langgraph's saver, with compression, copying and rollback.

A checkpoint consists mostly of the versions of its channels, which compress to a quarter or less.

Of 300 turns with 4 checkpoints each, 2.6 instead of 4.9 MB are stored, and with everything but summaries (7
per turn) 4.8 instead of 11.5 MB. The random part of langgraph's versions is omitted: it tells
branches apart only where values are stored separately from the checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver

from agent.runtime.faults import Faults
from agent.runtime.run_saver import RunSaver, WriteRow, advance_ids, clean_filter, compressing_serde
from agent.runtime.store.database import DatabaseThread
from agent.runtime.store.engines import PRAGMAS, open_transaction

_RUN_ID = "json_extract(CAST(metadata AS TEXT), '$.run_id')"
_SELECT_OF_RUN = (
    f"SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' AND {_RUN_ID} = ? LIMIT 1"  # noqa: S608
)
_SELECT_WRITES = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value "
    "FROM writes WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
)
_DELETE_WRITES = "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
_INSERT_WRITES = (
    "INTO writes "
    "(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_CHECKPOINT = (
    "INSERT OR REPLACE INTO checkpoints "
    "(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_DELETE_RUN = f"DELETE FROM checkpoints WHERE thread_id = ? AND {_RUN_ID} = ?"  # noqa: S608
_DELETE_STRAY_WRITES = (
    "DELETE FROM writes WHERE thread_id = ? AND (checkpoint_ns, checkpoint_id) NOT IN "
    "(SELECT checkpoint_ns, checkpoint_id FROM checkpoints WHERE thread_id = ?)"
)
"""A run that is cancelled may have stored writes of a checkpoint that was not stored."""
_DELETE_FOR_RUNS = (
    "DELETE FROM writes WHERE (thread_id, checkpoint_ns, checkpoint_id) IN "  # noqa: S608
    "(SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints "
    f"WHERE {_RUN_ID} IN (SELECT value FROM json_each(?)))",
    f"DELETE FROM checkpoints WHERE {_RUN_ID} IN (SELECT value FROM json_each(?))",  # noqa: S608
)
_DELETE_OLDER = tuple(
    f"DELETE FROM {table} WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id < ? "  # noqa: S608
    "AND checkpoint_id NOT IN (SELECT value FROM json_each(?))"
    for table in ("writes", "checkpoints")
)
_COPY = (
    "INSERT INTO checkpoints "
    "(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata) "
    "SELECT ?, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, "
    "metadata FROM checkpoints WHERE thread_id = ?"
)
_COPY_WRITES = (
    "INSERT INTO writes "
    "(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value) "
    "SELECT ?, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value "
    "FROM writes WHERE thread_id = ?"
)


class RuntimeSaver(RunSaver, SqliteSaver):
    """`SqliteSaver` with compressed checkpoints.

    langgraph's asynchronous saver takes four steps of a thread for each write; here a write is one job, and
    those of several runs share a commit.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        serde: SerializerProtocol | None = None,
        faults: Faults | None = None,
    ) -> None:
        super().__init__(conn, serde=compressing_serde(serde))
        self.lock: Any = threading.RLock()
        self._thread = DatabaseThread(lambda: conn, name="agent-checkpoints", lock=self.lock)
        self._prepare(faults)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path, *, serde: SerializerProtocol | None = None, faults: Faults | None = None
    ) -> AsyncIterator[RuntimeSaver]:
        """Open the saver on this database (WAL, synchronous=NORMAL)."""
        saver = cls(await asyncio.to_thread(_connect, path), serde=serde, faults=faults)
        await asyncio.to_thread(saver.setup)
        await saver._thread.open()
        try:
            yield saver
        finally:
            await saver._thread.close()

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Open a cursor for the synchronous methods, within the transaction of a job if one is open."""
        with self.lock, closing(self.conn.cursor()) as cursor:
            if transaction and not self.conn.in_transaction:
                with open_transaction(self.conn):
                    yield cursor
            else:
                yield cursor

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = await self._thread.run(lambda _: self.get_tuple(config))
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
        wanted = clean_filter(filter)
        found = await self._thread.run(
            lambda _: [*self.list(config, filter=wanted, before=before, limit=limit)]
        )
        for one in found:
            yield one

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the history from which channels that are stored as differences are computed."""
        return await self._thread.run(
            lambda _: self.get_delta_channel_history(config=config, channels=channels)
        )

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints and writes of a thread."""
        await self._thread.run(lambda _: self.delete_thread(thread_id))

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Return the next version of a channel.

        It lacks langgraph's random part, which distinguishes branches if values are stored separately; here
        each checkpoint holds its own values.
        """
        return super().get_next_version(current, channel).partition(".")[0]

    async def _store_checkpoint(
        self, place: dict[str, Any], checkpoint: Checkpoint, facts: str, _new_versions: ChannelVersions
    ) -> None:
        # Encode here: until the thread runs the job, the graph could change the state.
        kind, body = self.serde.dumps_typed(checkpoint)
        row = (
            *(str(place["thread_id"]), place["checkpoint_ns"], checkpoint["id"], place.get("checkpoint_id")),
            *(kind, body, facts.encode()),
        )
        await self._execute((_INSERT_CHECKPOINT, row))

    async def _store_writes(self, rows: Sequence[WriteRow], run_id: str, *, can_replace: bool) -> None:
        statement = f"INSERT OR {'REPLACE' if can_replace else 'IGNORE'} {_INSERT_WRITES}"
        await self._execute(*((statement, row) for row in rows))

    async def has_checkpoint_of(self, thread_id: str, run_id: str) -> bool:
        rows = await self._fetch_rows(_SELECT_OF_RUN, (thread_id, run_id))
        return bool(rows)

    async def pending_writes(self, thread_id: str, checkpoint_id: str) -> list[WriteRow]:
        return await self._fetch_rows(_SELECT_WRITES, (thread_id, checkpoint_id))

    async def roll_back_run(
        self, thread_id: str, run_id: str, base: str | None, writes: Sequence[WriteRow] | None
    ) -> None:
        statements: list[tuple[str, tuple[Any, ...]]] = [
            (_DELETE_RUN, (thread_id, run_id)),
            (_DELETE_STRAY_WRITES, (thread_id, thread_id)),
        ]
        if base is not None and writes is not None:
            statements += [(_DELETE_WRITES, (thread_id, base))]
            statements += [(f"INSERT {_INSERT_WRITES}", row) for row in writes]
        await self._execute(*statements)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        threads = (target_thread_id, source_thread_id)
        await self._execute((_COPY, threads), (_COPY_WRITES, threads))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._execute(*((statement, (json.dumps([*run_ids]),)) for statement in _DELETE_FOR_RUNS))

    async def _delete_older(self, thread_id: str, namespace: str, latest: str, needed: Sequence[str]) -> None:
        values = (thread_id, namespace, latest, json.dumps([*needed]))
        await self._execute(*((statement, values) for statement in _DELETE_OLDER))

    async def _execute(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        def execute(connection: sqlite3.Connection) -> None:
            # No cursor leaves this thread: another one might finalize it while its statement is in use here.
            for statement, values in statements:
                connection.execute(statement, values)

        await self._thread.run(execute)

    async def _fetch_rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        return await self._thread.run(lambda connection: connection.execute(query, values).fetchall())


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection
