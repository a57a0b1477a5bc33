"""Outages of a store: which errors count as outages, and that every task waits for their end."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bot.bus.message_bus import TurnLanes
from bot.clock import SystemClock
from bot.errors import StoreError, StoreUnavailable
from bot.store import Database
from bot.store.connection import Connection, Statement
from bot.store.database import PostgresDatabase, SqliteDatabase, open_database
from bot.store.outages import PROBE_EVERY, StoreOutages, is_outage, probe_store
from roebot_testing.clock import ManualClock
from tests.harness.postgres import RefusableServer
from tests.harness.store_templates import open_store
from tests.harness.waiters import until


@pytest.fixture
def server(postgres_server: str, postgres_url: str) -> Iterator[RefusableServer]:
    found = RefusableServer(postgres_server, postgres_url)
    yield found
    found.accept()


async def test_a_store_accepts_a_probe(database: Database, clock: ManualClock) -> None:
    await database.transact(probe_store, clock.now())
    await database.transact(probe_store, clock.now() + 1)


BROKEN = [
    "INSERT INTO conversations (id) VALUES ('a', 'b')",
    "SELECT nothing FROM conversations",
    "INSERT INTO leases (name) VALUES (NULL)",
    "SELECT 1/0 FROM nowhere",
]


@pytest.mark.parametrize("text", BROKEN)
async def test_a_statement_that_can_never_succeed_is_no_outage(database: Database, text: str) -> None:
    with pytest.raises(StoreError) as failure:
        await database.transact(lambda connection: connection.execute(Statement(text)))
    assert not is_outage(failure.value)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("57014", False), ("40001", False), ("40P01", False), ("55P03", False), ("23505", False),
        ("42P01", False), ("53100", True), ("53300", True), ("57P01", True), ("57P03", True),
        ("25006", True), ("08P01", True), ("58030", True),
    ],
)  # fmt: skip
@pytest.mark.postgres
async def test_states_of_postgresql(postgres_store: str, code: str, expected: bool) -> None:
    database = PostgresDatabase(postgres_store)
    error = f"DO $$ BEGIN RAISE EXCEPTION 'it fails' USING ERRCODE = '{code}'; END $$"
    with pytest.raises(StoreError) as failure:
        await database.transact(lambda connection: connection.execute(Statement(error)))
    assert isinstance(failure.value, StoreUnavailable) is expected
    await database.close()


@pytest.mark.postgres
async def test_lanes_outlast_an_outage_of_postgresql(server: RefusableServer, tmp_path: Path) -> None:
    database, clock = await open_database(tmp_path, server.url), SystemClock()
    outages = StoreOutages(database, clock)
    done: set[int] = set()
    given_up: list[int] = []

    async def work(key: int) -> None:
        await database.transact(probe_store, float(key))
        done.add(key)

    async def give_up(key: int) -> None:
        given_up.append(key)

    lanes = TurnLanes("t", work, give_up, clock, outages)
    running = asyncio.create_task(lanes.run())
    await asyncio.to_thread(server.refuse)
    with capture_logs() as logs:
        for key in range(20):
            lanes.wake(key)
        await asyncio.sleep(2.0)
        assert not done
        await asyncio.to_thread(server.accept)
        await until(lambda: len(done) == 20, 4 * PROBE_EVERY, lambda: f"{done}")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await database.close()
    assert not given_up
    assert [one["event"] for one in logs] == ["store_unavailable", "store_available"]


@pytest.mark.may_block
async def test_a_locked_file_is_an_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.store.database.BUSY_TIMEOUT_MS", 10)
    database = await open_store(tmp_path)
    assert isinstance(database, SqliteDatabase)
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreUnavailable):
        await database.transact(probe_store, 1.0)
    other.execute("ROLLBACK")
    await database.transact(probe_store, 1.0)
    await database.transact(lambda connection: connection.execute(Statement("PRAGMA max_page_count = 1")))
    with pytest.raises(StoreUnavailable):
        await database.transact(_fill)
    await database.close()
    other.close()


def _fill(connection: Connection) -> None:
    for number in range(1000):
        row = {"name": f"{number}" * 100}
        connection.execute(Statement("INSERT INTO leases (name) VALUES (:name)"), row)
