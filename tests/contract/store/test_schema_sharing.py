"""Versions of the code that share a database: what migrations declare, and what the next start does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

import bot.store
from bot.errors import HomeUnusable, StoreError
from bot.store import Database, schema_version
from bot.store.connection import Connection as StoreConnection
from bot.store.connection import sql
from bot.store.database import PostgresDatabase
from bot.store.replica_leases import Replica, start_replica
from bot.store.schema_version import (
    HEAD,
    OLDEST,
    RETURNS_TO,
    REVISIONS,
    UNRECORDED,
    VERSION_TABLE,
    current,
    migrate,
    return_to,
    upgrade,
)
from tests.contract.store.test_schema import empty

NEXT = f"{int(HEAD) + 1:04}"


def migrations() -> Mapping[str, ModuleType]:
    """The scripts by revision."""
    scripts = ScriptDirectory(str(Path(bot.store.__file__).parent / "migrations"))
    return {script.revision: script.module for script in scripts.walk_revisions()}


@dataclass(frozen=True)
class TableShape:
    """Columns of a table with all that is known of them, its constraints, and its indexes by name."""

    columns: Mapping[str, str]
    optional: frozenset[str]
    """Columns that an INSERT may leave out."""
    constraints: Sequence[str]
    indexes: Mapping[str, str]
    references: frozenset[str]
    """Tables whose rows can't be deleted while rows of this one refer to them."""


def read_shapes(connection: Connection) -> dict[str, TableShape]:
    """Every table but Alembic's own."""
    looked = inspect(connection)
    shapes = {}
    for name in set(looked.get_table_names()) - {VERSION_TABLE}:
        columns = {column["name"]: column for column in looked.get_columns(name)}
        keys = looked.get_foreign_keys(name)
        uniques = [
            [sorted(one["column_names"]) for one in looked.get_unique_constraints(name)],
            [str(one["sqltext"]) for one in looked.get_check_constraints(name)],
            looked.get_pk_constraint(name)["constrained_columns"],
            [(one["constrained_columns"], one["referred_table"], one["options"]) for one in keys],
        ]
        indexes = {str(one["name"]): one for one in looked.get_indexes(name)}
        shapes[name] = TableShape(
            {key: f"{one['type']!r} {one['nullable']} {one['default']}" for key, one in columns.items()},
            frozenset(key for key, one in columns.items() if one["nullable"] or one["default"] is not None),
            [str(sorted(map(str, one))) for one in uniques],
            {key: f"{one['column_names']} {bool(one['unique'])}" for key, one in indexes.items()},
            frozenset(one["referred_table"] for one in keys if "ondelete" not in one["options"]),
        )
    return shapes


def find_breaks(before: Mapping[str, TableShape], after: Mapping[str, TableShape]) -> list[str]:
    """What code of the schema before may stumble on afterwards."""
    found = [f"{table}: dropped" for table in before.keys() - after.keys()]
    for name in after.keys() - before.keys():
        found += [f"{name}: rows of {one} can't be deleted" for one in after[name].references & before.keys()]
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        kept = {key: new.columns.get(key) for key in old.columns}
        found += [f"{name}.{key}: {kept[key]}" for key in kept if kept[key] != old.columns[key]]
        added = new.columns.keys() - old.columns.keys()
        found += [f"{name}.{key}: an INSERT without it fails" for key in added - new.optional]
        found += [f"{name}: {new.constraints}"] if new.constraints != old.constraints else []
        found += [f"{key}: dropped" for key in old.indexes if new.indexes.get(key) != old.indexes[key]]
        fresh = new.indexes.keys() - old.indexes.keys()
        found += [f"{key}: unique" for key in fresh if new.indexes[key].endswith("True")]
    return found


def test_every_migration_says_which_code_it_requires() -> None:
    declared = {
        revision: module.requires for revision, module in migrations().items() if revision > UNRECORDED
    }
    known = [required for required in declared.values() if required is not None]
    assert set(known) <= set(REVISIONS)
    assert all(required is None or required <= revision for revision, required in declared.items())
    assert max([UNRECORDED, *known]) == OLDEST


async def test_what_requires_nothing_only_adds(new_database: Database) -> None:
    await new_database.schema(empty)
    await new_database.schema(partial(upgrade, revision=UNRECORDED))
    shapes = await new_database.schema(read_shapes)
    for revision in [one for one in REVISIONS if one > UNRECORDED]:
        await new_database.schema(partial(upgrade, revision=revision))
        after = await new_database.schema(read_shapes)
        if migrations()[revision].requires is None:
            assert find_breaks(shapes, after) == [], revision
        shapes = after


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DROP TABLE model_usage", "model_usage: dropped"),
        ("ALTER TABLE turns RENAME COLUMN trace TO track", "turns.trace: None"),
        ("CREATE UNIQUE INDEX one_title ON chats (title)", "one_title: unique"),
        ("DROP INDEX turns_failed", "turns_failed: dropped"),
        ("CREATE TABLE notes (turn BIGINT REFERENCES turns (id))", "notes: rows of turns can't be deleted"),
    ],
)
async def test_changes_that_break_earlier_code_are_found(
    new_database: Database, statement: str, problem: str
) -> None:
    before = await new_database.schema(read_shapes)
    await new_database.schema(lambda connection: connection.execute(text(statement)))
    assert problem in find_breaks(before, await new_database.schema(read_shapes))


async def test_a_schema_returns_to_earlier_ones(new_database: Database) -> None:
    await new_database.schema(empty)
    await new_database.schema(partial(upgrade, revision=RETURNS_TO))
    shapes = {RETURNS_TO: await new_database.schema(read_shapes)}
    for revision in REVISIONS[REVISIONS.index(RETURNS_TO) + 1 :]:
        await new_database.schema(partial(upgrade, revision=revision))
        shapes[revision] = await new_database.schema(read_shapes)
    for revision, shape in shapes.items():
        await new_database.schema(partial(return_to, revision=revision))
        assert await new_database.schema(current) == revision
        assert await new_database.schema(read_shapes) == shape, revision
        await new_database.schema(migrate)
        assert await new_database.schema(current) == HEAD
        assert await new_database.schema(read_shapes) == shapes[HEAD], revision


async def test_only_the_code_of_the_schema_returns_and_not_too_far(new_database: Database) -> None:
    before = REVISIONS[REVISIONS.index(RETURNS_TO) - 1]
    for revision in (before, NEXT, "", "latest"):
        with pytest.raises(StoreError, match=f"can return to {RETURNS_TO} up to {HEAD}"):
            await new_database.schema(partial(return_to, revision=revision))
    await new_database.schema(partial(mark, revision=NEXT, oldest=HEAD))
    with pytest.raises(StoreError, match=f"have schema {NEXT}, not {HEAD}"):
        await new_database.schema(partial(return_to, revision=HEAD))


def mark(connection: Connection, revision: str, oldest: str) -> None:
    """Mark a schema as made by a newer version."""
    values = {"revision": revision, "oldest": oldest}
    connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = :revision, oldest = :oldest"), values)


async def test_a_newer_schema_is_shared_if_it_suits(new_database: Database) -> None:
    await new_database.schema(partial(mark, revision=NEXT, oldest=HEAD))
    await new_database.schema(migrate)
    assert await new_database.schema(current) == NEXT
    for oldest in (NEXT, ""):
        await new_database.schema(partial(mark, revision=NEXT, oldest=oldest))
        with pytest.raises(StoreError, match=f"newer version .*schema {NEXT}.*schema {HEAD}.*Install"):
            await new_database.schema(migrate)


@pytest.mark.postgres
async def test_a_running_replica_is_not_cut_off(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = PostgresDatabase(postgres_url)
    await database.open()
    await database.schema(partial(return_to, revision=UNRECORDED))
    try:
        monkeypatch.setattr(schema_version, "OLDEST", HEAD)
        await database.transact(start_replica, Replica("a", "holder", "place"))
        # It stays alive however slow this machine is.
        alive = "renewed_at = extract(epoch FROM clock_timestamp()) + 60"
        set_about = f"UPDATE leases SET about = :about, {alive}"
        await database.schema(lambda connection: connection.execute(text(set_about), {"about": ""}))
        with pytest.raises(HomeUnusable, match=r"earlier version of Roebot is running \(replica a\)"):
            await PostgresDatabase(postgres_url).open()
        assert await database.schema(current) == UNRECORDED
        await database.schema(lambda connection: connection.execute(text(set_about), {"about": HEAD}))
        await database.schema(migrate)
        assert await database.schema(current) == HEAD
        with pytest.raises(StoreError, match=r"is running \(replica a\)"):
            await database.schema(partial(return_to, revision=UNRECORDED))
    finally:
        await database.close()


@pytest.mark.postgres
async def test_an_upgrade_waits_for_tables_in_use_while_work_goes_on(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    await database.open()
    await database.schema(partial(return_to, revision=RETURNS_TO))

    def run(connection: StoreConnection, query: str) -> None:
        connection.execute(sql(query))

    slowest = 0.0
    try:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(database.transact(run, "SELECT count(*), pg_sleep(2) FROM turns"))
            await asyncio.sleep(0.3)
            migrating = group.create_task(database.open())
            while not migrating.done():
                began = time.monotonic()
                await database.transact(run, "SELECT count(*) FROM turns")
                slowest = max(slowest, time.monotonic() - began)
            assert reading.done()
        assert await database.schema(current) == HEAD
        assert slowest < 1.5
    finally:
        await database.close()
