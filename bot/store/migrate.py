"""Brings the schema up to date; Alembic is loaded only when there is something to do."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from bot.errors import StoreError

REVISIONS = ("0001", "0002", "0003", "0004", "0005")
HEAD = REVISIONS[-1]
VERSION_TABLE = "alembic_version"


def current(connection: Connection) -> str:
    """The revision that the database is at ("" for an empty one)."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return ""
    return str(
        connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar_one_or_none() or ""
    )


def migrate(connection: Connection) -> None:
    """Bring the database to HEAD, within the caller's transaction. Raises StoreError for a newer one."""
    found = current(connection)
    if found == HEAD:
        return
    if found and found not in REVISIONS:
        raise StoreError(f"made by a newer version of Roebot (schema {found}, this one knows {HEAD})")
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
