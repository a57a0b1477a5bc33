"""The saver on PostgreSQL: lost connections, concurrent starts, concurrent runs and pgbouncer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from sqlalchemy.exc import DBAPIError

from agent.runtime.postgres_saver import PostgresRuntimeSaver
from agent.runtime.store.postgres_pool import CONNECTIONS
from agent.runtime.store.retries import is_storage_error

pytestmark = pytest.mark.postgres
PLACE: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


@pytest.fixture
async def admin(postgres_url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """Another connection to the database."""
    async with await psycopg.AsyncConnection.connect(postgres_url, autocommit=True) as connection:
        yield connection


END_ALL = (
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND (%s OR wait_event_type = 'Lock')"
)


async def test_a_write_after_lost_connections_works(
    postgres_url: str, admin: psycopg.AsyncConnection[Any]
) -> None:
    async with PostgresRuntimeSaver.open(postgres_url) as saver:
        for _ in range(3):
            checkpoints = [empty_checkpoint() for _ in range(CONNECTIONS)]
            await asyncio.gather(*(saver.aput(PLACE, one, {}, {}) for one in checkpoints))
            await admin.execute(END_ALL, [True])
        assert len([one async for one in saver.alist(PLACE)]) == 3 * CONNECTIONS


async def test_a_write_that_lost_its_connection_is_repeated(
    postgres_url: str, admin: psycopg.AsyncConnection[Any]
) -> None:
    async with PostgresRuntimeSaver.open(postgres_url) as saver:
        async with admin.transaction():
            await admin.execute("LOCK TABLE checkpoints")
            writes = [asyncio.create_task(saver.aput(PLACE, empty_checkpoint(), {}, {})) for _ in range(3)]
            while not await (await admin.execute(END_ALL, [False])).fetchall():
                await asyncio.sleep(0)
        await asyncio.gather(*writes)
        assert len([one async for one in saver.alist(PLACE)]) == 3
        checkpoint = empty_checkpoint()
        await saver.aput(PLACE, checkpoint, {}, {})
        assert await saver.latest_checkpoint_id("t") == checkpoint["id"]


async def test_a_cancelled_write_ends_before_its_run(
    postgres_url: str, admin: psycopg.AsyncConnection[Any]
) -> None:
    place: RunnableConfig = {"configurable": {**PLACE["configurable"], "run_id": "r"}}
    async with PostgresRuntimeSaver.open(postgres_url) as saver:
        checkpoint = empty_checkpoint()
        async with admin.transaction():
            await admin.execute("LOCK TABLE checkpoints")
            write = asyncio.create_task(saver.aput(place, checkpoint, {}, {}))
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            while not await (await admin.execute(waiting)).fetchall():
                await asyncio.sleep(0)
            write.cancel()
            ending = asyncio.create_task(saver.end_run("r"))
            await admin.execute("SELECT pg_sleep(0.1)")
            assert not ending.done()
        await ending
        assert await saver.latest_checkpoint_id("t") == checkpoint["id"]
        with pytest.raises(asyncio.CancelledError):
            await write


async def test_processes_that_start_together_create_the_tables_once(postgres_url: str) -> None:
    async def start() -> None:
        async with PostgresRuntimeSaver.open(postgres_url):
            pass

    await asyncio.gather(*(start() for _ in range(8)))
    async with (
        PostgresRuntimeSaver.open(postgres_url) as saver,
        AsyncPostgresSaver.from_conn_string(postgres_url) as plain,
    ):
        await plain.setup()
        checkpoint = empty_checkpoint()
        await plain.aput(PLACE, checkpoint, {}, {})
        found = await saver.aget_tuple(PLACE)
        assert found is not None
        assert found.checkpoint == checkpoint


async def test_tables_of_an_older_version_are_completed(postgres_url: str) -> None:
    class Older(PostgresRuntimeSaver):
        MIGRATIONS = PostgresRuntimeSaver.MIGRATIONS[:-2]

    async with Older.open(postgres_url):
        pass
    async with PostgresRuntimeSaver.open(postgres_url) as saver:
        await saver.aput(PLACE, empty_checkpoint(), {}, {})
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        rows = await (await connection.execute("SELECT v FROM checkpoint_migrations ORDER BY v")).fetchall()
    assert [row[0] for row in rows] == [*range(len(PostgresRuntimeSaver.MIGRATIONS))]


TEMPORARY = ["08006", "08P01", "25006", "40P01", "53100", "57P01", "58030"]
LASTING = ["23505", "42P01", "57014"]


@pytest.mark.parametrize("state", TEMPORARY + LASTING)
def test_errors_that_pass_are_told_from_others(state: str) -> None:
    is_temporary = state in TEMPORARY
    error = psycopg.errors.lookup(state)("failed")
    assert is_storage_error(error) is is_temporary
    assert is_storage_error(DBAPIError("SELECT 1", None, error)) is is_temporary


def test_errors_without_a_state_come_from_the_connection() -> None:
    assert is_storage_error(psycopg.OperationalError("connection refused"))
    assert not is_storage_error(psycopg.DataError("NUL"))
