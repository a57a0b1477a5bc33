"""Copy of checkpoints between the savers, thread by thread.

SQLite stores the values of channels in each checkpoint; PostgreSQL stores them apart, by the version of
their channel. Versions on SQLite lack the random part, so two branches of a thread can have different values
with the same version. On the way to PostgreSQL, a version therefore gets a hash of its value as this part,
and it loses the part on the way back.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, cast

import ormsgpack
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint

from agent.runtime.exact_integers import ExactSerializer
from agent.runtime.run_saver import RunSaver, WriteRow
from agent.runtime.saver import RuntimeSaver
from agent.shared.table_copy import CopyProgress, CopyRefused, CopyStep, require_same

THREADS_AT_ONCE = 8
Place = tuple[str, str, str]
"""Thread, namespace and id of a checkpoint."""


class OpaqueSerializer(ExactSerializer):
    """Leaves objects in the form in which they are stored, since their classes may not be importable here."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, body = data
        if kind != "msgpack":
            return super().loads_typed(data)
        return ormsgpack.unpackb(body, ext_hook=ormsgpack.Ext, option=ormsgpack.OPT_NON_STR_KEYS)


_serializer = OpaqueSerializer()


class StoredRows:
    """Rows of a saver that its own methods don't list."""

    def __init__(self, saver: RunSaver) -> None:
        self._fetch = saver.read_rows
        is_sqlite = isinstance(saver, RuntimeSaver)
        self._value = "value" if is_sqlite else "blob"
        self._tables = {
            "checkpoints": "checkpoints",
            "writes": "writes" if is_sqlite else "checkpoint_writes",
        }

    async def count(self) -> Counter[tuple[str, str]]:
        """Return the number of rows by thread and table (`checkpoints`, `writes`)."""
        counts = Counter[tuple[str, str]]()
        for table, stored in self._tables.items():
            query = f"SELECT thread_id, count(*) FROM {stored} GROUP BY thread_id ORDER BY thread_id"  # noqa: S608
            counts |= Counter({(thread, table): number for thread, number in await self._fetch(query, ())})
        return counts

    async def list_places(self, table: str, thread: str) -> list[Place]:
        """Return the checkpoints of a thread that are in a table, oldest first."""
        query = (
            f"SELECT DISTINCT thread_id, checkpoint_ns, checkpoint_id FROM {self._tables[table]} "  # noqa: S608
            f"WHERE thread_id = ? ORDER BY checkpoint_id, checkpoint_ns"
        )
        return await self._fetch(query, (thread,))

    async def list_writes(self, place: Place) -> list[WriteRow]:
        """Return the pending writes of a checkpoint."""
        query = (
            "SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, "  # noqa: S608
            f"{self._value} FROM {self._tables['writes']} WHERE thread_id = ? "
            f"AND checkpoint_ns = ? AND checkpoint_id = ? ORDER BY task_id, idx"
        )
        return await self._fetch(query, place)


class CheckpointCopy:
    """The copy of all checkpoints. A thread that is not complete in the target is copied again."""

    def __init__(
        self,
        source: RunSaver,
        target: RunSaver,
        progress: CopyProgress,
        reach: Callable[[CopyStep], None],
    ) -> None:
        """Both savers have an `OpaqueSerializer`."""
        self._source, self._target = source, target
        self._rows = StoredRows(source)
        self._progress, self._reach = progress, reach
        self._convert = strip_versions if isinstance(target, RuntimeSaver) else make_versions_unique
        self._done = self._total = 0

    async def run(self) -> dict[str, int]:
        """Copy what the target lacks, and return the number of rows by table. Raises CopyRefused."""
        wanted, found = await self._rows.count(), await StoredRows(self._target).count()
        if strange := {thread for thread, _ in found} - {thread for thread, _ in wanted}:
            raise CopyRefused(
                f"the target has checkpoints of thread {min(strange)}, which the source has not"
            )
        threads = list(dict.fromkeys(thread for thread, table in wanted if _differ(wanted, found, thread)))
        self._total = sum(wanted[thread, "checkpoints"] for thread in threads)
        waiting = iter(threads)
        await asyncio.gather(*(self._copy_threads(waiting) for _ in range(THREADS_AT_ONCE)))
        found, sums = await StoredRows(self._target).count(), Counter[str]()
        for (thread, table), number in wanted.items():
            require_same(f"{table} of thread {thread}", number, found[thread, table])
            sums[table] += number
        return dict(sums)

    async def _copy_threads(self, waiting: Iterator[str]) -> None:
        for thread in waiting:
            sent: set[tuple[str, str, str]] = set()
            for place in await self._rows.list_places("checkpoints", thread):
                await self._copy_checkpoint(place, sent)
                self._done += 1
                self._progress.report("checkpoints", self._done, self._total)
                self._reach(CopyStep.CHECKPOINT_COPIED)
            for place in await self._rows.list_places("writes", thread):
                await self._target.add_writes(await self._rows.list_writes(place))
            self._reach(CopyStep.WRITES_COPIED)

    async def _copy_checkpoint(self, place: Place, sent: set[tuple[str, str, str]]) -> None:
        thread, namespace, checkpoint_id = place
        at: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": namespace}
        found = await self._source.aget_tuple({"configurable": {**at, "checkpoint_id": checkpoint_id}})
        if found is None:
            raise CopyRefused(f"checkpoint {checkpoint_id} of thread {thread} was deleted during the copy")
        if found.parent_config is not None:
            at["checkpoint_id"] = found.parent_config["configurable"]["checkpoint_id"]
        checkpoint = self._convert(found.checkpoint)
        new = {
            name: version
            for name, version in checkpoint["channel_versions"].items()
            if name in checkpoint["channel_values"] and (namespace, name, version) not in sent
        }
        config: RunnableConfig = {"configurable": at}
        await self._target.aput(config, checkpoint, found.metadata, new)
        sent.update((namespace, name, str(version)) for name, version in new.items())


def _differ(wanted: Counter[tuple[str, str]], found: Counter[tuple[str, str]], thread: str) -> bool:
    return any(wanted[thread, table] != found[thread, table] for table in ("checkpoints", "writes"))


def make_versions_unique(checkpoint: Checkpoint) -> Checkpoint:
    """Return a checkpoint of SQLite in which equal versions of a channel belong to equal values.

    The version of a channel without a value stays as it is.
    """
    values = checkpoint["channel_values"]

    def rename(name: str, version: str) -> str:
        if name not in values or "." in version:
            return version
        kind, body = _serializer.dumps_typed(values[name])
        digest = int.from_bytes(sha256(kind.encode() + b"\0" + body).digest()[:7], "big")
        return f"{version}.0.{digest % 10**16:016}"

    current = {name: rename(name, str(one)) for name, one in checkpoint["channel_versions"].items()}
    # Of an older version that a node has seen, only the number is compared.
    return _with_versions(checkpoint, current, str)


def strip_versions(checkpoint: Checkpoint) -> Checkpoint:
    """Return a checkpoint of PostgreSQL with versions as SQLite has them."""

    def strip(version: object) -> str:
        return str(version).partition(".")[0]

    current = {name: strip(one) for name, one in checkpoint["channel_versions"].items()}
    return _with_versions(checkpoint, current, strip)


def _with_versions(
    checkpoint: Checkpoint, current: dict[str, str], rename_older: Callable[[object], str]
) -> Checkpoint:
    old = checkpoint["channel_versions"]
    seen = {
        node: {
            name: current[name] if version == old.get(name) else rename_older(version)
            for name, version in versions.items()
        }
        for node, versions in checkpoint["versions_seen"].items()
    }
    return {**checkpoint, "channel_versions": {**current}, "versions_seen": cast(Any, seen)}
