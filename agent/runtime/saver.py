"""Checkpoint saver: langgraph's SQLite saver, with compression, copying and rollback.

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
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from agent.errors import CheckpointLost
from agent.runtime.domain import USER_KEYS
from agent.runtime.exact_integers import ExactSerializer
from agent.runtime.faults import Faults, RunStep
from agent.runtime.store.database import PRAGMAS, DatabaseThread, open_transaction
from agent.shared.recent_items import RecentItems

SMALL_BYTES, LARGE_BYTES, HUGE_BYTES = 256, 64_000, 4_000_000
"""Values below SMALL_BYTES gain nothing from compression. Above LARGE_BYTES compression is fast rather than
tight; above HUGE_BYTES it is skipped, because it would block the event loop.
"""


def compressing_serde(serde: SerializerProtocol | None = None) -> SerializerProtocol:
    """Add compression to a serializer (default: `ExactSerializer`). Uncompressed values can still be read."""
    # langgraph passes its list of allowed types through this wrapper only, so compression acts as a cipher.
    return EncryptedSerializer(_Zlib(), serde or ExactSerializer())


class _Zlib:
    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        if SMALL_BYTES <= len(plaintext) <= HUGE_BYTES:
            return "zlib", zlib.compress(plaintext, 6 if len(plaintext) <= LARGE_BYTES else 1)
        return "plain", plaintext

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return zlib.decompress(ciphertext) if ciphername == "zlib" else ciphertext


ENDED_RUNS = 1024
"""Number of ended runs whose late writes are refused."""
RECENT_CHECKPOINTS = 1024
"""Number of checkpoints for which the saver remembers whether they were stored."""
_RUN_ID = "json_extract(CAST(metadata AS TEXT), '$.run_id')"
_SELECT_OF_RUN = (
    f"SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' AND {_RUN_ID} = ? LIMIT 1"  # noqa: S608
)
_SELECT_ONE = "SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_id = ?"
_SELECT_LATEST = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
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
_DELETE_RUN_WRITES = (
    "DELETE FROM writes WHERE thread_id = ? AND checkpoint_id IN "  # noqa: S608
    f"(SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND {_RUN_ID} = ?)"
)
_DELETE_RUN = f"DELETE FROM checkpoints WHERE thread_id = ? AND {_RUN_ID} = ?"  # noqa: S608
_DELETE_FOR_RUNS = (
    "DELETE FROM writes WHERE (thread_id, checkpoint_ns, checkpoint_id) IN "  # noqa: S608
    "(SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints "
    f"WHERE {_RUN_ID} IN (SELECT value FROM json_each(?)))",
    f"DELETE FROM checkpoints WHERE {_RUN_ID} IN (SELECT value FROM json_each(?))",  # noqa: S608
)
_SELECT_HEADS = (
    "SELECT checkpoint_ns, max(checkpoint_id) FROM checkpoints WHERE thread_id = ? GROUP BY checkpoint_ns"
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


class RuntimeSaver(SqliteSaver):
    """`SqliteSaver` with compressed checkpoints, which can be looked up by the run that wrote them.

    langgraph's asynchronous saver takes four steps of a thread for each write; here a write is one job, and
    those of several runs share a commit. A cancelled graph may still be writing; `end_run` refuses these
    writes.
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
        self._faults = faults or Faults()
        self._writing: Counter[str] = Counter()
        self._ended = RecentItems[str, None](ENDED_RUNS)
        self._write_ended = asyncio.Condition()
        self._outcomes = RecentItems[str, bool](RECENT_CHECKPOINTS)
        self._stored_events: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, faults: Faults | None = None) -> AsyncIterator[RuntimeSaver]:
        """Open the saver on this database (WAL, synchronous=NORMAL)."""
        saver = cls(await asyncio.to_thread(_connect, path), faults=faults)
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
        return await self._thread.run(lambda _: self.get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the matching checkpoints, latest first."""
        found = await self._thread.run(
            lambda _: [*self.list(config, filter=filter, before=before, limit=limit)]
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

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, unless its run has finished."""
        is_stored = False
        try:
            async with self._count_write(config) as is_allowed:
                if is_allowed:
                    await self._store_checkpoint(config, checkpoint, metadata)
                    is_stored = True
        finally:
            self._outcomes[checkpoint["id"]] = is_stored
            if (event := self._stored_events.get(checkpoint["id"])) is not None:
                event.set()
        place = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        return {"configurable": {name: place[name] for name in names}}

    async def _store_checkpoint(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> None:
        place = config["configurable"]
        # Encode here: until the thread runs the job, the graph could change the state.
        kind, body = self.serde.dumps_typed(checkpoint)
        described = get_checkpoint_metadata(config, metadata).items()
        facts = json.dumps({key: one for key, one in described if key not in USER_KEYS}, ensure_ascii=False)
        row = (
            *(str(place["thread_id"]), place["checkpoint_ns"], checkpoint["id"], place.get("checkpoint_id")),
            *(kind, body, facts.encode("utf-8", "ignore")),
        )
        await self._execute((_INSERT_CHECKPOINT, row))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a task's writes, unless its run has finished."""
        place = config["configurable"]
        # Writes of an interrupt or an error can be repeated with other values.
        is_special = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        statement = f"INSERT OR {'REPLACE' if is_special else 'IGNORE'} {_INSERT_WRITES}"
        async with self._count_write(config) as is_allowed:
            if not is_allowed:
                return
            rows = [
                (
                    *(str(place[name]) for name in ("thread_id", "checkpoint_ns", "checkpoint_id")),
                    *(task_id, task_path, WRITES_IDX_MAP.get(channel, index), channel),
                    *self.serde.dumps_typed(value),
                )
                for index, (channel, value) in enumerate(writes)
            ]
            await self._execute(*((statement, row) for row in rows))
            self._faults.reach(RunStep.WRITES_STORED)

    @asynccontextmanager
    async def _count_write(self, config: RunnableConfig) -> AsyncIterator[bool]:
        run_id = str(config["configurable"].get("run_id", ""))
        if run_id in self._ended:
            yield False
            return
        self._writing[run_id] += 1
        try:
            yield True
        finally:
            self._writing[run_id] -= 1
            if not self._writing[run_id]:
                del self._writing[run_id]
                if run_id in self._ended:
                    async with self._write_ended:
                        self._write_ended.notify_all()

    async def end_run(self, run_id: str) -> None:
        """Reject further writes of a run and wait for the current ones."""
        self._ended[run_id] = None
        async with self._write_ended:
            await self._write_ended.wait_for(lambda: run_id not in self._writing)

    async def wait_stored(self, thread_id: str, checkpoint_id: str) -> None:
        """Return once the checkpoint is on disk.

        Raises CheckpointLost if storing it failed or came after the end of its run.
        """
        if self._outcomes.get(checkpoint_id):
            return
        # Registered before the query, so that a checkpoint stored in between is not missed.
        event = self._stored_events.setdefault(checkpoint_id, asyncio.Event())
        if await self._fetch_rows(_SELECT_ONE, (thread_id, checkpoint_id)):
            return
        if checkpoint_id not in self._outcomes:
            await event.wait()
            if await self._fetch_rows(_SELECT_ONE, (thread_id, checkpoint_id)):
                return
        raise CheckpointLost("The conversation's state could not be stored.")

    async def has_checkpoint_of(self, thread_id: str, run_id: str) -> bool:
        rows = await self._fetch_rows(_SELECT_OF_RUN, (thread_id, run_id))
        return bool(rows)

    async def latest_checkpoint_id(self, thread_id: str) -> str | None:
        found: str | None = (await self._fetch_rows(_SELECT_LATEST, (thread_id,)))[0][0]
        return found

    async def pending_writes(self, thread_id: str, checkpoint_id: str) -> list[tuple[Any, ...]]:
        """Return the pending writes of a root checkpoint, for `roll_back_run`."""
        return [tuple(row) for row in await self._fetch_rows(_SELECT_WRITES, (thread_id, checkpoint_id))]

    async def roll_back_run(
        self, thread_id: str, run_id: str, base: str | None, writes: Sequence[tuple[Any, ...]] | None
    ) -> None:
        """Delete a run's checkpoints and restore the pending writes of the checkpoint it started from."""
        statements: list[tuple[str, tuple[Any, ...]]] = [
            (_DELETE_RUN_WRITES, (thread_id, thread_id, run_id)),
            (_DELETE_RUN, (thread_id, run_id)),
        ]
        if base is not None and writes is not None:
            statements += [(_DELETE_WRITES, (thread_id, base))]
            statements += [(f"INSERT {_INSERT_WRITES}", row) for row in writes]
        await self._execute(*statements)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another thread."""
        threads = (target_thread_id, source_thread_id)
        await self._execute((_COPY, threads), (_COPY_WRITES, threads))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of these runs, in all threads."""
        await self._execute(*((statement, (json.dumps([*run_ids]),)) for statement in _DELETE_FOR_RUNS))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints of these threads, or with `keep_latest` those that their states don't need.

        Kept are the latest checkpoint of each namespace, and its ancestors back to the last snapshot of each
        channel that is stored as differences. Raises ValueError for an unknown strategy.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"unknown strategy {strategy!r}; use keep_latest or delete")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self.adelete_thread(thread_id)
                continue
            for namespace, latest in await self._fetch_rows(_SELECT_HEADS, (thread_id,)):
                needed = await self._list_needed(thread_id, namespace, latest)
                values = (thread_id, namespace, latest, json.dumps(needed))
                await self._execute(*((statement, values) for statement in _DELETE_OLDER))

    async def _list_needed(self, thread_id: str, namespace: str, checkpoint_id: str) -> list[str]:
        """Return the ids of a checkpoint and the ancestors from which its channels are computed."""
        needed: list[str] = []
        channels: set[str] = set()
        place: RunnableConfig | None = {
            "configurable": {
                "thread_id": thread_id,
                "checkpoint_ns": namespace,
                "checkpoint_id": checkpoint_id,
            }
        }
        while place is not None and (found := await self.aget_tuple(place)) is not None:
            if not needed:
                channels = set(found.metadata.get("counters_since_delta_snapshot", ()))
            channels -= found.checkpoint["channel_values"].keys()
            needed.append(found.checkpoint["id"])
            place = found.parent_config if channels else None
        return needed

    async def _execute(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        def execute(connection: sqlite3.Connection) -> None:
            # No cursor leaves this thread: another one might finalize it while its statement is in use here.
            for statement, values in statements:
                connection.execute(statement, values)

        await self._thread.run(execute)

    async def _fetch_rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        return await self._thread.run(lambda connection: connection.execute(query, values).fetchall())


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")
    return connection
