"""Rules beyond cron, against the recurrence rules of dateutil."""

from __future__ import annotations

from datetime import date, datetime
from heapq import merge
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.features.schedules.describe import describe_rule
from bot.features.schedules.parse_when import ParsedTime, parse_when
from bot.features.schedules.rule import CODES, parse_recurrence
from bot.texts import texts_for

START = datetime(2026, 1, 1)
hours = st.lists(st.integers(0, 23), min_size=1, max_size=2, unique=True).map(sorted)
minutes = st.lists(st.integers(0, 59), min_size=1, max_size=2, unique=True).map(sorted)
starts = st.dates(date(2026, 1, 1), date(2026, 12, 31))
codes = st.lists(st.sampled_from(CODES), min_size=1, max_size=4, unique=True)
positions = st.sampled_from([1, 2, 3, 4, -1])


def numbers(values: list[int]) -> str:
    return ",".join(map(str, values))


def rule(fields: str, of_hours: list[int], of_minutes: list[int], start: date | None = None) -> str:
    """The stored form of a rule."""
    first = f"DTSTART:{start:%Y%m%d}T000000 " if start else ""
    return f"{first}RRULE:FREQ={fields};BYHOUR={numbers(of_hours)};BYMINUTE={numbers(of_minutes)}"


RULES = st.one_of(
    st.builds(
        lambda n, h, m, day: rule(f"DAILY;INTERVAL={n}", h, m, day),
        *(st.integers(2, 60), hours, minutes, starts),
    ),
    st.builds(
        lambda n, days, h, m, day: rule(f"WEEKLY;INTERVAL={n};BYDAY={','.join(days)}", h, m, day),
        *(st.integers(2, 12), codes, hours, minutes, starts),
    ),
    st.builds(
        lambda n, days, h, m: rule(f"MONTHLY;BYDAY={','.join(f'{n}{day}' for day in days)}", h, m),
        *(positions, codes, hours, minutes),
    ),
    st.builds(
        lambda n, days, h, m: rule(f"MONTHLY;BYDAY={','.join(days)};BYSETPOS={n}", [h], [m]),
        *(positions, codes, st.integers(0, 23), st.integers(0, 59)),
    ),
    st.builds(
        lambda month, day, h, m, last: rule(
            f"MONTHLY;UNTIL={last:%Y%m%d}T235959;BYMONTH={month};BYMONTHDAY={day}", h, m
        ),
        *(st.integers(1, 12), st.integers(1, 28), hours, minutes, starts),
    ),
)


def next_after(text: str, after: datetime) -> datetime | None:
    """The first time of a rule after another one, as clocks show them."""
    [pattern] = parse_recurrence(text).patterns
    return next(merge(*pattern.wall_times(after)), None)


@settings(max_examples=120, deadline=None)
@given(RULES, st.integers(0, 400 * 24 * 60))
def test_it_runs_when_dateutil_does_from_the_first_day_on(text: str, offset: int) -> None:
    after = datetime.fromtimestamp(START.timestamp() + 60 * offset)
    whole = text if text.startswith("DTSTART") else f"DTSTART:20251201T000000 {text}"
    assert next_after(text, after) == rrulestr(whole.replace(" ", "\n")).after(after)


@pytest.mark.timeout(10)
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["*", "1", "29", "31", "L", "*/28"]),
    st.sampled_from(["*", "2", "4,6", "12"]),
    st.sampled_from(["*", "sun", "*/7", "1-5"]),
)
def test_a_rule_that_is_accepted_runs_soon_enough_to_be_computed(day: str, month: str, weekday: str) -> None:
    text = f"0 9 {day} {month} {weekday}"
    try:
        parse_recurrence(text)
    except ScheduleRefused as refused:
        assert refused.key == "cron_never"
        return
    assert next_after(text, datetime(2096, 3, 1)) is not None


def test_two_rules_together_and_their_order() -> None:
    text = "30 9 * * 1-5 | DTSTART:20261130T000000 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=17;BYMINUTE=0"
    rule = parse_recurrence(text)
    assert rule.to_text == text
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime(2026, 11, 30, tzinfo=zone).timestamp()
    found = [at for at, _ in zip(rule.iter_runs(begin, zone), range(8), strict=False)]
    assert all(sooner < later for sooner, later in pairwise(found))
    shown = [f"{datetime.fromtimestamp(at, zone):%m-%d %H:%M}" for at in found]
    assert shown[:3] == ["11-30 09:30", "11-30 17:00", "12-01 09:30"]
    assert "12-07 17:00" not in shown


@pytest.mark.parametrize("position", ["1", "2", "3", "4", "5", "-1", "1,5,-1"])
def test_positions_of_workdays_are_in_every_month_and_in_words(position: str) -> None:
    text = f"RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS={position};BYHOUR=9;BYMINUTE=0"
    zone = ZoneInfo("Europe/Berlin")
    rule = parse_recurrence(text)
    for locale in ("en", "zh"):
        found = parse_when(describe_rule(texts_for(locale), rule, zone), START.timestamp(), zone)
        assert isinstance(found, ParsedTime)
        assert found.rule == rule
    for month in range(1, 13):
        following = next_after(text, datetime(2026, month, 1))
        assert following is not None
        assert following.month == month


def test_weekdays_of_every_day_are_followed() -> None:
    assert next_after("RRULE:FREQ=DAILY;BYDAY=FR;BYHOUR=9;BYMINUTE=0", START) == datetime(2026, 1, 2, 9)


def test_the_last_day_is_the_one_of_until() -> None:
    text = "DTSTART:20260101T000000 RRULE:FREQ=DAILY;INTERVAL=2;UNTIL=20260103T235959;BYHOUR=9;BYMINUTE=0"
    runs = islice(parse_recurrence(text).iter_runs(START.timestamp() - 1, ZoneInfo("UTC")), 5)
    assert [datetime.fromtimestamp(at, ZoneInfo("UTC")).day for at in runs] == [1, 3]


def test_the_latest_start_is_followed() -> None:
    rule = parse_recurrence("DTSTART:99901231T000000 RRULE:FREQ=DAILY;INTERVAL=366;BYHOUR=9;BYMINUTE=0")
    found = list(islice(rule.iter_runs(START.timestamp(), ZoneInfo("Asia/Tokyo")), 5))
    assert len(found) == 5


BEYOND = [
    *[("BYDAY=MO,TU,WE,TH,FR", position) for position in ("21", "20", "6", "0", "-2", "1,1")],
    *[("BYDAY=MO", position) for position in ("5", "9", "-5")],
]


@pytest.mark.parametrize(
    "text",
    [
        "RRULE:FREQ=YEARLY;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=WEEKLY;BYMONTH=2;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=MONTHLY;BYDAY=1MO,2TU;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=MONTHLY;BYDAY=5MO;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=MONTHLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=DAILY;BYHOUR=24;BYMINUTE=0",
        "RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0;COUNT=3",
        "RRULE:FREQ=DAILY;BYHOUR=9",
        "DTSTART:2026 RRULE:FREQ=DAILY;INTERVAL=2;BYHOUR=9;BYMINUTE=0",
        "DTSTART:20261130T000000 RRULE:FREQ=DAILY;INTERVAL=400;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=DAILY;BYHOUR=nine;BYMINUTE=0",
        "DTSTART:20261130T000000 RRULE:FREQ=DAILY;INTERVAL=3;BYDAY=MO;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=WEEKLY;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=WEEKLY;BYDAY=MO;BYSETPOS=1;BYHOUR=9;BYMINUTE=0",
        "RRULE:FREQ=DAILY;BYHOUR=9,9;BYMINUTE=0",
        f"RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE={','.join('0' * 20_000)}",
        *[f"RRULE:FREQ=MONTHLY;{days};BYSETPOS={position};BYHOUR=9;BYMINUTE=0" for days, position in BEYOND],
        "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1;BYHOUR=9,17;BYMINUTE=0",
        "DTSTART:99910101T000000 RRULE:FREQ=DAILY;BYHOUR=9;BYMINUTE=0",
        "DTSTART:99991231T000000 RRULE:FREQ=DAILY;INTERVAL=2;BYHOUR=9;BYMINUTE=0",
        "RRULE:",
    ],
)
def test_what_is_not_followed_is_refused(text: str) -> None:
    with pytest.raises(ScheduleRefused) as refused:
        parse_recurrence(text)
    assert refused.value.key == "rule_unreadable"
