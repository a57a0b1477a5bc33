"""The two databases of the runtime: a SQLite file, or PostgreSQL."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from agent.errors import HomeInUse
from agent.runtime.access import allows_json
from agent.runtime.store.schema_version import migrate
from agent.runtime.store.statements import driver_connection
from agent.shared.postgres_url import END_IF_IDLE, connect_arguments, sqlalchemy_url

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
MIGRATION_LOCK = 5_207_744_901
"""Key of the advisory lock under which one process at a time changes the schema; any number will do."""


class DatabaseEngine(Protocol):
    """Opens connections without SQLAlchemy's transactions, which cost more than statements; see
    `open_transaction`.
    """

    name: str
    """What people call the database."""
    begin_write: str
    begin_read: str

    def migrate(self, connection: Connection) -> None:
        """Migrate the database to this version. Raises `HomeInUse` if a newer version wrote it."""
        ...

    def connect(self) -> Connection:
        """Open a connection. Raises SQLAlchemy's `DBAPIError`."""
        ...


@contextmanager
def opening(engine: DatabaseEngine) -> Iterator[None]:
    """Raise `HomeInUse` if the database can't be opened in this context, at the start of a process."""
    try:
        yield
    except DBAPIError as error:
        reason = str(error.orig).partition("\n")[0]
        raise HomeInUse(f"{engine.name} can't be used: {reason}") from error


class HomeLock:
    """A locked file, so that a data directory has one owning process.

    The system unlocks it when the process ends.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> bool:
        """Lock the file, unless another process has locked it."""
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let another process use the data directory."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class SqliteEngine:
    """A file with exactly one owning process."""

    begin_write = "BEGIN IMMEDIATE"
    begin_read = "BEGIN"

    def __init__(self, path: Path) -> None:
        self.name = f"{path.name} in this data directory"
        self._path = path

    def migrate(self, connection: Connection) -> None:
        with open_transaction(driver_connection(connection), self.begin_write):
            migrate(connection)

    def connect(self) -> Connection:
        engine = create_engine(
            f"sqlite:///{self._path}",
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


class PostgresEngine:
    """A PostgreSQL database, possibly behind pgbouncer in transaction mode."""

    begin_write = f"BEGIN; {END_IF_IDLE}"
    # A read sees one state, as on SQLite.
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    name = "the database of database.url"

    def __init__(self, url: str) -> None:
        self._engine = create_engine(
            sqlalchemy_url(url),
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args=connect_arguments(url),
        )

    def migrate(self, connection: Connection) -> None:
        with open_transaction(driver_connection(connection), self.begin_write):
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
            migrate(connection)

    def connect(self) -> Connection:
        return self._engine.connect()


def vacuum_database(url: str) -> None:
    """Free the space of deleted rows in a PostgreSQL database. Blocking."""
    with PostgresEngine(url).connect() as connection:
        connection.exec_driver_sql("VACUUM")


def make_engine(place: Path | str) -> DatabaseEngine:
    """Return the engine of a SQLite file or a PostgreSQL URL."""
    return SqliteEngine(place) if isinstance(place, Path) else PostgresEngine(place)


@contextmanager
def open_transaction(connection: Any, begin: str = "BEGIN") -> Iterator[None]:
    """Commit what is done in this context on a driver's connection, or undo it after an exception."""
    connection.execute(begin)
    try:
        yield
        connection.commit()
    except BaseException:
        # SQLite may have undone it already; psycopg knows that by itself.
        if not is_lost(connection) and getattr(connection, "in_transaction", True):
            connection.rollback()
        raise


def is_lost(connection: Any) -> bool:
    """Return whether a connection of a driver or of SQLAlchemy has to be replaced."""
    if not isinstance(connection, Connection):
        return bool(getattr(connection, "closed", False))
    # After an error of a statement, SQLAlchemy may have given up the driver's connection itself.
    return connection.invalidated or is_lost(driver_connection(connection))


def discard(connection: Any) -> None:
    """Close a connection, whether it works or not."""
    if isinstance(connection, Connection) and is_lost(connection) and not connection.invalidated:
        connection.invalidate()
    connection.close()
