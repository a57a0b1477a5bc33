"""Access to the runtime's database: one writing and one reading thread, each with its own connection.

A transaction is a plain function over a `Connection` without other effects. Queued writes share a commit; if
one of them fails, the shared transaction is rolled back and each is run again in a transaction of its own.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from sqlalchemy import Connection, Table, func, select

from agent.errors import HomeInUse
from agent.runtime.access import Filter
from agent.runtime.domain import Json, RowPage
from agent.runtime.store.engines import (
    HomeLock,
    discard,
    is_lost,
    make_engine,
    open_transaction,
    opening,
)
from agent.runtime.store.statements import driver_connection

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", Connection, sqlite3.Connection)
OnCommit = Callable[[T | None, BaseException | None], None]
"""Called on the event loop with the result or the error of a job."""

JOBS_PER_COMMIT = 64
LOCK_EVERY, LOCK_TRIES = 0.1, 30
"""Seconds between two attempts to lock the database, and their number."""


class RuntimeDatabase:
    """Owner of the runtime's database while it is open; a SQLite file has only one."""

    def __init__(
        self,
        place: Path | str,
        *,
        lock: Path | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`place` is a SQLite file or the URL of a PostgreSQL database. `lock` is the file that the owner of
        the data directory locks; for a SQLite file, it has the same name with another suffix.
        """
        self._engine = engine = make_engine(place)
        if lock is None and isinstance(place, Path):
            lock = place.with_suffix(".lock")
        self._lock = None if lock is None else HomeLock(lock)
        self._sleep = sleep
        self._is_migrated = False
        self._writer = DatabaseThread(self._connect_writer, name="agent-db-writer", begin=engine.begin_write)
        self._reader = DatabaseThread(engine.connect, name="agent-db-reader", begin=engine.begin_read)

    async def open(self) -> None:
        """Lock the database and migrate it to this version. Raises `HomeInUse`.

        Another process that holds the lock may be stopping, for example because its parent was killed.
        """
        tries = 1
        while self._lock is not None and not await asyncio.to_thread(self._lock.take):
            if tries == LOCK_TRIES:
                raise HomeInUse("another process uses agent.db in this data directory")
            await self._sleep(LOCK_EVERY)
            tries += 1
        with opening(self._engine):
            await self._writer.open()
            await self._reader.open()

    async def close(self) -> None:
        """Finish the queued jobs and unlock the database."""
        await self._reader.close()
        await self._writer.close()
        if self._lock is not None:
            self._lock.release()

    async def read(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `query(connection, …)` in a read transaction. Raises its exception."""
        return await self._reader.run(lambda connection: query(connection, *args, **kwargs))

    async def write(
        self, transaction: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `transaction(connection, …)` and return after its commit. Raises its exception."""
        return await self._writer.run(lambda connection: transaction(connection, *args, **kwargs))

    def submit_write(self, transaction: Callable[[Connection], T], on_commit: OnCommit[T]) -> None:
        """Queue a transaction without waiting for it."""
        self._writer.submit(transaction, on_commit)

    def _connect_writer(self) -> Connection:
        connection = self._engine.connect()
        if not self._is_migrated:
            self._engine.migrate(connection)
            self._is_migrated = True
        return connection


@dataclass(slots=True, eq=False)
class _Job(Generic[C, T]):
    work: Callable[[C], T]
    on_commit: OnCommit[T]
    result: T | None = None
    error: BaseException | None = None


class DatabaseThread(Generic[C]):
    """A thread that runs jobs in order on its own connection and answers on the event loop."""

    def __init__(
        self,
        connect: Callable[[], C],
        *,
        name: str,
        begin: str = "BEGIN",
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """`begin` starts the transaction of jobs that share a commit, during which `lock` is held."""
        self._connect: Callable[[], C] = connect
        self._begin = begin
        self._lock = lock or nullcontext()
        self._waiting: list[_Job[C, Any]] = []
        self._is_busy = False
        self._batches: queue.SimpleQueue[list[_Job[C, Any]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    async def open(self) -> None:
        """Start the thread and return once it is connected. Raises connection errors."""
        self._thread.start()
        await self._opened

    async def close(self) -> None:
        """Finish the queued jobs, close the connection and stop the thread, if it was started."""
        if self._thread.ident is not None:
            while self._is_busy:
                await self.run(lambda _: None)
            self._batches.put(None)
            await asyncio.to_thread(self._thread.join)

    def submit(self, work: Callable[[C], T], on_commit: OnCommit[T]) -> None:
        """Queue a job; `on_commit(result, error)` is called on the event loop after its commit."""
        self._waiting.append(_Job(work, on_commit))
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        """Pass the waiting jobs to the thread, which is idle.

        Waking it costs more than most jobs do, so those that come meanwhile wait for its answer.
        """
        batch = self._waiting[:JOBS_PER_COMMIT]
        del self._waiting[:JOBS_PER_COMMIT]
        self._is_busy = bool(batch)
        if batch:
            self._batches.put(batch)

    async def run(self, work: Callable[[C], T]) -> T:
        """Queue a job and wait for its result. Cancelling the caller does not undo the job."""
        future: asyncio.Future[T] = self._loop.create_future()

        def resolve(result: T | None, error: BaseException | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]

        self.submit(work, resolve)
        return await future

    def _main(self) -> None:
        try:
            connection = self._connect()
        except BaseException as error:  # noqa: BLE001 - raised by `open`
            self._loop.call_soon_threadsafe(self._opened.set_exception, error)
            return
        self._loop.call_soon_threadsafe(self._opened.set_result, None)
        try:
            while (batch := self._batches.get()) is not None:
                connection = self._commit_batch(connection, batch)
                self._loop.call_soon_threadsafe(self._answer, batch)
        finally:
            discard(connection)

    def _commit_batch(self, connection: C, batch: list[_Job[C, Any]]) -> C:
        """Run the jobs, on a new connection if the server has closed this one. Return the connection."""
        if is_lost(connection):
            try:
                renewed = self._connect()
            except Exception as error:  # noqa: BLE001 - raised to the callers of the jobs
                for job in batch:
                    job.error = error
                return connection
            discard(connection)
            connection = renewed
        self._commit(connection, batch)
        return connection

    def _commit(self, connection: C, batch: list[_Job[C, Any]]) -> None:
        try:
            with self._lock, open_transaction(driver_connection(connection), self._begin):
                for job in batch:
                    job.result = job.work(connection)
        except Exception as error:  # noqa: BLE001 - raised to the caller of the job
            if len(batch) == 1 or is_lost(connection):
                for job in batch:
                    job.error = error
                return
            for job in batch:
                self._commit(connection, [job])

    def _answer(self, batch: list[_Job[C, Any]]) -> None:
        self._hand_over()
        for job in batch:
            # Separate callbacks, so that an exception in one doesn't prevent the others.
            self._loop.call_soon(job.on_commit, None if job.error else job.result, job.error)


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Sort order and page of a search; subclasses add filters. `wanted` filters the rows that the caller may
    reach.
    """

    metadata: Json | None = None
    wanted: Filter | None = None
    limit: int = 10
    offset: int = 0
    sort_by: str = "created_at"
    descending: bool = True


def select_page(
    connection: Connection, table: Table, condition: Any, query: RowQuery, make: Callable[[Any], Any]
) -> RowPage:
    """Return one page of the matching rows, each converted by `make`, and their total number."""
    column = table.c[query.sort_by]
    order = (column.desc() if query.descending else column.asc(), *table.primary_key)
    found = select(table).where(condition).order_by(*order).limit(query.limit).offset(query.offset)
    rows = tuple(make(row) for row in connection.execute(found))
    return RowPage(rows, count_rows(connection, table, condition))


def count_rows(connection: Connection, table: Table, condition: Any) -> int:
    return int(connection.execute(select(func.count()).select_from(table).where(condition)).scalar_one())
