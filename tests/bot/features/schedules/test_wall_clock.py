"""Firings where clocks change, at the ends of months, and for every zone: nothing twice, nothing left out."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.features.schedules.rule import Recurrence, parse_recurrence
from bot.features.schedules.wall_clock import load_zone, to_wall_time

BERLIN = ZoneInfo("Europe/Berlin")
HALF = ZoneInfo("Australia/Lord_Howe")


def firings(rule: str, after: str, count: int, zone: ZoneInfo = BERLIN) -> list[str]:
    """The next firings after an instant (UTC), as clocks show them, with their offset."""
    start = datetime.fromisoformat(after).replace(tzinfo=UTC).timestamp()
    found = islice(parse_recurrence(rule).iter_runs(start, zone), count)
    return [f"{datetime.fromtimestamp(at, zone):%m-%d %H:%M %z}" for at in found]


def test_a_time_that_the_clocks_leave_out_is_made_up_for() -> None:
    assert firings("30 2 * * *", "2026-03-27T12:00", 4) == [
        "03-28 02:30 +0100",
        "03-29 03:30 +0200",
        "03-30 02:30 +0200",
        "03-31 02:30 +0200",
    ]


def test_a_time_that_comes_twice_fires_once() -> None:
    assert firings("30 2 * * *", "2026-10-24T12:00", 3) == [
        "10-25 02:30 +0200",
        "10-26 02:30 +0100",
        "10-27 02:30 +0100",
    ]
    assert firings("*/30 * * * *", "2026-10-24T23:50", 6) == [
        "10-25 02:00 +0200",
        "10-25 02:30 +0200",
        "10-25 03:00 +0100",
        "10-25 03:30 +0100",
        "10-25 04:00 +0100",
        "10-25 04:30 +0100",
    ]


def test_no_instant_fires_twice_where_an_hour_is_left_out() -> None:
    assert firings("*/30 * * * *", "2026-03-29T00:10", 5) == [
        "03-29 01:30 +0100",
        "03-29 03:00 +0200",
        "03-29 03:30 +0200",
        "03-29 04:00 +0200",
        "03-29 04:30 +0200",
    ]


def test_clocks_that_change_by_half_an_hour() -> None:
    assert firings("15 2 * * *", "2026-10-02T12:00", 3, HALF) == [
        "10-03 02:15 +1030",
        "10-04 02:45 +1100",
        "10-05 02:15 +1100",
    ]
    assert firings("45 1 * * *", "2026-04-03T12:00", 3, HALF) == [
        "04-04 01:45 +1100",
        "04-05 01:45 +1100",
        "04-06 01:45 +1030",
    ]


def test_ends_of_months() -> None:
    assert firings("0 18 L * *", "2026-01-30T12:00", 3) == [
        "01-31 18:00 +0100",
        "02-28 18:00 +0100",
        "03-31 18:00 +0200",
    ]
    assert firings("0 9 31 * *", "2026-01-31T12:00", 2) == ["03-31 09:00 +0200", "05-31 09:00 +0200"]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["30 2 * * *", "*/20 1-4 * * *", "0 */6 * * *", "5 0 * * sun", "45 1,2,3 * * *"]),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]),
    st.integers(1_760_000_000, 1_830_000_000),
)
def test_each_wall_time_at_most_once_and_in_order(rule: str, zone_name: str, start: int) -> None:
    zone = ZoneInfo(zone_name)
    found = list(islice(parse_recurrence(rule).iter_runs(float(start), zone), 40))
    assert all(sooner < later for sooner, later in pairwise(found))
    assert found[0] > start
    shown = [to_wall_time(at, zone) for at in found]
    assert len(set(shown)) == len(shown)
    # Asked again from any of them, the next one is the same: nothing depends on where one begins.
    assert all(parse_recurrence(rule).next_run(sooner, zone) == later for sooner, later in pairwise(found))
    assert parse_recurrence(rule).next_run(found[0] - 0.5, zone) == found[0]


def test_a_single_firing() -> None:
    rule = Recurrence(at=100.0)
    assert parse_recurrence(rule.to_text) == rule
    assert list(rule.iter_runs(99.0, BERLIN)) == [100.0]
    assert rule.next_run(100.0, BERLIN) is None


@pytest.mark.parametrize(
    "name", ["", "Berlin", "../etc/passwd", "/etc/localtime", "Europe", "x" * 500, "a\0b"]
)
def test_what_is_no_zone(name: str) -> None:
    with pytest.raises(ScheduleRefused) as refused:
        load_zone(name)
    assert refused.value.key == "zone_unknown"
    assert len(str(refused.value.values["zone"])) <= 60
