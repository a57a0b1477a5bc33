"""Which of several replicas owns an account, and what one that has lost it may still do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.errors import OwnershipLost
from bot.store import Database, open_database
from bot.store.connection import Connection, sql
from bot.store.ownership import ACCOUNT, Ownership
from bot.store.replica_leases import Replica, unfenced
from bot.store.usage import increment_counter
from roebot_testing.clock import ManualClock
from tests.conftest import empty_tables

pytestmark = [pytest.mark.postgres]
NAME = ACCOUNT + "slack"
EXPIRE = sql("UPDATE leases SET renewed_at = renewed_at - 60 WHERE name = :name")
COUNT = sql("SELECT COALESCE(SUM(value), 0) FROM counters")


@pytest.fixture
async def db(postgres_store: str, tmp_path: Path) -> AsyncIterator[Database]:
    empty_tables(postgres_store)
    opened = await open_database(tmp_path, postgres_store)
    yield opened
    await opened.close()


@asynccontextmanager
async def replica(db: Database, clock: ManualClock, name: str) -> AsyncIterator[Ownership]:
    """A replica that wants the account."""
    ownership = Ownership(db, clock, Replica(name, f"holder-{name}", "folder"))
    await ownership.start()
    forever = asyncio.get_running_loop().create_future
    tasks = [
        asyncio.create_task(ownership.keep()),
        asyncio.create_task(ownership.while_held(NAME, forever)),
    ]
    try:
        yield ownership
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(clock: ManualClock, condition: Callable[[], bool]) -> None:
    """Let time pass until a condition is met."""
    async with asyncio.timeout(20):
        while not condition():
            await clock.advance(0.25)
            await asyncio.sleep(0.01)


async def write(db: Database) -> None:
    await db.transact(increment_counter, "slack", "x")


async def count(db: Database) -> int:
    return int(await db.transact(lambda connection: connection.execute(COUNT).scalar_one()))


async def test_one_replica_owns_an_account_until_its_lease_expires(db: Database, clock: ManualClock) -> None:
    async with replica(db, clock, "a") as first, replica(db, clock, "b") as second:
        await until(clock, lambda: first.owns("slack") or second.owns("slack"))
        owner, other = (first, second) if first.owns("slack") else (second, first)
        await until(clock, lambda: other.find_other_owner("slack")[0] != "")
        assert not other.owns("slack")
        with pytest.raises(OwnershipLost):
            async with other.scope("slack"):
                pass
        async with owner.scope("slack"):
            await write(db)
            await owner.confirm()
        assert await count(db) == 1


async def test_what_was_begun_before_a_takeover_writes_nothing_after_it(
    db: Database, clock: ManualClock
) -> None:
    async with replica(db, clock, "a") as first:
        await until(clock, lambda: first.owns("slack"))
        async with replica(db, clock, "b"):
            await until(clock, lambda: first.has_company)
            with pytest.raises(OwnershipLost):
                async with first.scope("slack"):
                    await write(db)
                    await _take_over(db, "a", "b")
                    await write(db)
            await until(clock, lambda: not first.owns("slack"))
            assert await count(db) == 1


async def test_a_scope_ends_when_its_owner_notices_the_loss(db: Database, clock: ManualClock) -> None:
    async with replica(db, clock, "a") as first:
        await until(clock, lambda: first.owns("slack"))
        ended = asyncio.Event()

        async def work() -> None:
            try:
                async with first.scope("slack"):
                    await asyncio.get_running_loop().create_future()
            except OwnershipLost:
                ended.set()

        working = asyncio.create_task(work())
        await asyncio.sleep(0)
        await _take_over(db, "a", "b")
        await until(clock, ended.is_set)
        await working


async def test_a_replica_that_was_cut_off_takes_nothing_over_at_once(
    db: Database, clock: ManualClock
) -> None:
    async with replica(db, clock, "a") as first:
        await until(clock, lambda: first.owns("slack"))
        await db.transact(lambda connection: connection.execute(EXPIRE, {"name": "replica a"}))
        async with replica(db, clock, "b") as second:
            await clock.advance(1.0)
            assert not second.owns("slack")
        assert first.owns("slack")


async def test_without_replicas_everything_is_owned(db: Database, clock: ManualClock) -> None:
    ownership = Ownership(db, clock)
    assert ownership.owns("slack")
    async with ownership.scope("slack"):
        await write(db)
        await ownership.confirm()
    assert await ownership.while_held(NAME, lambda: asyncio.sleep(0, "done")) == "done"


async def _take_over(db: Database, old: str, new: str) -> None:
    """Another replica takes the account while the owner is paused."""
    take = sql("UPDATE leases SET holder = :new, fence = 'other' WHERE name = :name AND holder = :old")
    values = {"name": NAME, "new": f"holder-{new}", "old": f"holder-{old}"}

    def work(connection: Connection) -> None:
        connection.execute(take, values)

    # Another process has no fence.
    await asyncio.create_task(_run_unfenced(db, work))


async def _run_unfenced(db: Database, work: Callable[[Connection], None]) -> None:
    with unfenced():
        await db.transact(work)
