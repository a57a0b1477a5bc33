"""Migrations and metadata say the same, on every database."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from bot.store import Database
from bot.store.migrate import HEAD, REVISIONS, current, migrate
from bot.store.schema import metadata


def differences(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


async def test_migrating_gives_the_tables_of_the_metadata(database: Database) -> None:
    assert await database.schema(current) == HEAD
    await database.schema(migrate)
    assert await database.schema(current) == HEAD


def test_the_known_revisions_are_the_scripts() -> None:
    from pathlib import Path

    import bot.store

    scripts = ScriptDirectory(str(Path(bot.store.__file__).parent / "migrations"))
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == REVISIONS


async def test_no_difference_between_migrated_and_declared(
    database: Database, nothing_blocks: object
) -> None:
    if nothing_blocks is not None:
        nothing_blocks.deactivate()  # type: ignore[attr-defined]
    assert await database.schema(differences) == []
