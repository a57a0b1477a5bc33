"""Rules beyond cron, against the recurrence rules of dateutil."""

from __future__ import annotations

from datetime import date, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.schedules.calendar_rule import CalendarRule, parse_calendar_rule
from bot.schedules.describe import describe_rule
from bot.schedules.parse_when import ParsedTime, parse_when
from bot.schedules.wall_clock import parse_recurrence
from bot.texts import texts_for

START = datetime(2026, 1, 1)
hours = st.lists(st.integers(0, 23), min_size=1, max_size=2, unique=True).map(sorted).map(tuple)
minutes = st.lists(st.integers(0, 59), min_size=1, max_size=2, unique=True).map(sorted).map(tuple)
weekdays = st.lists(st.integers(0, 6), min_size=1, max_size=4, unique=True).map(sorted).map(tuple)
starts = st.dates(date(2026, 1, 1), date(2026, 12, 31))
RULES = st.one_of(
    st.builds(
        lambda h, m, n, day: CalendarRule("DAILY", h, m, n, start=day),
        hours,
        minutes,
        st.integers(1, 60),
        starts,
    ),
    st.builds(
        lambda h, m, n, days, day: CalendarRule("WEEKLY", h, m, n, days, start=day),
        *(hours, minutes, st.integers(1, 12), weekdays, starts),
    ),
    st.builds(
        lambda h, m, days, position: CalendarRule("MONTHLY", h, m, 1, days, (position,)),
        *(hours, minutes, weekdays, st.sampled_from([1, 2, 3, 4, -1])),
    ),
    st.builds(
        lambda h, m, days, position: CalendarRule("MONTHLY", (h,), (m,), 1, days, (position,), True),
        *(st.integers(0, 23), st.integers(0, 59), weekdays, st.sampled_from([1, 2, 3, 4, -1])),
    ),
)


@settings(max_examples=120, deadline=None)
@given(RULES, st.integers(0, 400 * 24 * 60))
def test_it_runs_when_dateutil_does(rule: CalendarRule, offset: int) -> None:
    after = datetime.fromtimestamp(START.timestamp() + 60 * offset)
    text = rule.text if rule.start else f"DTSTART:20251201T000000 {rule.text}"
    expected = rrulestr(text.replace(" ", "\n")).after(after)
    assert rule.next_after(after) == expected


@given(RULES)
def test_its_text_is_read_back(rule: CalendarRule) -> None:
    assert parse_calendar_rule(rule.text) == rule


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
        following = rule.patterns[0].next_after(datetime(2026, month, 1))
        assert following is not None
        assert following.month == month


def test_weekdays_of_every_day_are_followed() -> None:
    rule = parse_calendar_rule("RRULE:FREQ=DAILY;BYDAY=FR;BYHOUR=9;BYMINUTE=0")
    assert rule.next_after(START) == datetime(2026, 1, 2, 9)


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
        parse_calendar_rule(text)
    assert refused.value.key == "rule_unreadable"
