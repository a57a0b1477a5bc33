"""Database schema version: create a new schema, or upgrade an older one.

Alembic is imported only for an update.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, text

from bot.errors import StoreError
from bot.store.schema import metadata

REVISIONS = tuple(f"{number:04}" for number in range(1, 38))
HEAD = REVISIONS[-1]
VERSION_TABLE = "alembic_version"
_versions = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))


def current(connection: Connection) -> str:
    """Return the revision of the database ("" for an empty one)."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return ""
    return str(
        connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none() or ""
    )


def migrate(connection: Connection) -> None:
    """Upgrade the database to HEAD in the caller's transaction. Raises StoreError if it is newer."""
    found = current(connection)
    if found == HEAD:
        return
    if found and found not in REVISIONS:
        raise StoreError(f"created by a newer version of Roebot (schema {found}, this one knows {HEAD})")
    if found:
        upgrade(connection)
    else:
        create(connection)


def create(connection: Connection) -> None:
    """Create the current schema in an empty database, identical to the result of all migrations."""
    metadata.create_all(connection, checkfirst=False)
    _versions.create(connection, checkfirst=True)
    connection.execute(_versions.insert().values(version_num=HEAD))


def upgrade(connection: Connection) -> None:
    """Run all migration scripts that have not been applied to the database."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
