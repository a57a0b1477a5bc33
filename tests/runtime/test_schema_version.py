"""Versions of the runtime's tables: shared with newer ones, and returned to earlier ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, Connection, Engine, inspect, text

from agent.errors import HomeInUse
from agent.runtime.store import schema_version
from agent.runtime.store.leases import renew_owner
from agent.runtime.store.schema_version import (
    FIRST_ON_POSTGRES,
    MIGRATIONS,
    NEWEST,
    OLDEST,
    UNRECORDED,
    migrate,
    read_version,
    return_to,
)
from agent.shared.table_copy import open_copy_engine
from tests.conftest import DATABASES


@pytest.fixture(params=DATABASES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database with the newest tables."""
    is_postgres = request.param == "postgres"
    made = open_copy_engine(request.getfixturevalue("postgres_url") if is_postgres else tmp_path / "agent.db")
    with made.begin() as connection:
        migrate(connection)
    yield made
    made.dispose()


def _read_tables(connection: Connection) -> dict[str, list[str]]:
    looked = inspect(connection)
    return {
        name: sorted(one["name"] for one in looked.get_columns(name)) for name in looked.get_table_names()
    }


def _mark(connection: Connection, version: int, oldest: int) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA user_version = {version}"))
    connection.execute(text(f"UPDATE agent_version SET version = {version}, oldest = {oldest}"))


def test_a_newer_version_is_shared_if_it_suits(engine: Engine) -> None:
    with engine.begin() as connection:
        _mark(connection, NEWEST + 1, NEWEST)
        migrate(connection)
        assert read_version(connection) == NEWEST + 1
        for oldest in (NEWEST + 1, 0):
            _mark(connection, NEWEST + 1, oldest)
            with pytest.raises(
                HomeInUse, match=f"newer version .*version {NEWEST + 1}.*up to {NEWEST}.*Install"
            ):
                migrate(connection)


def test_the_tables_return_to_earlier_versions(engine: Engine) -> None:
    first = 1 if engine.dialect.name == "sqlite" else FIRST_ON_POSTGRES
    with engine.begin() as connection:
        newest = _read_tables(connection)
        for version in range(first, NEWEST + 1):
            return_to(connection, version)
            assert read_version(connection) == version
            tables = _read_tables(connection)
            for added in [one for step in MIGRATIONS[version:] for one in step.adds]:
                if isinstance(added, Column):
                    assert added.name not in tables.get(added.table.name, [])
                else:
                    assert added.name not in tables
            assert ("oldest" in tables.get("agent_version", [])) is (version > UNRECORDED)
            migrate(connection)
            assert _read_tables(connection) == newest


def test_steps_that_require_nothing_only_add() -> None:
    for step in MIGRATIONS[UNRECORDED:]:
        columns: list[Column[Any]] = [one for one in step.adds if isinstance(one, Column)]
        if step.requires is None:
            assert step.run is None
            assert all(one.nullable or one.server_default is not None for one in columns)
            assert not any(one.unique or one.primary_key or one.foreign_keys for one in columns)
    assert OLDEST <= NEWEST


@pytest.mark.postgres
def test_a_running_process_is_not_cut_off(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_copy_engine(postgres_url)
    with engine.begin() as connection:
        migrate(connection)
        renew_owner(connection, "elsewhere /srv #1")
        return_to(connection, UNRECORDED)
    monkeypatch.setattr(schema_version, "OLDEST", NEWEST)
    with engine.connect() as connection:
        with pytest.raises(HomeInUse, match=r"earlier version is running \(elsewhere /srv\)"):
            migrate(connection)
        connection.rollback()
        assert read_version(connection) == UNRECORDED
        connection.execute(text("UPDATE agent_processes SET until = 0"))
        migrate(connection)
        assert read_version(connection) == NEWEST
