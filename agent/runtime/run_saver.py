"""What the checkpoint savers of all databases share: order of a run's writes, compression and pruning."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from weakref import WeakValueDictionary

import langgraph.checkpoint.base.id as checkpoint_ids
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from agent.errors import CheckpointLost
from agent.runtime.domain import USER_KEYS
from agent.runtime.exact_integers import ExactSerializer
from agent.runtime.faults import Faults, RunStep
from agent.runtime.store.leases import Lease
from agent.shared.recent_items import RecentItems

SMALL_BYTES, LARGE_BYTES, HUGE_BYTES = 256, 64_000, 4_000_000
"""Values below SMALL_BYTES gain nothing from compression. Above LARGE_BYTES compression is fast rather than
tight; above HUGE_BYTES it is skipped, because it would block the event loop.
"""
ENDED_RUNS = 1024
"""Number of ended runs whose late writes are refused."""
RECENT_CHECKPOINTS = 1024
"""Number of checkpoints for which the saver remembers whether they were stored."""
WriteRow = tuple[str, str, str, str, str, int, str, str, bytes]
"""A pending write: thread, namespace, checkpoint, task, its path, number, channel, kind and value."""
_SELECT_ONE: Final = "SELECT 1 FROM checkpoints WHERE thread_id = ? AND checkpoint_id = ?"
_SELECT_LATEST: Final = (
    "SELECT max(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
)
_SELECT_HEADS: Final = (
    "SELECT checkpoint_ns, max(checkpoint_id) FROM checkpoints WHERE thread_id = ? GROUP BY checkpoint_ns"
)
_ESCAPED: Final = re.compile(r"(\\\\)|\\u0000")


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


def encode_facts(facts: Any) -> str:
    """Encode metadata as JSON that every database takes.

    NUL and halves of surrogate pairs are omitted; null replaces numbers that are not finite.
    """
    try:
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
    except ValueError:
        finite = json.loads(json.dumps(facts), parse_constant=lambda _: None)
        text = json.dumps(finite, ensure_ascii=False)
    if "\\u0000" in text:
        text = _ESCAPED.sub(lambda found: found[1] or "", text)
    return text if text.isascii() else text.encode("utf-8", "ignore").decode()


def clean_filter(filter: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a filter for metadata as `encode_facts` stored it."""
    return json.loads(encode_facts(filter)) if filter else None


def advance_ids(checkpoint_id: str) -> None:
    """Let new ids of this process follow `checkpoint_id`, even if its clock is behind that of another one.

    The latest checkpoint of a thread is the one with the largest id, and ids begin with the time.
    """
    digits = checkpoint_id.replace("-", "")
    if len(digits) != 32 or digits[12] != "6":
        return
    made_at = int(digits[:12] + digits[13:16], 16)
    if made_at > (checkpoint_ids._last_v6_timestamp or 0):
        checkpoint_ids._last_v6_timestamp = made_at  # type: ignore[assignment]


class RunSaver(BaseCheckpointSaver[str], ABC):
    """A saver whose checkpoints can be looked up, rolled back and deleted by the run that wrote them.

    A cancelled graph may still be writing; `end_run` refuses these writes.
    """

    def _prepare(self, faults: Faults | None) -> None:
        self._faults = faults or Faults()
        self._leases: dict[str, Lease] = {}
        self._writing: Counter[str] = Counter()
        self._ended = RecentItems[str, None](ENDED_RUNS)
        self._write_ended = asyncio.Condition()
        self._outcomes = RecentItems[str, bool](RECENT_CHECKPOINTS)
        self._stored_events: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()

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
                    described = get_checkpoint_metadata(config, metadata).items()
                    facts = encode_facts({key: one for key, one in described if key not in USER_KEYS})
                    await self._store_checkpoint(config["configurable"], checkpoint, facts, new_versions)
                    is_stored = True
        finally:
            self._outcomes[checkpoint["id"]] = is_stored
            if (event := self._stored_events.get(checkpoint["id"])) is not None:
                event.set()
        place = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        return {"configurable": {name: place[name] for name in names}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store a task's writes, unless its run has finished."""
        async with self._count_write(config) as is_allowed:
            if not is_allowed:
                return
            place = config["configurable"]
            rows = [
                (
                    *(str(place["thread_id"]), str(place["checkpoint_ns"]), str(place["checkpoint_id"])),
                    *(task_id, task_path, WRITES_IDX_MAP.get(channel, index), channel),
                    *self.serde.dumps_typed(value),
                )
                for index, (channel, value) in enumerate(writes)
            ]
            # Writes of an interrupt or an error can be repeated with other values.
            can_replace = all(channel in WRITES_IDX_MAP for channel, _ in writes)
            run_id = str(place.get("run_id", ""))
            await self._store_writes(rows, run_id, can_replace=can_replace)
            self._faults.reach(RunStep.WRITES_STORED)

    async def add_writes(self, rows: Sequence[WriteRow]) -> None:
        """Store writes as they are in another database, unless they exist."""
        await self._store_writes(rows, "", can_replace=False)

    async def read_rows(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        """Return the rows of a query with `?` as the placeholder of values."""
        return await self._fetch_rows(query, values)

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

    def begin_run(self, lease: Lease) -> None:
        """Make the run's writes conditional on this lease, where other processes can take the run over."""
        self._leases[lease.run_id] = lease

    def forget_run(self, run_id: str) -> None:
        """Forget the lease of a run that has ended here."""
        self._leases.pop(run_id, None)

    def refuse_run(self, run_id: str) -> None:
        """Reject further writes of a run."""
        self._ended[run_id] = None

    async def end_run(self, run_id: str) -> None:
        """Reject further writes of a run and wait for the current ones."""
        self.refuse_run(run_id)
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
        if await self._is_stored(thread_id, checkpoint_id):
            return
        if checkpoint_id not in self._outcomes:
            await event.wait()
            if await self._is_stored(thread_id, checkpoint_id):
                return
        raise CheckpointLost("The conversation's state could not be stored.")

    async def _is_stored(self, thread_id: str, checkpoint_id: str) -> bool:
        return bool(await self._fetch_rows(_SELECT_ONE, (thread_id, checkpoint_id)))

    async def latest_checkpoint_id(self, thread_id: str) -> str | None:
        found: str | None = (await self._fetch_rows(_SELECT_LATEST, (thread_id,)))[0][0]
        return found

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
                await self._delete_older(thread_id, namespace, latest, needed)

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

    @abstractmethod
    async def has_checkpoint_of(self, thread_id: str, run_id: str) -> bool: ...

    @abstractmethod
    async def pending_writes(self, thread_id: str, checkpoint_id: str) -> list[WriteRow]:
        """Return the pending writes of a root checkpoint, for `roll_back_run`."""

    @abstractmethod
    async def roll_back_run(
        self, thread_id: str, run_id: str, base: str | None, writes: Sequence[WriteRow] | None
    ) -> None:
        """Delete a run's checkpoints and restore the pending writes of the checkpoint it started from."""

    @abstractmethod
    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another thread."""

    @abstractmethod
    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints and writes of these runs, in all threads."""

    @abstractmethod
    async def _store_checkpoint(
        self, place: dict[str, Any], checkpoint: Checkpoint, facts: str, new_versions: ChannelVersions
    ) -> None: ...

    @abstractmethod
    async def _store_writes(self, rows: Sequence[WriteRow], run_id: str, *, can_replace: bool) -> None: ...

    @abstractmethod
    async def _delete_older(
        self, thread_id: str, namespace: str, latest: str, needed: Sequence[str]
    ) -> None: ...

    @abstractmethod
    async def _fetch_rows(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a query with `?` as the placeholder of values."""
