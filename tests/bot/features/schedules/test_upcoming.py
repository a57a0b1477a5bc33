"""Firings of many schedules within a span of time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.features.schedules import upcoming
from bot.features.schedules.schedule_store import Schedule
from bot.features.schedules.upcoming import UpcomingRuns, upcoming_runs
from tests.contract.store.test_schedules import ONE

DAY = 86_400.0


def schedule(number: int, rule: str, zone: str = "UTC") -> Schedule:
    return replace(ONE, id=number, rule=rule, zone=zone)


def test_they_come_by_time_each_in_its_own_zone() -> None:
    found = upcoming_runs([schedule(1, "0 9 * * *"), schedule(2, "0 9 * * *", "Asia/Tokyo")], 0.0, 2 * DAY)
    nine, tokyo = 9 * 3600.0, 0.0
    assert found == UpcomingRuns(((1, nine), (2, tokyo + DAY), (1, nine + DAY)), True)


def test_the_end_does_not_count_and_one_that_is_over_has_none() -> None:
    one = schedule(1, "@100")
    assert upcoming_runs([one], 99.0, 101.0).firings == ((1, 100.0),)
    assert upcoming_runs([one], 99.0, 100.0).firings == ()
    assert upcoming_runs([one], 100.0, 200.0).firings == ()
    assert upcoming_runs([], 0.0, DAY) == UpcomingRuns((), True)


def test_each_gets_an_equal_share_and_it_is_said_where_some_were_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(upcoming, "MOST", 4)
    found = upcoming_runs([schedule(1, "*/5 * * * *"), schedule(2, "0 0 * * *")], 0.0, 1.5 * DAY)
    assert found == UpcomingRuns(((1, 300.0), (1, 600.0), (2, DAY)), False)


def test_one_that_cannot_be_read_leaves_the_others_alone() -> None:
    broken = [schedule(1, "0 9 * * *", "Nowhere/Town"), schedule(2, "nonsense")]
    assert upcoming_runs([*broken, schedule(3, "@7")], 0.0, DAY) == UpcomingRuns(((3, 7.0),), True)
