"""The runtime's rows: a port, and its SQLite implementation on one writing and one reading thread."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

from agent.errors import HomeInUse
from agent.runtime import queries
from agent.runtime import transactions as tx
from agent.runtime.domain import Assistant, Clock, Json, NewRun, Outcome, Page, Run, Thread
from agent.runtime.ids import EventId
from agent.runtime.pragmas import PRAGMAS
from agent.runtime.schema import migrate
from agent.runtime.transactions import Added, Chunk
from agent.runtime.writer import DatabaseThread

T = TypeVar("T")


class EventLog(Protocol):
    """The part of the store that streams need."""

    def append(self, run_id: str, chunk: Chunk, done: Callable[[Any, BaseException | None], None]) -> None:
        """Write a chunk; `done` is called on the loop when it is committed."""

    async def read_events(self, run_id: str, after: EventId, limit: int) -> Sequence[Chunk]:
        """Chunks that hold events after `after`, in order."""

    async def has_event(self, run_id: str, event_id: EventId) -> bool:
        """Whether the log still holds this event."""


class RuntimeStore(EventLog, Protocol):
    """Threads, runs, assistants and the event log. Each method is one transaction."""

    async def create_thread(self, thread: Thread, *, if_exists: str) -> Thread: ...
    async def get_thread(self, thread_id: str) -> Thread: ...
    async def patch_thread(self, thread_id: str, changes: Json) -> Thread: ...
    async def delete_thread(self, thread_id: str) -> None: ...
    async def erase_thread(self, thread_id: str) -> None: ...
    async def search_threads(self, query: queries.ThreadQuery) -> Page: ...
    async def count_threads(self, query: queries.ThreadQuery) -> int: ...
    async def add_run(self, new: NewRun, *, start: bool, chunk: Chunk | None) -> Added: ...
    async def start_run(self, run: Run, *, chunk: Chunk | None) -> bool: ...
    async def pause_run(self, run_id: str) -> None: ...
    async def finish_run(self, run: Run, outcome: Outcome, *, chunk: Chunk | None) -> None: ...
    async def remove_run(self, run: Run) -> None: ...
    async def get_run(self, thread_id: str, run_id: str) -> Run: ...
    async def list_runs(self, thread_id: str, *, status: str | None, limit: int, offset: int) -> Page: ...
    async def inflight_runs(self) -> Sequence[Run]: ...
    async def prune_logs(self, *, before: float, keep: int) -> int: ...
    async def get_assistant(self, assistant_id: str) -> Assistant | None: ...
    async def put_assistant(self, assistant: Assistant) -> None: ...
    async def delete_assistant(self, assistant_id: str) -> None: ...
    async def list_assistants(self) -> Sequence[Assistant]: ...


class SqliteRuntimeStore:
    """`RuntimeStore` on `agent.db`; its only owner while it is open."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock: int | None = None
        self._writer = DatabaseThread(self._connect_writer, name="agent-db-writer")
        self._reader = DatabaseThread(self._connect_reader, name="agent-db-reader")

    async def open(self) -> None:
        """Own the database and bring it to this version. Raises `HomeInUse`."""
        await self._writer.open()
        await self._reader.open()

    async def close(self) -> None:
        """Finish queued work and let the database go."""
        await self._reader.close()
        await self._writer.close()
        if self._lock is not None:
            os.close(self._lock)

    def _connect_writer(self) -> Connection:
        self._lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HomeInUse(f"another process uses {self._path.name} in this home") from error
        connection = _engine(self._path, "BEGIN IMMEDIATE").connect()
        with connection.begin():
            migrate(connection)
        return connection

    def _connect_reader(self) -> Connection:
        return _engine(self._path, "BEGIN").connect()

    async def _write(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await self._writer.run(partial(_call, work, args, kwargs))

    async def _read(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await self._reader.run(partial(_call, work, args, kwargs))

    def append(self, run_id: str, chunk: Chunk, done: Callable[[Any, BaseException | None], None]) -> None:
        """Write a chunk; `done` is called on the loop when it is committed."""
        self._writer.submit(lambda connection: tx.append_events(connection, run_id, chunk), done)

    async def read_events(self, run_id: str, after: EventId, limit: int) -> Sequence[Chunk]:
        """Chunks that hold events after `after`, in order."""
        return await self._read(tx.read_events, run_id, after.attempt, after.seq, limit)

    async def has_event(self, run_id: str, event_id: EventId) -> bool:
        """Whether the log still holds this event."""
        return await self._read(queries.has_event, run_id, event_id)

    async def create_thread(self, thread: Thread, *, if_exists: str) -> Thread:
        """Store a thread. Raises `Conflict`."""
        return await self._write(tx.create_thread, thread, if_exists=if_exists)

    async def get_thread(self, thread_id: str) -> Thread:
        """One thread. Raises `NotFound`."""
        return await self._read(tx.require_thread, thread_id)

    async def patch_thread(self, thread_id: str, changes: Json) -> Thread:
        """Set columns; `metadata` is merged. Raises `NotFound`."""
        return await self._write(tx.patch_thread, thread_id, {"updated_at": self._clock(), **changes})

    async def delete_thread(self, thread_id: str) -> None:
        """Drop an idle thread with its runs and logs. Raises `NotFound`, `Conflict`."""
        await self._write(tx.delete_thread, thread_id)

    async def erase_thread(self, thread_id: str) -> None:
        """Drop a thread with its runs and logs, whatever its state."""
        await self._write(tx.erase_thread, thread_id)

    async def search_threads(self, query: queries.ThreadQuery) -> Page:
        """One page of threads."""
        return await self._read(queries.search_threads, query)

    async def count_threads(self, query: queries.ThreadQuery) -> int:
        """How many threads fit."""
        return await self._read(queries.count_threads, query)

    async def add_run(self, new: NewRun, *, start: bool, chunk: Chunk | None) -> Added:
        """Store a run. Raises `NotFound`, `Conflict`."""
        return await self._write(tx.add_run, new, now=self._clock(), start=start, chunk=chunk)

    async def start_run(self, run: Run, *, chunk: Chunk | None) -> bool:
        """Mark a run as running its attempt. False when it is gone or has ended."""
        return await self._write(tx.start_run, run, now=self._clock(), chunk=chunk)

    async def pause_run(self, run_id: str) -> None:
        """A stop, not a crash, cuts this attempt off."""
        await self._write(tx.pause_run, run_id)

    async def finish_run(self, run: Run, outcome: Outcome, *, chunk: Chunk | None) -> None:
        """End a run and settle its thread."""
        await self._write(tx.finish_run, run, outcome, now=self._clock(), chunk=chunk)

    async def remove_run(self, run: Run) -> None:
        """Drop a run and its log."""
        await self._write(tx.remove_run, run, now=self._clock())

    async def get_run(self, thread_id: str, run_id: str) -> Run:
        """One run of a thread. Raises `NotFound`."""
        return await self._read(queries.get_run, thread_id, run_id)

    async def list_runs(self, thread_id: str, *, status: str | None, limit: int, offset: int) -> Page:
        """One page of a thread's runs, newest first. Raises `NotFound` for the thread."""
        return await self._read(queries.list_runs, thread_id, status=status, limit=limit, offset=offset)

    async def inflight_runs(self) -> Sequence[Run]:
        """Pending and running ones, in creation order."""
        return await self._read(queries.inflight_runs)

    async def prune_logs(self, *, before: float, keep: int) -> int:
        """Drop finished logs by age and total count; how many went."""
        return await self._write(tx.prune_logs, before=before, keep=keep)

    async def get_assistant(self, assistant_id: str) -> Assistant | None:
        """One stored assistant."""
        return await self._read(queries.get_assistant, assistant_id)

    async def put_assistant(self, assistant: Assistant) -> None:
        """Store or replace an assistant."""
        await self._write(queries.put_assistant, assistant)

    async def delete_assistant(self, assistant_id: str) -> None:
        """Drop an assistant. Raises `NotFound`."""
        await self._write(queries.delete_assistant, assistant_id)

    async def list_assistants(self) -> Sequence[Assistant]:
        """All stored assistants."""
        return await self._read(queries.list_assistants)


def _call(work: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any], connection: Connection) -> T:
    return work(connection, *args, **kwargs)


def _engine(path: Path, begin: str) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=NullPool,
        connect_args={"isolation_level": None, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _record: Any) -> None:
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
