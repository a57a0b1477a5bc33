"""A running scheduler where clocks change, at the ends of months, by days of the week, and where somebody
sets the clock while it naps.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from bot.features.schedules.run_history import list_scheduled_runs
from bot.features.schedules.schedule_store import ScheduleState, load_schedule, update_schedule
from bot.features.schedules.scheduler import AFTER_TROUBLE, LONGEST_NAP
from bot.store.audit import Actor
from bot.store.turns import load_turn
from roebot_testing.clock import ManualClock
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_digest_command import HOUR, later, scheduled
from tests.component.dispatch.test_thread_commands import says

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE = 60.0


def instant(text: str) -> float:
    """The instant of a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def starts(at: Bench, text: str) -> None:
    """It is that time, in UTC, when the bench begins to run."""
    at.clock, at.scheduling = ManualClock(instant(text)), True


async def goes_to(at: Bench, text: str, *, step: float) -> None:
    """Time passes until then."""
    await later(at, instant(text) - at.clock.now(), step=step)


async def fired(at: Bench, number: int, *, late: float) -> list[str]:
    """When a schedule fired, as clocks in Berlin show it. Each time it opened a turn of its own, at most so
    many seconds later, and all of it was delivered.
    """
    rows = [*reversed(await at.db.transact(list_scheduled_runs, number))]
    turns = [(await at.db.transact(load_turn, row.turn)).turn for row in rows]
    opened = {turn.id: turn.created_at for turn in turns if turn is not None}
    assert len(opened) == len(rows)
    assert all(row.due_at <= opened[row.turn] <= row.due_at + late for row in rows)
    assert all(row.delivered and not row.skipped and not row.missed for row in rows)
    return [f"{datetime.fromtimestamp(row.due_at, BERLIN):%a %m-%d %H:%M %z}" for row in rows]


@pytest.mark.parametrize(
    ("said", "begin", "end", "shown"),
    [
        pytest.param(
            "daily 02:30",
            "2026-03-27T12:00",
            "2026-03-30T12:00",
            ["Sat 03-28 02:30 +0100", "Sun 03-29 03:30 +0200", "Mon 03-30 02:30 +0200"],
            id="02:30 does not come",
        ),
        pytest.param(
            "daily 02:30",
            "2026-10-24T12:00",
            "2026-10-26T12:00",
            ["Sun 10-25 02:30 +0200", "Mon 10-26 02:30 +0100"],
            id="02:30 comes twice",
        ),
        pytest.param(
            "*/30 * * * *",
            "2026-03-29T00:10",
            "2026-03-29T02:20",
            [
                "Sun 03-29 01:30 +0100",
                "Sun 03-29 03:00 +0200",
                "Sun 03-29 03:30 +0200",
                "Sun 03-29 04:00 +0200",
            ],
            id="each half hour, an hour left out",
        ),
        pytest.param(
            "*/30 * * * *",
            "2026-10-24T23:50",
            "2026-10-25T02:20",
            ["Sun 10-25 02:00 +0200", "Sun 10-25 02:30 +0200", "Sun 10-25 03:00 +0100"],
            id="each half hour, an hour twice",
        ),
    ],
)
async def test_where_clocks_change(at: Bench, said: str, begin: str, end: str, shown: list[str]) -> None:
    starts(at, begin)
    async with at.running():
        number = await scheduled(at, f"{said} Europe/Berlin say tea")
        await goes_to(at, end, step=5 * MINUTE)
        assert await fired(at, number, late=15 * MINUTE) == shown
    assert at.adapter.texts().count("tea") == len(shown)


@pytest.mark.parametrize(
    ("said", "begin", "end", "shown"),
    [
        ("0 9 31 * *", "2026-02-26T12:00", "2026-04-01T12:00", ["Tue 03-31 09:00 +0200"]),
        (
            "last day of the month 9:00",
            "2026-02-26T12:00",
            "2026-04-01T12:00",
            ["Sat 02-28 09:00 +0100", "Tue 03-31 09:00 +0200"],
        ),
        ("0 9 L * *", "2028-02-27T12:00", "2028-03-02T12:00", ["Tue 02-29 09:00 +0100"]),
    ],
)
async def test_at_the_ends_of_months(at: Bench, said: str, begin: str, end: str, shown: list[str]) -> None:
    starts(at, begin)
    async with at.running():
        number = await scheduled(at, f"{said} Europe/Berlin say tea")
        await goes_to(at, end, step=HOUR)
        assert await fired(at, number, late=4 * HOUR) == shown
        told = await says(at, "/digest monthly on the 31st 9:00 say tea")
        assert "Not every month has a day 31" in told
    assert at.adapter.texts().count("tea") == len(shown)


async def test_monday_is_monday_and_sunday_has_two_numbers(at: Bench) -> None:
    mondays = ["Mon 11-09 09:00 +0100", "Mon 11-16 09:00 +0100"]
    sundays = ["Sun 11-08 09:00 +0100", "Sun 11-15 09:00 +0100"]
    shown = {
        "mondays 9:00": mondays,
        "0 9 * * mon": mondays,
        "0 9 * * 1": mondays,
        "0 9 * * 0": sundays,
        "0 9 * * 7": sundays,
    }
    starts(at, "2026-11-06T12:00")
    async with at.running():
        numbers = [await scheduled(at, f"{said} Europe/Berlin say tea") for said in shown]
        await goes_to(at, "2026-11-17T12:00", step=HOUR)
        for number, (said, days) in zip(numbers, shown.items(), strict=True):
            assert await fired(at, number, late=4 * HOUR) == days, said
    assert at.adapter.texts().count("tea") == 10


async def test_a_clock_that_is_set_forward_while_the_scheduler_naps(at: Bench) -> None:
    starts(at, "2026-11-06T13:46")
    async with at.running():
        often = await scheduled(at, "every 5 minutes say tick")
        daily = await scheduled(at, "daily 14:00 say tea")
        await goes_to(at, "2026-11-06T13:48", step=5.0)
        set_to = at.clock.now() + 9 * HOUR
        at.clock.set(set_to)
        await later(at, LONGEST_NAP + 10.0, step=0.5)
        [tick], [tea] = [await at.db.transact(list_scheduled_runs, number) for number in (often, daily)]
        assert (tick.due_at, tick.missed, tick.delivered) == (instant("2026-11-06T22:45"), 107, True)
        assert (tea.due_at, tea.skipped) == (instant("2026-11-06T14:00"), "missed")
        assert max(tick.at, tea.at) - set_to <= LONGEST_NAP + 5.0
        await goes_to(at, "2026-11-06T22:54", step=5.0)
        assert len(await at.db.transact(list_scheduled_runs, often)) == 2
    texts = at.adapter.texts()
    assert (texts.count("tick"), texts.count("tea")) == (2, 0)
    assert sum("(`daily 14:00`) was due at 2026-11-06 14:00 UTC" in text for text in texts) == 1


async def test_a_clock_that_is_set_back_while_the_scheduler_naps(at: Bench) -> None:
    starts(at, "2026-11-06T13:46")
    async with at.running():
        number = await scheduled(at, "every 5 minutes say tick")
        await goes_to(at, "2026-11-06T13:59:40", step=5.0)
        before = await at.db.transact(list_scheduled_runs, number)
        assert [one.due_at for one in before] == [instant("2026-11-06T13:55"), instant("2026-11-06T13:50")]
        # The nap that is on ends where 14:00 would have been.
        at.clock.set(at.clock.now() - HOUR)
        await goes_to(at, "2026-11-06T13:59:40", step=10.0)
        assert await at.db.transact(list_scheduled_runs, number) == before
        assert at.adapter.texts().count("tick") == 2
        await goes_to(at, "2026-11-06T14:00:30", step=1.0)
        last, *others = await at.db.transact(list_scheduled_runs, number)
        assert others == before
        assert 0 <= last.at - instant("2026-11-06T14:00") <= 2.0
    assert at.adapter.texts().count("tick") == 3


async def altered(at: Bench, number: int, **values: Any) -> None:
    """The stored schedule is as no command leaves it."""
    was = await at.db.transact(load_schedule, number)
    assert was is not None
    actor = Actor("test", "recording:7", "Ann", "rec", "c1")
    assert await at.db.transact(update_schedule, was, replace(was, **values), actor, at.clock.now())


async def test_a_schedule_whose_zone_is_gone_ends_with_a_notice_and_stops_no_other(at: Bench) -> None:
    starts(at, "2026-11-06T13:46")
    async with at.running():
        gone = await scheduled(at, "daily 14:00 Europe/Berlin say tea")
        await scheduled(at, "daily 14:10 say cake")
        await altered(at, gone, zone="Europe/Nowhere", next_at=instant("2026-11-06T14:00"))
        await goes_to(at, "2026-11-06T14:11", step=5.0)
        [run] = await at.db.transact(list_scheduled_runs, gone)
        assert run.skipped == "missed"
        after = await at.db.transact(load_schedule, gone)
        assert after is not None
        assert after.state is ScheduleState.DONE
    texts = at.adapter.texts()
    assert sum("was due at 2026-11-06 14:00 UTC" in text for text in texts) == 1
    assert (texts.count("tea"), texts.count("cake")) == (0, 1)


async def test_a_schedule_that_raises_stops_no_other_and_is_repeated_after_a_nap(at: Bench) -> None:
    starts(at, "2026-11-06T13:46")
    async with at.running():
        broken = await scheduled(at, "daily 14:00 say tea")
        await scheduled(at, "daily 13:50 say cake")
        # Before the first year of the calendar.
        await altered(at, broken, next_at=-1e15)
        with capture_logs() as logs:
            await goes_to(at, "2026-11-06T13:51", step=1.0)
    failed = [one for one in logs if one["event"] == "schedule_failed"]
    assert {(one["item"], one["id"]) for one in failed} == {("Schedule", broken)}
    assert len(failed) <= 5 * MINUTE / AFTER_TROUBLE + 5
    assert at.adapter.texts().count("cake") == 1
