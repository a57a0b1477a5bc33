"""Copies of tables between the databases of an installation: SQLite files and PostgreSQL.

Rows are copied in batches, each in a transaction. A later call continues an interrupted copy: the target has
the first rows of each table in the order of the primary key. A row in the target says whose copy it is and
whether it is complete; until then no service starts on it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Float,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from agent.shared.postgres_url import connect_arguments, sqlalchemy_url

BATCH: Final = 1_000
"""Number of rows in a transaction."""
REPORT_EVERY: Final = 5.0
"""Seconds between two lines about a table that takes longer."""
_copies = Table(
    "database_copies",
    MetaData(),
    Column("part", String, primary_key=True),
    Column("origin", Text, nullable=False),
    Column("finished_at", Float, nullable=False),
)
"""Copies into this database by part (`bot` or `agent`). `finished_at` is 0 for one that is not complete."""
MIGRATE: Final = {"bot": "roebot migrate", "agent": "roebot agent migrate"}
"""Command that copies a part."""


class CopyRefused(Exception):
    """A copy can't begin or was stopped; the message is one line for display."""


class CopyState(StrEnum):
    """How far a copy is."""

    NEW = "new"
    UNFINISHED = "unfinished"
    FINISHED = "finished"


class CopyStep(StrEnum):
    """Points between which the target changes, at which tests kill the process."""

    BEGUN = "begun"
    ROWS_COPIED = "rows_copied"
    CHECKPOINT_COPIED = "checkpoint_copied"
    WRITES_COPIED = "writes_copied"
    COUNTED = "counted"


def ignore_step(_step: CopyStep) -> None:
    """Do nothing at a step."""


class CopyProgress:
    """Lines about what takes longer than some seconds."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell, self._clock, self._told_at = tell, clock, clock()

    def report(self, name: str, done: int, total: int) -> None:
        """Tell how many rows of a table are copied, if the last line was some seconds ago."""
        if self._clock() - self._told_at >= REPORT_EVERY:
            self._told_at = self._clock()
            self._tell(f"{name}: {done} of {total}")


def open_copy_engine(place: Path | str) -> Engine:
    """Return the engine of a SQLite file or a PostgreSQL URL."""
    if isinstance(place, str):
        return create_engine(sqlalchemy_url(place), poolclass=NullPool, connect_args=connect_arguments(place))
    engine = create_engine(f"sqlite:///{place}", poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def _set_pragmas(connection: Any, _record: Any) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=10000"):
            connection.execute(f"PRAGMA {pragma}")

    return engine


@contextmanager
def open_source(
    place: Path | str, read_version: Callable[[Connection], str], newest: str, upgrade: Callable[[Path], None]
) -> Iterator[Engine | None]:
    """Open a source for reading; None if it has no tables, because nothing has used it.

    Of a SQLite file of an earlier version, a copy is upgraded and read. Raises CopyRefused for a PostgreSQL
    database of another version.
    """
    if isinstance(place, Path) and not place.exists():
        yield None
        return
    engine = open_copy_engine(place)
    with engine.connect() as connection:
        version = read_version(connection)
    if version in ("", newest):
        yield engine if version else None
        return
    is_newer = int(version) > int(newest)
    if isinstance(place, str) or is_newer:
        remedy = "copy it with that newer version" if is_newer else "start this version of the service once"
        raise CopyRefused(
            f"the source has version {version} of the tables, this program has {newest}; {remedy}"
        )
    copy = place.with_name(f"{place.name}.tmp")
    try:
        _remove_database(copy)
        with (
            closing(sqlite3.connect(f"{place.as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
        upgrade(copy)
        yield open_copy_engine(copy)
    finally:
        _remove_database(copy)


def _remove_database(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        file.with_name(f"{file.name}{suffix}").unlink(missing_ok=True)


def describe_url(url: str) -> str:
    """Return the host and name of a PostgreSQL database, without user and password."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"PostgreSQL at {parts.hostname or 'a local socket'}{port}{parts.path}"


class TableCopy:
    """The copy of some tables, as one part of an installation. Blocking."""

    def __init__(
        self,
        source: Engine,
        target: Engine,
        tables: Sequence[Table],
        *,
        part: str,
        origin: str,
        tell: Callable[[str], None],
        reach: Callable[[CopyStep], None] = ignore_step,
    ) -> None:
        """`tables` are in the order of their references; `origin` describes the source."""
        self._source, self._target, self._tables = source, target, tables
        self._part, self._origin = part, origin
        self._tell, self._reach = tell, reach
        self._progress = CopyProgress(tell)
        self.replaced = 0
        """Number of NUL characters that were replaced by U+FFFD."""

    def check(self) -> CopyState:
        """Return how far this copy is. Raises CopyRefused if the target has other content."""
        with self._target.connect() as target:
            found = _read_copy(target, self._part)
            if found is None:
                known, is_file = set(inspect(target).get_table_names()), target.dialect.name == "sqlite"
                for table in self._tables:
                    if table.name in known and _count(target, table):
                        remedy = "move the file away" if is_file else "use an empty database"
                        raise CopyRefused(
                            f"the target is not empty: its table {table.name} has rows. Nothing is "
                            f"overwritten; {remedy}"
                        )
                return CopyState.NEW
        if found.origin != self._origin:
            raise CopyRefused(f"the target holds a copy of {found.origin}, not of {self._origin}")
        return CopyState.FINISHED if found.finished_at else CopyState.UNFINISHED

    def begin(self) -> None:
        """Record in the target that it is an unfinished copy."""
        with self._target.begin() as target:
            _copies.create(target, checkfirst=True)
            if _read_copy(target, self._part) is None:
                target.execute(_copies.insert().values(part=self._part, origin=self._origin, finished_at=0.0))
        self._reach(CopyStep.BEGUN)

    def copy_rows(self) -> None:
        """Copy the rows that the target lacks. Raises CopyRefused."""
        with self._source.connect() as source, self._target.connect() as target:
            known = set(inspect(source).get_table_names())
            for table in self._tables:
                if table.name in known:
                    self._copy_table(source, target, table)

    def _copy_table(self, source: Connection, target: Connection, table: Table) -> None:
        total, done = _count(source, table), _count(target, table)
        query = select(table).order_by(*table.primary_key).offset(done)
        reader = source.execution_options(stream_results=True, yield_per=BATCH)
        for batch in reader.execute(query).mappings().partitions():
            rows = [dict(row) for row in batch]
            if target.dialect.name == "postgresql":
                rows = [self._without_nul(row) for row in rows]
            try:
                target.execute(table.insert(), rows)
            except DBAPIError as error:
                reason = " ".join(str(error.orig).split())
                raise CopyRefused(
                    f"rows {done + 1} to {done + len(rows)} of {table.name}: {reason}"
                ) from error
            target.commit()
            done += len(rows)
            self._reach(CopyStep.ROWS_COPIED)
            self._progress.report(table.name, done, total)
        target.rollback()

    def finish(self, now: float) -> int:
        """Compare the numbers of rows, mark the copy as complete and return the number of all rows.

        Raises CopyRefused if numbers differ.
        """
        with self._source.connect() as source, self._target.begin() as target:
            known = set(inspect(source).get_table_names())
            rows = 0
            for table in self._tables:
                wanted = _count(source, table) if table.name in known else 0
                require_same(table.name, wanted, _count(target, table))
                if wanted:
                    self._tell(f"{table.name}: {wanted}")
                rows += wanted
                if target.dialect.name == "postgresql":
                    _advance_sequence(target, table)
            self._reach(CopyStep.COUNTED)
            target.execute(_copies.update().where(_copies.c.part == self._part).values(finished_at=now))
        return rows

    def _without_nul(self, value: Any) -> Any:
        if isinstance(value, str):
            self.replaced += (number := value.count("\0"))
            return value.replace("\0", "\ufffd") if number else value
        if isinstance(value, Mapping):
            return {self._without_nul(key): self._without_nul(one) for key, one in value.items()}
        return [self._without_nul(one) for one in value] if isinstance(value, list) else value


def require_same(name: str, wanted: int, found: int) -> None:
    """Raise CopyRefused if the source and the target have different numbers of rows."""
    if wanted != found:
        raise CopyRefused(
            f"{name}: the source has {wanted} rows, the target {found}. One of them was changed "
            "during the copy; empty the target and repeat it"
        )


def find_missing_copy(connection: Connection, part: str, table: str, file: Path | None) -> str | None:
    """Return why a service must not start on this database, or None.

    A copy may be unfinished, or `table` be empty here and not in the SQLite `file` that was used before
    (None: this is the SQLite database).
    """
    found = _read_copy(connection, part)
    if found is not None:
        again = f"`{MIGRATE[part]} --to {'postgres' if file else 'sqlite'}`"
        return None if found.finished_at else f"the database holds an unfinished copy; run {again} again"
    if file is None or not _has_rows(file, table):
        return None
    known = inspect(connection).has_table(table)
    if known and connection.execute(text(f"SELECT 1 FROM {table} LIMIT 1")).first():  # noqa: S608 - a constant
        return None
    return (
        f"{file.name} in the data directory has {table}, but the database of database.url has none. Copy "
        f"them with `{MIGRATE[part]} --to postgres`, or move {file.name} away to start empty"
    )


def drop_copy(place: str, file: Path, part: str, tables: Sequence[str]) -> None:
    """Drop tables that were copied from a PostgreSQL database to a SQLite file, so that they can be copied
    back later. Raises CopyRefused if the file isn't their complete copy.
    """
    with open_copy_engine(file).connect() as copy, open_copy_engine(place).begin() as connection:
        found = _read_copy(copy, part)
        if found is None or found.origin != describe_url(place) or not found.finished_at:
            raise CopyRefused(f"copy the data with `{MIGRATE[part]} --to sqlite` first")
        for table in tables:
            connection.execute(text(f"DROP TABLE IF EXISTS {table}"))
        if inspect(connection).has_table(_copies.name):
            connection.execute(_copies.delete().where(_copies.c.part == part))


def _has_rows(file: Path, table: str) -> bool:
    if not file.exists():
        return False
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        if connection.execute(known, (table,)).fetchone() is None:
            return False
        return connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None  # noqa: S608 - a constant


def _read_copy(connection: Connection, part: str) -> Any:
    if not inspect(connection).has_table(_copies.name):
        return None
    return connection.execute(select(_copies).where(_copies.c.part == part)).one_or_none()


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _advance_sequence(connection: Connection, table: Table) -> None:
    column = table.autoincrement_column
    if column is None:
        return
    sequence = select(func.pg_get_serial_sequence(table.name, column.name))
    if (name := connection.execute(sequence).scalar_one()) is None:
        return
    if largest := connection.execute(select(func.max(column))).scalar_one():
        connection.execute(select(func.setval(name, largest)))
