"""Access to `agent.db`: one writing and one reading thread, each with its own connection.

A transaction is a plain function over a `Connection` without other effects. Queued writes share a commit; if
one of them fails, the shared transaction is rolled back and each is run again in a transaction of its own.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from sqlalchemy import Connection, Insert, Table, Update, create_engine, event, func, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import NullPool

from agent.errors import HomeInUse
from agent.runtime.access import Filter, allows_json
from agent.runtime.domain import Json, RowPage
from agent.runtime.store.schema import migrate

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", Connection, sqlite3.Connection)
OnCommit = Callable[[T | None, BaseException | None], None]
"""Called on the event loop with the result or the error of a job."""

JOBS_PER_COMMIT = 64
LOCK_EVERY, LOCK_TRIES = 0.1, 30
"""Seconds between two attempts to lock the database, and their number."""
PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=NORMAL",
    "busy_timeout=10000",
    "cache_size=-256",
    "secure_delete=ON",
)
"""Settings of every connection of the runtime. Deleted rows are overwritten. The page cache has 256 KiB
because the operating system caches the pages that matter; the 2 MB that are the default would stay
allocated for each connection.
"""


class RuntimeDatabase:
    """Exclusive owner of `agent.db` while it is open."""

    def __init__(self, path: Path, *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._path = path
        self._sleep = sleep
        self._lock: int | None = None
        self._writer = DatabaseThread(self._connect_writer, name="agent-db-writer", begin=_WRITE)
        self._reader = DatabaseThread(self._connect_reader, name="agent-db-reader")

    async def open(self) -> None:
        """Lock the database and migrate it to this version. Raises `HomeInUse`.

        Another process that holds the lock may be stopping, for example because its parent was killed.
        """
        tries = 1
        while not await asyncio.to_thread(self._take_lock):
            if tries == LOCK_TRIES:
                raise HomeInUse(f"another process uses {self._path.name} in this data directory")
            await self._sleep(LOCK_EVERY)
            tries += 1
        await self._writer.open()
        await self._reader.open()

    async def close(self) -> None:
        """Finish the queued jobs and unlock the database."""
        await self._reader.close()
        await self._writer.close()
        if self._lock is not None:
            os.close(self._lock)

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

    def _take_lock(self) -> bool:
        """Lock the database, unless another process has locked it."""
        if self._lock is None:
            self._lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _connect_writer(self) -> Connection:
        connection = _connect(self._path)
        with open_transaction(driver_connection(connection), _WRITE):
            migrate(connection)
        return connection

    def _connect_reader(self) -> Connection:
        return _connect(self._path)


_WRITE = "BEGIN IMMEDIATE"


def _connect(path: Path) -> Connection:
    """Connect without SQLAlchemy's transactions, which cost more than statements; see `open_transaction`."""
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def _set_pragmas(connection: Any, _record: Any) -> None:
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        connection.create_function("access_allows", 2, allows_json, deterministic=True)

    return engine.connect()


@contextmanager
def open_transaction(connection: sqlite3.Connection, begin: str = "BEGIN") -> Iterator[None]:
    """Commit what is done in this context, or undo it after an exception."""
    connection.execute(begin)
    try:
        yield
        connection.commit()
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise


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
                self._commit(connection, batch)
                self._loop.call_soon_threadsafe(self._answer, batch)
        finally:
            connection.close()

    def _commit(self, connection: C, batch: list[_Job[C, Any]]) -> None:
        try:
            with self._lock, open_transaction(driver_connection(connection), self._begin):
                for job in batch:
                    job.result = job.work(connection)
        except Exception as error:  # noqa: BLE001 - raised to the caller of the job
            if len(batch) == 1:
                batch[0].error = error
                return
            for job in batch:
                self._commit(connection, [job])

    def _answer(self, batch: list[_Job[C, Any]]) -> None:
        self._hand_over()
        for job in batch:
            # Separate callbacks, so that an exception in one doesn't prevent the others.
            self._loop.call_soon(job.on_commit, None if job.error else job.result, job.error)


class PreparedStatement:
    """A write statement compiled once and executed by the driver, for the few statements needed by every run.

    The values must already have the Python types that the columns take.
    """

    def __init__(self, statement: Insert | Update, *, columns: Iterable[str] | None = None) -> None:
        """`columns` names the columns of an insert."""
        compiled = statement.compile(
            dialect=sqlite.dialect(paramstyle="qmark"),
            column_keys=None if columns is None else list(columns),
        )
        self.sql = str(compiled)
        self._names = tuple(compiled.positiontup or ())
        self._constants = {name: value for name, value in compiled.params.items() if value is not None}
        self._converters = dict(compiled._bind_processors)

    def execute(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute the statement and return the number of written rows."""
        cursor = driver_connection(connection).execute(self.sql, self._order_values(values))
        return int(cursor.rowcount)

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute an insert and return the row id."""
        cursor = driver_connection(connection).execute(self.sql, self._order_values(values))
        return int(cursor.lastrowid)

    def _order_values(self, values: Mapping[str, Any]) -> list[Any]:
        ordered = []
        for name in self._names:
            value = values[name] if name in values else self._constants[name]
            convert: Any = self._converters.get(name)
            ordered.append(value if convert is None else convert(value))
        return ordered


def prepare_insert(table: Table, *, without: str | None = None) -> PreparedStatement:
    """Prepare an insert of all columns except `without`, which the database fills."""
    names = [column.name for column in table.c if column.name != without]
    return PreparedStatement(table.insert(), columns=names)


def driver_connection(connection: Connection | sqlite3.Connection) -> Any:
    """Return the `sqlite3` connection, whose transaction the other one shares."""
    if isinstance(connection, sqlite3.Connection):
        return connection
    return connection.connection.driver_connection


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
