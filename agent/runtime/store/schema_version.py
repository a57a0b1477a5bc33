"""Versions of the runtime's tables: migrate them, or return to an earlier version.

The database records the oldest version of a program that can use its tables, so that neighbouring versions of
Roebot can share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Integer, MetaData, Table, func, insert, inspect, select, text, true
from sqlalchemy.schema import CreateColumn

from agent.errors import HomeInUse
from agent.runtime.store import schema
from agent.runtime.store.schema import processes, runs
from agent.runtime.store.statements import insert_into, is_sqlite


def _fill_assistant_versions(connection: Connection) -> None:
    names = [column.name for column in schema.assistant_versions.columns]
    # SQLite takes "ON CONFLICT" after a select without a condition for a part of a join.
    known = select(*[schema.assistants.c[name] for name in names]).where(true())
    rows = insert_into(connection, schema.assistant_versions).from_select(names, known)
    connection.execute(rows.on_conflict_do_nothing())


@dataclass(frozen=True, slots=True)
class Migration:
    """A step to the next version: the tables and columns that it adds, and what else it does.

    `requires` is the oldest version of a program that can use the tables afterwards; None if each program
    that could use them before still can.
    """

    adds: Sequence[Table | Column[Any]]
    run: Callable[[Connection], None] | None = None
    requires: int | None = None


MIGRATIONS = (
    Migration((schema.threads, runs, schema.events, schema.assistants)),
    Migration((schema.probes,)),
    Migration((schema.assistant_versions,), _fill_assistant_versions),
    Migration((schema.thread_expiries, schema.crons)),
    Migration((schema.webhook_deliveries,)),
    Migration((processes, runs.c.owner, runs.c.fence, runs.c.stop)),
    Migration((processes.c.version,)),
)
"""Step n migrates version n to n + 1. Append new steps; never change existing ones."""
NEWEST = len(MIGRATIONS)
FIRST_ON_POSTGRES, UNRECORDED = 5, 6
"""First version of programs that can use PostgreSQL, and last one of those that don't record their own."""
OLDEST = max(UNRECORDED, *(step.requires or 0 for step in MIGRATIONS))
"""Oldest version of a program that can use the tables."""
_versions = Table(
    "agent_version",
    MetaData(),
    Column("version", Integer, primary_key=True),
    Column("oldest", Integer, nullable=False, server_default="0"),
)
"""The version to which the tables were migrated, and the oldest program version that can use them. SQLite has
the number of the version in the file, too.
"""
_OLDER_PROCESS = text(
    f"""SELECT owner FROM agent_processes WHERE GREATEST(version, {UNRECORDED}) < :oldest
    AND until >= extract(epoch FROM clock_timestamp()) ORDER BY owner LIMIT 1"""  # noqa: S608 - a constant
)


def migrate(connection: Connection) -> None:
    """Migrate the database to this version; one of a newer version stays as it is.

    Raises `HomeInUse` if this program can't use it, or if a running process could not use it afterwards.
    """
    version = read_version(connection)
    if version > NEWEST:
        _check_newer(connection, version)
    for step in MIGRATIONS[version:]:
        for added in step.adds:
            _add(connection, added)
        if step.run is not None:
            step.run(connection)
    if version < NEWEST:
        _write_version(connection, NEWEST)
        _check_running(connection)


def read_version(connection: Connection) -> int:
    """Return the version to which the tables were migrated, 0 if there are none."""
    if is_sqlite(connection):
        return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
    _versions.create(connection, checkfirst=True)
    return int(connection.execute(select(func.coalesce(func.max(_versions.c.version), 0))).scalar_one())


def return_to(connection: Connection, version: int) -> list[str]:
    """Drop what the migrations after a version added, and return its names.

    Raises `HomeInUse` if that is impossible.
    """
    if (found := read_version(connection)) != NEWEST or not 1 <= version <= NEWEST:
        raise HomeInUse(
            f"the agent's database has version {found}; it can return from {NEWEST} to 1 or later"
        )
    added = [one for step in MIGRATIONS[version:] for one in step.adds]
    tables = [one for one in added if isinstance(one, Table)]
    columns = [one for one in added if isinstance(one, Column) and one.table not in tables]
    for table in tables:
        table.drop(connection)
    for column in columns:
        connection.exec_driver_sql(f"ALTER TABLE {column.table.name} DROP COLUMN {column.name}")
    _write_version(connection, version)
    if version <= UNRECORDED:
        is_file = is_sqlite(connection)
        undo = "DROP TABLE agent_version" if is_file else "ALTER TABLE agent_version DROP COLUMN oldest"
        connection.exec_driver_sql(undo)
    return [*(table.name for table in tables), *(str(column) for column in columns)]


def _check_newer(connection: Connection, version: int) -> None:
    oldest = connection.execute(select(_versions.c.oldest).where(_versions.c.version == version)).scalar()
    if not oldest or oldest > NEWEST:
        raise HomeInUse(
            f"a newer version of Roebot changed the agent's database (version {version}), and this one, "
            f"which supports up to {NEWEST}, can't use it any longer. Install the newer version"
        )


def _check_running(connection: Connection) -> None:
    if is_sqlite(connection):  # the lock of the file allows no other process
        return
    older = connection.execute(_OLDER_PROCESS, {"oldest": OLDEST}).scalar_one_or_none()
    if older is not None:
        raise HomeInUse(
            f"an agent runtime of an earlier version is running ({older.partition(' #')[0]}), and it could "
            f"not use the database after the upgrade to version {NEWEST}. Stop it first"
        )


def _add(connection: Connection, added: Table | Column[Any]) -> None:
    if isinstance(added, Table):
        added.create(connection, checkfirst=True)
        return
    table = added.table.name
    if added.name not in {column["name"] for column in inspect(connection).get_columns(table)}:
        definition = CreateColumn(added).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")


def _write_version(connection: Connection, version: int) -> None:
    if is_sqlite(connection):
        connection.exec_driver_sql(f"PRAGMA user_version = {version}")
    _add(connection, _versions)
    _add(connection, _versions.c.oldest)
    connection.execute(_versions.delete())
    connection.execute(insert(_versions).values(version=version, oldest=min(OLDEST, version)))
