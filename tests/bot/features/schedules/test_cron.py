"""Cron as cron means it: against an evaluation of its own, minute by minute."""

from __future__ import annotations

import calendar
from datetime import datetime, timedelta
from heapq import merge

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.features.schedules.rule import parse_cron

START = datetime(2026, 1, 1)


def next_after(text: str, after: datetime) -> datetime | None:
    """The first time after another one, as clocks show them."""
    return next(merge(*parse_cron(text).wall_times(after)), None)


def firings(text: str, count: int, after: datetime = START) -> list[str]:
    """The next firings of an expression, as clocks show them."""
    found: list[str] = []
    for _ in range(count):
        following = next_after(text, after)
        assert following is not None
        after = following
        found.append(f"{after:%a %m-%d %H:%M}")
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 9 * * mon", ["Mon 01-05 09:00", "Mon 01-12 09:00"]),
        ("0 9 * * 1", ["Mon 01-05 09:00", "Mon 01-12 09:00"]),
        ("0 9 * * 0", ["Sun 01-04 09:00", "Sun 01-11 09:00"]),
        ("0 9 * * 7", ["Sun 01-04 09:00", "Sun 01-11 09:00"]),
        ("0 9 * * 7-2", ["Sun 01-04 09:00", "Mon 01-05 09:00", "Tue 01-06 09:00", "Sun 01-11 09:00"]),
        ("0 9 * * 5-7", ["Fri 01-02 09:00", "Sat 01-03 09:00", "Sun 01-04 09:00", "Fri 01-09 09:00"]),
        ("0 9 * * fri-mon", ["Fri 01-02 09:00", "Sat 01-03 09:00", "Sun 01-04 09:00", "Mon 01-05 09:00"]),
        ("0 9 * * 7-7", ["Sun 01-04 09:00", "Sun 01-11 09:00"]),
        ("0 22-2 * * *", ["Thu 01-01 01:00", "Thu 01-01 02:00", "Thu 01-01 22:00", "Thu 01-01 23:00"]),
        ("0 0 1 nov-feb *", ["Sun 02-01 00:00", "Sun 11-01 00:00", "Tue 12-01 00:00", "Fri 01-01 00:00"]),
        ("*/25 0 * * *", ["Thu 01-01 00:25", "Thu 01-01 00:50", "Fri 01-02 00:00"]),
        ("10-30/10 5 * * *", ["Thu 01-01 05:10", "Thu 01-01 05:20", "Thu 01-01 05:30", "Fri 01-02 05:10"]),
        ("0 9 13 * fri", ["Fri 01-02 09:00", "Fri 01-09 09:00", "Tue 01-13 09:00", "Fri 01-16 09:00"]),
        ("0 9 */2 * mon", ["Mon 01-05 09:00", "Mon 01-19 09:00", "Mon 02-09 09:00"]),
        ("0 9 L * *", ["Sat 01-31 09:00", "Sat 02-28 09:00", "Tue 03-31 09:00"]),
        ("0 9 29 2 *", ["Tue 02-29 09:00"]),
        ("@weekly", ["Sun 01-04 00:00", "Sun 01-11 00:00"]),
    ],
)
def test_firings(text: str, expected: list[str]) -> None:
    assert firings(text, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("0 9 * *", "cron_fields"),
        ("0 9 * * * *", "cron_fields"),
        ("0 9 * * mon#1", "cron_foreign"),
        ("0 9 15w * *", "cron_foreign"),
        ("0 9 ? * mon", "cron_foreign"),
        ("0 9 * * L", "cron_value"),
        ("60 9 * * *", "cron_value"),
        ("0 24 * * *", "cron_value"),
        ("0 0 0 * *", "cron_value"),
        ("0 0 1 13 *", "cron_value"),
        ("0 0 * * 8", "cron_value"),
        ("0 9 * * monday", "cron_value"),
        ("5/15 * * * *", "cron_step"),
        ("*/0 * * * *", "cron_item"),
        ("*/61 * * * *", "cron_item"),
        ("*-5 * * * *", "cron_item"),
        ("1,,2 * * * *", "cron_item"),
        *[(f"{item} * * * *", "cron_item") for item in ("1" * 4400, "1-" + "1" * 4400, "*/" + "1" * 4400)],
        ("0 0 30 2 *", "cron_never"),
        ("0 0 31 apr,jun *", "cron_never"),
        ("@reboot", "cron_macro"),
    ],
)
def test_what_can_not_be_kept_is_refused(text: str, key: str) -> None:
    with pytest.raises(ScheduleRefused) as refused:
        parse_cron(text)
    assert refused.value.key == key


def matches(text: str, at: datetime) -> bool:
    """An evaluation of cron that looks at one minute, for numbers, `*`, ranges and lists."""
    minute, hour, day, month, weekday = text.split()

    def fits(field: str, value: int) -> bool:
        for item in field.split(","):
            low, _, high = item.partition("-")
            if item == "*" or int(low) <= value <= int(high or low):
                return True
        return False

    sunday_first = (at.weekday() + 1) % 7
    days = fits(day, at.day), fits(weekday, sunday_first) or (sunday_first == 0 and fits(weekday, 7))
    on_day = any(days) if day != "*" and weekday != "*" else all(days)
    return fits(minute, at.minute) and fits(hour, at.hour) and fits(month, at.month) and on_day


def field(low: int, high: int) -> st.SearchStrategy[str]:
    value = st.integers(low, high)
    ordered = st.tuples(value, value).map(lambda two: f"{min(two)}-{max(two)}")
    return st.one_of(
        st.just("*"), st.lists(st.one_of(value.map(str), ordered), min_size=1, max_size=3).map(",".join)
    )


@settings(max_examples=60, deadline=None)
@given(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7), st.integers(0, 500_000))
def test_it_fires_when_an_evaluation_by_the_minute_does(
    minute: str, hour: str, day: str, month: str, weekday: str, offset: int
) -> None:
    text = f"{minute} {hour} {day} {month} {weekday}"
    after = START + timedelta(minutes=offset)
    try:
        found = next_after(text, after)
    except ScheduleRefused as refused:
        assert refused.key == "cron_never"
        return
    assert found is not None
    assert matches(text, found)
    assert found.second == 0
    # Nothing is left out: no minute of the three days before it fits.
    looked = max(after, found - timedelta(days=3)).replace(second=0, microsecond=0) + timedelta(minutes=1)
    while looked < found:
        assert not matches(text, looked), looked
        looked += timedelta(minutes=1)


def test_names_of_days_are_those_of_the_calendar() -> None:
    for number, name in enumerate(calendar.day_abbr):
        assert firings(f"0 0 * * {name.lower()}", 1)[0].startswith(calendar.day_abbr[number])


def test_a_month_alone_has_all_its_days() -> None:
    assert next_after("0 9 * 1 *", datetime(2026, 2, 2)) == datetime(2027, 1, 1, 9)
    assert next_after("0 9 * 1 *", datetime(2027, 1, 1, 9)) == datetime(2027, 1, 2, 9)
