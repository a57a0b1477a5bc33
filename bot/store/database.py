"""Execution of store transactions.

A store operation is a function over a `Connection`. SQLite runs it on one dedicated thread, the only writer
of the file (one thread switch per transaction instead of one per statement); PostgreSQL runs it on its
async driver.

With `synchronous=NORMAL` a commit survives `kill -9`, but not a power failure, which can lose the newest
ones: `FULL` would wait for the disk in each of a turn's ten or so transactions. PostgreSQL waits for it.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy
from sqlalchemy import create_engine, event
from sqlalchemy.exc import DatabaseError, DBAPIError
from sqlalchemy.pool import NullPool

from agent.shared.postgres_url import END_IF_IDLE, connect_arguments, sqlalchemy_url
from agent.shared.sqlite_compaction import Compaction, compact_database
from agent.shared.sqlite_errors import is_temporary
from bot.errors import HomeUnusable, StoreError, StoreUnavailable
from bot.store.connection import Connection, SqlAlchemyConnection, SqliteConnection
from bot.store.replica_leases import check_lease, fence
from bot.store.schema_version import migrate

P = ParamSpec("P")
T = TypeVar("T")
Job = tuple[Callable[[Connection], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]

BUSY_TIMEOUT_MS = 5_000
BEGIN = "BEGIN IMMEDIATE"
DAMAGED = "Restore a backup, or move the file away to start over."
_FIRST, _NORMAL, _LAST = range(3)
_UNAVAILABLE = (DBAPIError, sqlalchemy.exc.TimeoutError)
"""What PostgreSQL and the pool of connections to it raise."""
_POSTGRES_UNAVAILABLE = ("08", "25006", "25P03", "53", "57P", "58")
"""SQLSTATEs of PostgreSQL and pgbouncer for a lost connection, a read-only or full server, and a shutdown."""
SCHEMA_LOCK = 5_207_744_903
"""Key of the advisory lock under which one process at a time changes the schema. The agent uses others."""
LOCK_SCHEMA = sqlalchemy.text("SELECT pg_advisory_xact_lock(:key)")
POOL_SECONDS = 30.0
LOCK_NOT_AVAILABLE = "55P03"
MIGRATION_TRIES, MIGRATION_PAUSE = 30, 0.5
"""Attempts to change the schema, and the seconds between them, in which other work continues."""
urgent: ContextVar[bool] = ContextVar("urgent", default=False)
"""Runs the current task's transactions before others that are waiting: accepting messages and control turns
must not wait for ordinary work.
"""


class Database(Protocol):
    """Runs functions over a connection, each in its own transaction."""

    async def transact(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, *args, **kwargs)`, commit and return its result; roll back on an exception.

        Raises StoreError if the database fails, StoreUnavailable if the same work may succeed later.
        """
        ...

    async def schema(self, work: Callable[[sqlalchemy.Connection], T]) -> T:
        """Run `work` on SQLAlchemy in a transaction: for migrations and schema checks."""
        ...

    async def compact(self) -> None:
        """Purge deleted content from the database files. Raises StoreError."""
        ...

    async def close(self) -> None:
        """Finish running transactions and close the database."""
        ...


@dataclass(frozen=True, slots=True)
class _Compaction:
    """A job that runs outside transactions, on its own connection, while the thread's regular connection is
    idle.
    """

    path: Path

    def __call__(self, _connection: Connection) -> Compaction:
        """Compact the database."""
        return compact_database(self.path)


class SqliteDatabase:
    """SQLite in WAL mode with all transactions on one thread: urgent ones first, otherwise in call order.

    `asked` counts the calls.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._jobs: queue.PriorityQueue[tuple[int, int, Job | None]] = queue.PriorityQueue()
        self.asked = 0
        self._thread = threading.Thread(target=self._work, name="bot.db", daemon=True)
        self._connection: SqliteConnection | None = None
        self._closed = False

    async def open(self) -> None:
        """Upgrade the schema and start the thread. Raises HomeUnusable."""
        try:
            await self.schema(migrate)
        except (DatabaseError, StoreError) as error:
            raise HomeUnusable(str(self.path), _reason(error)) from error
        self._thread.start()

    async def schema(self, work: Callable[[sqlalchemy.Connection], T]) -> T:
        return await asyncio.to_thread(self._schema, work)

    def _schema(self, work: Callable[[sqlalchemy.Connection], T]) -> T:
        engine = create_engine("sqlite://", creator=lambda: _connect(self.path), poolclass=NullPool)

        @event.listens_for(engine, "begin")
        def begin(connection: sqlalchemy.Connection) -> None:
            connection.exec_driver_sql(BEGIN)

        with engine.begin() as connection:
            return work(connection)

    async def transact(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._queue(lambda connection: work(connection, *args, **kwargs))

    async def compact(self) -> None:
        await self._queue(_Compaction(self.path))

    async def _queue(self, work: Callable[[Connection], T]) -> T:
        if self._closed:
            raise StoreError("the database is closed")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self.asked += 1
        self._jobs.put((_FIRST if urgent.get() else _NORMAL, self.asked, (work, loop, done)))
        # The caller may be cancelled, but a transaction that was requested still runs to its end.
        return await asyncio.shield(done)

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._jobs.put((_LAST, self.asked, None))
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while (job := self._jobs.get()[2]) is not None:
            self._run_job(job)
        self._disconnect()

    def _run_job(self, job: Job) -> None:
        work, loop, done = job
        try:
            self._connection = self._connection or SqliteConnection(_connect(self.path))
            execute = _run_alone if isinstance(work, _Compaction) else _transaction
            result = execute(self._connection, work)
        except sqlite3.Error as error:
            _resolve(loop, done, None, _failed(error))
        except BaseException as error:  # noqa: BLE001 - carried to the asker, whatever it is
            _resolve(loop, done, None, error)
        else:
            _resolve(loop, done, result, None)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.raw.close()


class PostgresDatabase:
    """PostgreSQL with psycopg; transactions of different conversations run concurrently.

    They wait up to `wait` seconds for a free connection. `replica` is the name of this replica ("": there are
    none).
    """

    def __init__(self, url: str, wait: float = POOL_SECONDS, replica: str = "") -> None:
        # Takes 40 ms to load, which every start on SQLite would wait for.
        from sqlalchemy.ext.asyncio import create_async_engine

        self._url = sqlalchemy_url(url)
        self._running: set[asyncio.Future[Any]] = set()
        self._engine = create_async_engine(
            self._url,
            pool_size=8,
            max_overflow=8,
            pool_timeout=wait,
            pool_pre_ping=True,
            connect_args={**connect_arguments(self._url), "application_name": f"roebot {replica}".strip()},
        )
        if replica:

            @event.listens_for(self._engine.sync_engine, "begin")
            def begin(connection: sqlalchemy.Connection) -> None:
                connection.exec_driver_sql(END_IF_IDLE)

    async def open(self) -> None:
        """Upgrade the schema, as soon as no transaction holds its tables. Raises HomeUnusable."""
        try:
            for _ in range(MIGRATION_TRIES - 1):
                try:
                    return await self.schema(migrate)
                except DBAPIError as error:
                    if getattr(error.orig, "sqlstate", None) != LOCK_NOT_AVAILABLE:
                        raise
                await asyncio.sleep(MIGRATION_PAUSE)
            await self.schema(migrate)
        except (DatabaseError, StoreError) as error:
            await self.close()
            raise HomeUnusable("database.url", _reason(error)) from error

    async def schema(self, work: Callable[[sqlalchemy.Connection], T]) -> T:
        """Run `work` on a thread, because migrations read files."""
        return await asyncio.to_thread(self._schema, work)

    def _schema(self, work: Callable[[sqlalchemy.Connection], T]) -> T:
        engine = create_engine(self._url)
        try:
            with engine.begin() as connection:
                connection.execute(LOCK_SCHEMA, {"key": SCHEMA_LOCK})
                return work(connection)
        finally:
            engine.dispose()

    async def transact(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        # The caller may be cancelled, but a transaction that was requested still runs to its end.
        task = asyncio.ensure_future(self._transact(lambda connection: work(connection, *args, **kwargs)))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _transact(self, work: Callable[[Connection], T]) -> T:
        lease = fence.get()

        def run(inner: sqlalchemy.Connection) -> T:
            connection = SqlAlchemyConnection(inner)
            if lease is not None:
                check_lease(connection, lease)
            return work(connection)

        try:
            async with self._engine.begin() as connection:
                return await connection.run_sync(run)
        except _UNAVAILABLE as error:
            raise _failed(error) from error

    async def compact(self) -> None:
        """Run VACUUM, which does not block other work. PostgreSQL's own write-ahead log and backups are not
        affected.
        """
        try:
            async with self._engine.connect() as connection:
                plain = await connection.execution_options(isolation_level="AUTOCOMMIT")
                await plain.exec_driver_sql("VACUUM")
        except _UNAVAILABLE as error:
            raise _failed(error) from error

    async def close(self) -> None:
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._engine.dispose()


async def open_database(home: Path, url: str | None = None, replica: str = "") -> Database:
    """Open `url`, or `bot.db` in `home` if it is None. Raises HomeUnusable."""
    database = PostgresDatabase(url, replica=replica) if url else SqliteDatabase(home / "bot.db")
    await database.open()
    return database


def _resolve(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    def set_outcome() -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    with suppress(RuntimeError):  # the event loop is closed, so nobody is waiting for the result
        loop.call_soon_threadsafe(set_outcome)


def _connect(path: Path) -> sqlite3.Connection:
    # Disable the driver's implicit BEGIN: it does not cover reads, so the transaction is opened explicitly.
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "secure_delete=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _run_alone(connection: SqliteConnection, work: Callable[[Connection], T]) -> T:
    """Run a job outside a transaction."""
    return work(connection)


def _transaction(connection: SqliteConnection, work: Callable[[Connection], T]) -> T:
    connection.raw.execute(BEGIN)
    try:
        result = work(connection)
        connection.raw.execute("COMMIT")
    except BaseException:
        if connection.raw.in_transaction:
            connection.raw.execute("ROLLBACK")
        raise
    return result


def _failed(error: sqlite3.Error | DBAPIError | sqlalchemy.exc.TimeoutError) -> StoreError:
    kind = StoreUnavailable if _is_unavailable(error) else StoreError
    found = kind(f"database error: {getattr(error, 'orig', None) or error}")
    found.__cause__ = error
    return found


def _is_unavailable(error: sqlite3.Error | DBAPIError | sqlalchemy.exc.TimeoutError) -> bool:
    """Return whether the same operation may succeed later, on a connection that works again."""
    if isinstance(error, sqlite3.Error):
        return is_temporary(getattr(error, "sqlite_errorcode", 0))
    if isinstance(error, sqlalchemy.exc.TimeoutError):
        return True
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if error.connection_invalidated or state.startswith(_POSTGRES_UNAVAILABLE):
        return True
    # Errors without a statement occur while connecting, beginning or committing.
    is_operational = isinstance(error, sqlalchemy.exc.OperationalError | sqlalchemy.exc.InterfaceError)
    return is_operational and (not state or (error.statement is None and not state.startswith("40")))


def _reason(error: DatabaseError | StoreError) -> str:
    if isinstance(error, StoreError):
        return str(error)
    reason = str(error.orig) if error.orig is not None else type(error).__name__
    return f"{reason}. {DAMAGED}" if "not a database" in reason or "malformed" in reason else reason
