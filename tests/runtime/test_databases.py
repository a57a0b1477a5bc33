"""The runtime's database: the same answers on SQLite and PostgreSQL, and what a lost connection does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select
from sqlalchemy.exc import OperationalError

from agent.errors import HomeInUse
from agent.runtime.access import allows
from agent.runtime.domain import Json, RowPage, Thread, ThreadStatus, new_id
from agent.runtime.encode import dumps
from agent.runtime.store import threads
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.item_filter import is_equal
from agent.runtime.store.schema_version import NEWEST
from agent.runtime.store.threads import ThreadQuery
from tests.conftest import DATABASES


@pytest.fixture(params=DATABASES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RuntimeDatabase]:
    """An empty database of the runtime."""
    is_postgres = request.param == "postgres"
    place = request.getfixturevalue("runtime_postgres") if is_postgres else tmp_path / "agent.db"
    opened = RuntimeDatabase(place)
    await opened.open()
    yield opened
    await opened.close()


def _thread(metadata: Json, *, values: bytes | None = None) -> Thread:
    return Thread(new_id(), ThreadStatus.IDLE, metadata, 1.0, 1.0, 1.0, {}, values)


async def _find(database: RuntimeDatabase, **query: Any) -> list[str]:
    page: RowPage = await database.read(threads.search_threads, ThreadQuery(limit=100, **query))
    return [row.thread_id for row in page.rows]


TEXTS = st.text("ab\0é\ufffd\\\"u0'", max_size=4)
LEAVES = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3).map(lambda one: round(one, 1)) | TEXTS
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2)
)
NAMES = st.sampled_from(["a", "b", "é", "a\0"])
FIELDS = st.fixed_dictionaries(
    {}, optional={"$eq": VALUES, "$contains": st.lists(LEAVES, max_size=2) | LEAVES}
)
CONDITIONS = st.dictionaries(NAMES, LEAVES | FIELDS.filter(bool), max_size=2)
FILTERS = CONDITIONS | st.builds(
    lambda key, some: {key: some},
    st.sampled_from(["$or", "$and"]),
    st.lists(CONDITIONS, min_size=1, max_size=2),
)


def _without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_without_nul(key): _without_nul(one) for key, one in value.items()}
    return [_without_nul(one) for one in value] if isinstance(value, list) else value


@pytest.mark.guard(
    "runtime: a search on PostgreSQL finds only what a filter allows",
    "agent/runtime/store/json_conditions.py",
    "return [_matches(_as_jsonb(column), wanted)]",
    "return []",
    against="other users of a project",
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(metadata=st.dictionaries(NAMES, VALUES, max_size=3), wanted=FILTERS)
async def test_a_filter_allows_the_same_rows_as_in_python(
    database: RuntimeDatabase, metadata: Json, wanted: Json
) -> None:
    """A NUL is compared as U+FFFD on PostgreSQL."""
    row = _thread(metadata)
    await database.write(threads.create_thread, row, if_exists="raise")
    try:
        expected = allows(wanted, metadata)
        replaced = allows(_without_nul(wanted), _without_nul(metadata))
        assert bool(await _find(database, wanted=wanted, ids=[row.thread_id])) in {expected, replaced}
    finally:
        await database.write(threads.erase_thread, row.thread_id)


@pytest.mark.parametrize(
    ("stored", "asked", "is_found"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, True),
        ({"a": {"b": 1}}, {"a": {"b": True}}, False),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2}}, True),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({"a": ["x"]}, {"a": {"0": "x"}}, False),
        ({"a": None}, {"a": None}, True),
        ({}, {"a": None}, False),
        ({"a": "null"}, {"a": None}, False),
        ({"a": "x\0y"}, {"a": "x\0y"}, True),
        ({"a": "\\u0000"}, {"a": "\\u0000"}, True),
        ({"a": "\\u0000"}, {"a": "\0"}, False),
        ({"a": "\\\\\0", "b": "\0\0"}, {"a": "\\\\\0", "b": "\0\0"}, True),
        ({"a": 2**70}, {"a": 2**70}, True),
        ({"a": "é'\u2028"}, {"a": "é'\u2028"}, True),
    ],
)
async def test_metadata_and_values_are_searched_alike(
    database: RuntimeDatabase, stored: Json, asked: Json, is_found: bool
) -> None:
    row = _thread(stored, values=dumps(stored))
    await database.write(threads.create_thread, row, if_exists="raise")
    assert await _find(database, metadata=asked) == [row.thread_id] * is_found
    assert await _find(database, values=asked) == [row.thread_id] * is_found
    assert is_equal((await database.read(threads.get_thread, row.thread_id)).metadata, stored)


async def test_an_invalid_filter_is_refused_whatever_the_rows(database: RuntimeDatabase) -> None:
    await database.write(threads.create_thread, _thread({"a": 1}), if_exists="raise")
    for wanted in ({"a": {"$in": [1]}}, {"$or": []}, {"b": {}}):
        with pytest.raises(Exception, match=r"use \$eq|requires a list|user-defined function"):
            await _find(database, wanted=wanted)


async def test_of_writes_that_share_a_commit_only_the_failing_ones_are_undone(
    database: RuntimeDatabase,
) -> None:
    rows = [_thread({"n": number}) for number in range(20)]
    twice = [*rows, *rows[:5]]
    results = await asyncio.gather(
        *(database.write(threads.create_thread, row, if_exists="raise") for row in twice),
        return_exceptions=True,
    )
    assert [type(result).__name__ for result in results] == ["Thread"] * 20 + ["Conflict"] * 5
    assert len(await _find(database)) == 20


@pytest.mark.postgres
async def test_a_connection_that_a_statement_lost_is_replaced(runtime_postgres: str) -> None:
    """SQLAlchemy gives it up by itself then, in the middle of the transaction."""

    def lose(connection: Connection) -> None:
        with psycopg.connect(runtime_postgres, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        connection.execute(select(1))

    database = RuntimeDatabase(runtime_postgres)
    await database.open()
    try:
        for ask in (database.read, database.write):
            with pytest.raises((OperationalError, psycopg.OperationalError)):
                await ask(lose)
            async with asyncio.timeout(10):
                assert await ask(lambda connection: connection.execute(select(1)).scalar_one()) == 1
    finally:
        await database.close()


async def test_a_lost_connection_is_replaced(runtime_postgres: str) -> None:
    database = RuntimeDatabase(runtime_postgres)
    await database.open()
    await database.write(threads.create_thread, _thread({}), if_exists="raise")
    with psycopg.connect(runtime_postgres, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    with pytest.raises(psycopg.OperationalError):
        await database.write(threads.create_thread, _thread({}), if_exists="raise")
    await database.write(threads.create_thread, _thread({}), if_exists="raise")
    with pytest.raises(psycopg.OperationalError):
        await _find(database)
    assert len(await _find(database)) == 2
    await database.close()


@pytest.mark.postgres
async def test_processes_that_start_together_create_the_tables_once(postgres_url: str) -> None:
    databases = [RuntimeDatabase(postgres_url) for _ in range(8)]
    async with asyncio.TaskGroup() as starting:
        for one in databases:
            starting.create_task(one.open())
    for one in databases:
        await one.close()
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT version FROM agent_version").fetchall() == [(NEWEST,)]


@pytest.mark.postgres
async def test_a_database_of_a_newer_version_and_one_that_does_not_answer_are_refused(
    postgres_url: str,
) -> None:
    first = RuntimeDatabase(postgres_url)
    await first.open()
    await first.close()
    with psycopg.connect(postgres_url) as connection:
        connection.execute("INSERT INTO agent_version VALUES (99)")
    with pytest.raises(HomeInUse, match=f"version 99.*supports up to {NEWEST}"):
        await RuntimeDatabase(postgres_url).open()
    with pytest.raises(HomeInUse, match=r"database\.url can't be used: .*refused"):
        await RuntimeDatabase("postgresql://someone:secret@127.0.0.1:1/name").open()
