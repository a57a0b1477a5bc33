"""The checkpoint saver: langgraph's SQLite saver, with what it lacks (copy, rollback, whose checkpoints)."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agent.errors import CheckpointLost
from agent.runtime.compressed_serde import packing
from agent.runtime.faults import Faults, Step
from agent.runtime.pragmas import PRAGMAS

REMEMBERED = 1024
"""Ended runs whose late writes are refused."""
_RUN_ID = "json_extract(CAST(metadata AS TEXT), '$.run_id')"
_WROTE = f"SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' AND {_RUN_ID} = ? LIMIT 1"  # noqa: S608
_HAS = "SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_id = ?"
_LATEST = "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
_READ_WRITES = (
    "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value "
    "FROM writes WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
)
_DROP_WRITES = "DELETE FROM writes WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
_ADD_WRITES = (
    "INSERT INTO writes "
    "(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_DROP_RUN_WRITES = (
    "DELETE FROM writes WHERE thread_id = ? AND checkpoint_id IN "  # noqa: S608
    f"(SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND {_RUN_ID} = ?)"
)
_DROP_RUN = f"DELETE FROM checkpoints WHERE thread_id = ? AND {_RUN_ID} = ?"  # noqa: S608
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


class RuntimeSaver(AsyncSqliteSaver):
    """`AsyncSqliteSaver` whose checkpoints are compressed and can be told apart by the run that wrote them.

    A cancelled graph may leave writes on their way; after `end_run` none of them arrives any more.
    """

    def __init__(
        self,
        conn: aiosqlite.Connection,
        *,
        serde: SerializerProtocol | None = None,
        faults: Faults | None = None,
    ) -> None:
        super().__init__(conn, serde=packing(serde))
        self._faults = faults or Faults()
        self._writing: Counter[str] = Counter()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._quiet = asyncio.Condition()
        self._awaited: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path, *, faults: Faults | None = None) -> AsyncIterator[RuntimeSaver]:
        """The saver on this database (WAL, synchronous=NORMAL)."""
        async with aiosqlite.connect(path) as connection:
            for pragma in PRAGMAS:
                await connection.execute(f"PRAGMA {pragma}")
            saver = cls(connection, faults=faults)
            await saver.setup()
            yield saver

    def get_next_version(self, current: str | None, channel: None) -> str:
        """The next version of a channel.

        Without langgraph's random part: that tells branches apart where values are stored apart, and here
        each checkpoint holds its own.
        """
        return super().get_next_version(current, channel).partition(".")[0]

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint, unless its run has ended."""
        try:
            async with self._counted(config) as allowed:
                if allowed:
                    return await super().aput(config, checkpoint, metadata, new_versions)
        finally:
            if (awaited := self._awaited.get(checkpoint["id"])) is not None:
                awaited.set()
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save a task's writes, unless its run has ended."""
        async with self._counted(config) as allowed:
            if allowed:
                await super().aput_writes(config, writes, task_id, task_path)
                self._faults.reach(Step.WRITES_STORED)

    @asynccontextmanager
    async def _counted(self, config: RunnableConfig) -> AsyncIterator[bool]:
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
                    async with self._quiet:
                        self._quiet.notify_all()

    async def end_run(self, run_id: str) -> None:
        """Refuse further writes of a run, and wait for those on their way."""
        self._ended[run_id] = None
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
        async with self._quiet:
            await self._quiet.wait_for(lambda: run_id not in self._writing)

    async def stored(self, thread_id: str, checkpoint_id: str) -> None:
        """Return once the checkpoint is on disk. Raises CheckpointLost where storing it failed, or came after
        the end of its run.
        """
        # Asked for before looking, so that what is stored in between is not missed.
        awaited = self._awaited.setdefault(checkpoint_id, asyncio.Event())
        if await self._fetch(_HAS, (thread_id, checkpoint_id)):
            return
        await awaited.wait()
        if not await self._fetch(_HAS, (thread_id, checkpoint_id)):
            raise CheckpointLost("The state of the conversation could not be stored.")

    async def wrote(self, thread_id: str, run_id: str) -> bool:
        """Whether this run has written a checkpoint of its thread."""
        rows = await self._fetch(_WROTE, (thread_id, run_id))
        return bool(rows)

    async def latest(self, thread_id: str) -> str | None:
        """The id of the thread's newest checkpoint."""
        found: str | None = (await self._fetch(_LATEST, (thread_id,)))[0][0]
        return found

    async def pending_writes(self, thread_id: str, checkpoint_id: str) -> list[tuple[Any, ...]]:
        """The rows of pending writes on a root checkpoint, to be put back by `rollback`."""
        return [tuple(row) for row in await self._fetch(_READ_WRITES, (thread_id, checkpoint_id))]

    async def rollback(
        self, thread_id: str, run_id: str, base: str | None, writes: Sequence[tuple[Any, ...]] | None
    ) -> None:
        """Undo a run: drop its checkpoints; put back the pending writes of the checkpoint it began at."""
        async with self.lock, self.conn.cursor() as cursor:
            await cursor.execute(_DROP_RUN_WRITES, (thread_id, thread_id, run_id))
            await cursor.execute(_DROP_RUN, (thread_id, run_id))
            if base is not None and writes is not None:
                await cursor.execute(_DROP_WRITES, (thread_id, base))
                await cursor.executemany(_ADD_WRITES, writes)
            await self.conn.commit()

    async def copy_all(self, source: str, target: str) -> None:
        """Copy all checkpoints and writes of a thread to another one."""
        async with self.lock, self.conn.cursor() as cursor:
            await cursor.execute(_COPY, (target, source))
            await cursor.execute(_COPY_WRITES, (target, source))
            await self.conn.commit()

    async def _fetch(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        async with self.lock, self.conn.execute(query, values) as cursor:
            return list(await cursor.fetchall())
