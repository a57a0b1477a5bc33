"""Stores as copies of one that exists: creating 27 tables anew takes many times longer than most tests."""

from __future__ import annotations

import asyncio
import tempfile
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import Table, create_engine

from bot.app.features import load_features
from bot.store import Database, open_database
from bot.store.schema import metadata
from bot.store.schema_version import migrate

DISCONNECT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
USED_SEQUENCES = "SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL"


async def open_store(home: Path) -> Database:
    """Open `bot.db` of a data directory; a new one is a copy. Raises HomeUnusable."""
    await asyncio.to_thread(copy_store, home)
    return await open_database(home)


def copy_store(home: Path) -> None:
    """Write an empty `bot.db` of the newest schema, unless there is one."""
    path = home / "bot.db"
    if not path.exists():
        path.write_bytes(_empty_file())


@cache
def _empty_file() -> bytes:
    with tempfile.TemporaryDirectory(prefix="roebot-store-") as folder:
        path = Path(folder, "bot.db")
        create_schema(f"sqlite:///{path}")
        return path.read_bytes()


def create_schema(url: str) -> None:
    """Create the newest schema in an empty database."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    try:
        with engine.begin() as connection:
            migrate(connection)
            for table in feature_tables():
                table.create(connection)
    finally:
        engine.dispose()


def feature_tables() -> list[Table]:
    """The tables that built-in features bring."""
    return [table for feature in load_features().usable for table in feature.tables]


def empty_tables(url: str) -> None:
    """Delete all rows of a PostgreSQL store, restart its ids, and end connections that were left open."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(DISCONNECT)
        deletions = [
            sql.SQL("DELETE FROM {}").format(sql.Identifier(table.name))
            for table in (*feature_tables(), *reversed(metadata.sorted_tables))
        ]
        restarts = [
            sql.SQL("ALTER SEQUENCE {} RESTART").format(sql.Identifier(name))
            for (name,) in connection.execute(USED_SEQUENCES)
        ]
        connection.execute(sql.SQL("; ").join([*deletions, *restarts]))
