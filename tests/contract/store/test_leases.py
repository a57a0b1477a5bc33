"""The lease of a service on its database: one holder at a time."""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import StartError
from bot.store import Database
from bot.store.connection import sql
from bot.store.leases import EXPIRES_AFTER, LOOK_EVERY, RENEW_EVERY, ServiceLease
from roebot_testing.clock import ManualClock

AGE = sql("UPDATE leases SET renewed_at = renewed_at - :seconds WHERE name = 'service'")
HOLDER = sql("SELECT holder FROM leases WHERE name = 'service'")


@pytest.fixture
def first(db: Database, clock: ManualClock) -> ServiceLease:
    return ServiceLease(db, clock, "one:/srv/bot", "a")


@pytest.fixture
def second(db: Database, clock: ManualClock) -> ServiceLease:
    return ServiceLease(db, clock, "two:/srv/bot", "b")


async def age(db: Database, seconds: float) -> None:
    """Move the last renewal into the past; a negative number is a later renewal."""
    await db.transact(lambda connection: connection.execute(AGE, {"seconds": seconds}))


async def see_renewal(db: Database, clock: ManualClock, claiming: asyncio.Task[None]) -> None:
    """Let a waiting service look once, renew the other's lease, and let it look until it ends.

    The renewal is later by RENEW_EVERY whatever the database's clock says, which in SQLite counts seconds.
    """
    while clock.next_wake() is None:
        await asyncio.sleep(0.01)
    await age(db, -RENEW_EVERY)
    while not claiming.done():
        await clock.advance(LOOK_EVERY)
        await asyncio.sleep(0.01)


async def holder(db: Database) -> str:
    return str(await db.transact(lambda connection: connection.execute(HOLDER).scalar_one()))


async def test_a_second_service_is_refused_with_the_first_one_named(
    db: Database, clock: ManualClock, first: ServiceLease, second: ServiceLease
) -> None:
    await first.claim()
    claiming = asyncio.create_task(second.claim())
    await see_renewal(db, clock, claiming)
    with pytest.raises(StartError, match="one:/srv/bot"):
        await claiming
    assert await holder(db) == "a"
    await first.renew()


@pytest.mark.parametrize("end", ["crash", "release"])
async def test_the_lease_of_a_service_that_ended_is_taken(
    db: Database, first: ServiceLease, second: ServiceLease, end: str
) -> None:
    await first.claim()
    if end == "release":
        await first.release()
    else:
        await age(db, EXPIRES_AFTER + 1.0)
    await second.claim()
    with pytest.raises(StartError, match="two:/srv/bot"):
        await first.renew()
    await first.release()
    assert await holder(db) == "b"
    await second.renew()


async def test_a_restart_in_the_same_place_does_not_wait(
    db: Database, clock: ManualClock, first: ServiceLease
) -> None:
    await first.claim()
    await ServiceLease(db, clock, "one:/srv/bot", "c").claim()
    assert await holder(db) == "c"


async def test_another_directory_with_the_same_name_waits(
    db: Database, clock: ManualClock, first: ServiceLease
) -> None:
    await first.claim()
    waiting = asyncio.create_task(ServiceLease(db, clock, "one:/srv/bot #2", "c").claim())
    await see_renewal(db, clock, waiting)
    with pytest.raises(StartError, match=r"\(one:/srv/bot\)"):
        await waiting
    assert await holder(db) == "a"


async def test_a_service_whose_lease_was_taken_ends(
    db: Database, clock: ManualClock, first: ServiceLease, second: ServiceLease
) -> None:
    await first.claim()
    renewing = asyncio.create_task(first.keep())
    await age(db, EXPIRES_AFTER + 1.0)
    await second.claim()
    while not renewing.done():
        await clock.advance(RENEW_EVERY)
        await asyncio.sleep(0.01)
    with pytest.raises(StartError, match="two:/srv/bot"):
        await renewing
