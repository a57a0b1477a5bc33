"""Rules beyond cron, against the recurrence rules of dateutil."""

from __future__ import annotations

from datetime import date, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.schedules.calendar_rule import CalendarRule, parse_calendar_rule
from bot.schedules.wall_clock import parse_recurrence

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
        *(st.integers(0, 23), st.integers(0, 59), weekdays, st.sampled_from([1, 2, -1])),
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
        "RRULE:",
    ],
)
def test_what_is_not_followed_is_refused(text: str) -> None:
    with pytest.raises(ScheduleRefused) as refused:
        parse_calendar_rule(text)
    assert refused.value.key == "rule_unreadable"
