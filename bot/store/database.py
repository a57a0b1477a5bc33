"""Where the store's transactions run.

A store method is a plain function over a `Connection`. SQLite runs it whole on one dedicated thread (one
hop for a transaction, not one for each statement, and the only writer of the file); PostgreSQL runs it over
its async driver. Either way it is one transaction.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bot.errors import HomeUnusable, StoreError
from bot.store.migrate import migrate

P = ParamSpec("P")
T = TypeVar("T")
Job = tuple[Callable[[Connection], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]

BUSY_TIMEOUT_MS = 5_000
_FIRST, _NORMAL, _LAST = range(3)

urgent: ContextVar[bool] = ContextVar("urgent", default=False)
"""Whether what this task asks for goes before what waits: accepting and control overtake work here too."""


class Database(Protocol):
    """Runs functions over a connection, each in a transaction of its own."""

    async def run(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `work(connection, *args, **kwargs)`, commit, and return its result; roll back if it raises."""
        ...

    async def close(self) -> None:
        """Finish what is under way and close the database."""
        ...


class SqliteDatabase:
    """SQLite in WAL mode, all transactions on one thread: urgent ones first, else in the order of asking.

    `asked` counts them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._engine: Engine | None = None
        self._jobs: queue.PriorityQueue[tuple[int, int, Job | None]] = queue.PriorityQueue()
        self.asked = 0
        self._thread = threading.Thread(target=self._work, name="bot.db", daemon=True)
        self._closed = False

    @property
    def engine(self) -> Engine:
        """The engine, for event listeners of tests and metrics. There is one once the database is open."""
        assert self._engine is not None
        return self._engine

    async def open(self) -> None:
        """Start the thread and bring the schema up to date. Raises HomeUnusable."""
        self._engine = await asyncio.to_thread(_sqlite_engine, self.path)
        self._thread.start()
        try:
            await self.run(migrate)
        except (DatabaseError, StoreError) as error:
            await self.close()
            raise HomeUnusable(str(self.path), _reason(error)) from error

    async def run(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """See Database."""
        if self._closed:
            raise StoreError("the database is closed")
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        job = (lambda connection: work(connection, *args, **kwargs), loop, done)
        self.asked += 1
        self._jobs.put((_FIRST if urgent.get() else _NORMAL, self.asked, job))
        # A transaction that was asked for is finished even if the asker is cancelled.
        return await asyncio.shield(done)

    async def close(self) -> None:
        """See Database."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put((_LAST, self.asked, None))
        await asyncio.to_thread(self._thread.join)
        self.engine.dispose()

    def _work(self) -> None:
        connection: Connection | None = None
        while (job := self._jobs.get()[2]) is not None:
            work, loop, done = job
            try:
                connection = connection or self.engine.connect()
                with connection.begin():
                    result = work(connection)
            except BaseException as error:  # noqa: BLE001 - carried to the asker, whatever it is
                _settle(loop, done, None, error)
            else:
                _settle(loop, done, result, None)
        if connection is not None:
            connection.close()


class PostgresDatabase:
    """PostgreSQL over psycopg; transactions of different conversations run side by side."""

    def __init__(self, url: str) -> None:
        self._url = _psycopg_url(url)
        self._engine = create_async_engine(self._url, pool_size=8, max_overflow=8, pool_pre_ping=True)

    @property
    def engine(self) -> AsyncEngine:
        """The engine, for event listeners of tests and metrics."""
        return self._engine

    async def open(self) -> None:
        """Bring the schema up to date (on a thread: migrations read files). Raises HomeUnusable."""
        try:
            await asyncio.to_thread(self._migrate)
        except (DatabaseError, StoreError) as error:
            await self.close()
            raise HomeUnusable("database.url", _reason(error)) from error

    def _migrate(self) -> None:
        engine = create_engine(self._url)
        try:
            with engine.begin() as connection:
                migrate(connection)
        finally:
            engine.dispose()

    async def run(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """See Database."""
        return await asyncio.shield(self._run(lambda connection: work(connection, *args, **kwargs)))

    async def _run(self, work: Callable[[Connection], T]) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        """See Database."""
        await self._engine.dispose()


async def open_database(home: Path, url: str | None = None) -> Database:
    """Open `url`, or `bot.db` below `home` where it is None. Raises HomeUnusable."""
    database = PostgresDatabase(url) if url else SqliteDatabase(home / "bot.db")
    await database.open()
    return database


def _settle(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    def settle() -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    with suppress(RuntimeError):  # the loop is gone, and with it whoever waited
        loop.call_soon_threadsafe(settle)


def _sqlite_engine(path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{path}")

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver's own BEGIN comes too late for reads, so ours is emitted below.
        connection.isolation_level = None
        for pragma in (
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _psycopg_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"postgresql+psycopg://{rest}" if scheme in {"postgres", "postgresql"} else url


def _reason(error: DatabaseError | StoreError) -> str:
    if isinstance(error, StoreError):
        return str(error)
    return str(error.orig) if error.orig is not None else type(error).__name__
