"""Database schema version: create a new schema, upgrade an older one, or return to an earlier one.

The database records the oldest revision whose code can use its schema, so that neighbouring versions of
Roebot can share it. Alembic is imported only for a change.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, create_engine, inspect, text
from sqlalchemy.pool import NullPool

from bot.errors import StoreError
from bot.store.schema import metadata

REVISIONS = tuple(f"{number:04}" for number in range(1, 39))
HEAD = REVISIONS[-1]
OLDEST = "0037"
"""Oldest revision whose code can use the schema of HEAD: the largest `requires` of the migrations."""
RETURNS_TO = "0030"
"""Oldest revision that `return_to` can restore, since all later migrations only add tables and columns."""
UNRECORDED = "0037"
"""Last revision whose schema does not record the oldest code, and whose code does not record its own."""
VERSION_TABLE = "alembic_version"
LOCK_WAIT = "500ms"
"""Longest wait for a table, because other work queues behind a change that waits."""
_versions = Table(
    VERSION_TABLE,
    MetaData(),
    Column("version_num", String(32), primary_key=True),
    Column("oldest", String(32), server_default="", nullable=False),
)
_OLDER_PROCESS = f"""SELECT name FROM leases WHERE COALESCE(NULLIF(about, ''), '{UNRECORDED}') < :oldest
    AND (name LIKE 'replica %' AND renewed_at > extract(epoch FROM clock_timestamp()) - 3.5
    OR name = 'service' AND holder NOT LIKE 'replicas %'
    AND renewed_at > extract(epoch FROM clock_timestamp()) - 30) ORDER BY name LIMIT 1"""


def current(connection: Connection) -> str:
    """Return the revision of the database ("" for an empty one)."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return ""
    return str(
        connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none() or ""
    )


def is_too_new(connection: Connection, found: str) -> bool:
    """Return whether this code can't use a database of revision `found`."""
    if not found or found in REVISIONS:
        return False
    if "oldest" not in {column["name"] for column in inspect(connection).get_columns(VERSION_TABLE)}:
        return True
    oldest = str(connection.execute(text(f"SELECT oldest FROM {VERSION_TABLE}")).scalar_one())
    return not oldest or oldest > HEAD


def migrate(connection: Connection) -> None:
    """Upgrade the database to HEAD in the caller's transaction; one of a newer version stays as it is.

    Raises StoreError if this code can't use the database, or if a running service could not use it
    afterwards.
    """
    found = current(connection)
    if is_too_new(connection, found):
        raise StoreError(
            f"a newer version of Roebot changed the tables (schema {found}), and this version, which has "
            f"schema {HEAD}, can't use them any longer. Install the newer version"
        )
    if not found:
        create(connection)
    elif found < HEAD:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_WAIT}'")
        upgrade(connection)
        _check_running(connection, OLDEST)


def _check_running(connection: Connection, oldest: str) -> None:
    """Raise StoreError if a service is running whose code is older than a revision."""
    if connection.dialect.name != "postgresql":  # the lock of the data directory allows no other service
        return
    found = connection.execute(text(_OLDER_PROCESS), {"oldest": oldest}).scalar_one_or_none()
    if found is not None:
        raise StoreError(
            f"an earlier version of Roebot is running ({found}), which can't use the tables that "
            "this one needs. Stop it first"
        )


def create(connection: Connection) -> None:
    """Create the current schema in an empty database, identical to the result of all migrations."""
    metadata.create_all(connection, checkfirst=False)
    _versions.create(connection, checkfirst=True)
    connection.execute(_versions.insert().values(version_num=HEAD, oldest=OLDEST))


def upgrade(connection: Connection, revision: str = HEAD) -> None:
    """Run all migration scripts up to a revision that have not been applied to the database."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    if revision > UNRECORDED:
        connection.execute(_versions.update().values(oldest=min(OLDEST, revision)))


def return_to(connection: Connection, revision: str) -> list[str]:
    """Drop the tables and columns that migrations after a revision added, and return their names.

    Raises StoreError for a revision before RETURNS_TO, and for a database that is not at HEAD.
    """
    if revision not in REVISIONS or revision < RETURNS_TO:
        raise StoreError(
            f"the tables have no schema {revision}; they can return to {RETURNS_TO} up to {HEAD}"
        )
    if (found := current(connection)) != HEAD:
        raise StoreError(f"the tables have schema {found or 'none'}, not {HEAD} as this version of Roebot")
    _check_running(connection, "9999")
    old = _read_schema(revision)
    dropped = []
    for table in reversed(metadata.sorted_tables):
        if table.name not in old.tables:
            table.drop(connection)
            dropped.append(table.name)
            continue
        before = old.tables[table.name]
        names = {index.name for index in before.indexes}
        for index in table.indexes:
            if index.name not in names:
                index.drop(connection)
        for name in [column.name for column in table.columns if column.name not in before.columns]:
            connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN {name}"))
            dropped.append(f"{table.name}.{name}")
    if revision <= UNRECORDED:
        connection.execute(text(f"ALTER TABLE {VERSION_TABLE} DROP COLUMN oldest"))
    connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = :revision"), {"revision": revision})
    return dropped


def _read_schema(revision: str) -> MetaData:
    """Return the tables of a revision, as its migrations create them."""
    found = MetaData()
    with create_engine("sqlite://", poolclass=NullPool).begin() as memory:
        upgrade(memory, revision)
        found.reflect(memory)
    return found
