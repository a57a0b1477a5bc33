"""Migrations and metadata say the same, on every database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, inspect

from bot.store import Database, open_database
from bot.store.schema import metadata
from bot.store.schema_version import HEAD, REVISIONS, VERSION_TABLE, create, current, migrate, upgrade


def differences(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


def names(connection: Connection) -> dict[str, set[str | None]]:
    """Every table with its indexes."""
    looked = inspect(connection)
    return {
        table: {index["name"] for index in looked.get_indexes(table)} for table in looked.get_table_names()
    }


def empty(connection: Connection) -> None:
    found = MetaData()
    found.reflect(connection)
    found.drop_all(connection)


async def test_migrating_gives_the_tables_of_the_metadata(new_database: Database) -> None:
    assert await new_database.schema(current) == HEAD
    await new_database.schema(migrate)
    assert await new_database.schema(current) == HEAD


def test_the_known_revisions_are_the_scripts() -> None:

    import bot.store

    scripts = ScriptDirectory(str(Path(bot.store.__file__).parent / "migrations"))
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == REVISIONS


async def test_the_scripts_come_to_what_is_declared(new_database: Database) -> None:
    made = await new_database.schema(names)
    await new_database.schema(empty)
    assert await new_database.schema(current) == ""
    await new_database.schema(upgrade)
    assert await new_database.schema(current) == HEAD
    assert await new_database.schema(differences) == []
    assert await new_database.schema(names) == made


async def test_a_new_database_is_what_is_declared(new_database: Database) -> None:
    await new_database.schema(empty)
    await new_database.schema(create)
    assert await new_database.schema(current) == HEAD
    assert await new_database.schema(differences) == []
    assert VERSION_TABLE in await new_database.schema(names)


@pytest.mark.postgres
async def test_processes_that_start_together_make_one_schema(tmp_path: Path, postgres_url: str) -> None:
    opened = await asyncio.gather(*(open_database(tmp_path, postgres_url) for _ in range(4)))
    assert {await database.schema(current) for database in opened} == {HEAD}
    for database in opened:
        await database.close()
