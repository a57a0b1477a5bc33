"""Times as fields, which an agent's tool fills in: each has one meaning, and errors name the field."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.features.schedules.describe import describe_rule
from bot.features.schedules.parse_when import ParsedTime, parse_when
from bot.features.schedules.rule import Recurrence
from bot.features.schedules.time_fields import parse_time_fields
from bot.texts import texts_for

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 10, 15, tzinfo=ZONE).timestamp()
NINE = {"times": ["09:00"]}


def rule(**fields: Any) -> Recurrence:
    return parse_time_fields(fields).to_rule(NOW, ZONE)


@pytest.mark.parametrize(
    ("fields", "meaning"),
    [
        ({"days": ["day"], **NINE}, "every day at 9:00"),
        ({"days": [], **NINE}, "every day at 9:00"),
        ({"days": ["weekday"], "times": ["9:00", "17:30"]}, "every weekday at 9:00 and 17:30"),
        ({"days": ["thu", "mon"], **NINE}, "every monday and thursday at 9:00"),
        ({"days": ["weekend"], **NINE, "every": "1 week"}, "every weekend at 9:00"),
        ({"days": ["1", "15"], **NINE}, "monthly on the 1st and 15th at 9:00"),
        ({"days": ["last"], **NINE}, "last day of the month at 9:00"),
        ({"days": ["12-24"], **NINE}, "every year on december 24 at 9:00"),
        ({"days": ["first mon", "third mon"], **NINE}, "first and third monday of the month at 9:00"),
        ({"days": ["last weekday"], **NINE}, "last weekday of the month at 9:00"),
        ({"days": ["2026-12-24"], **NINE}, "2026-12-24 9:00"),
        (
            {"every": "2 weeks", "days": ["Mon"], "start": "2026-11-30", **NINE},
            "every 2 weeks on monday at 9:00 starting 2026-11-30",
        ),
        ({"every": "2 weeks", "start": "2026-11-30", **NINE}, "every 2 weeks at 9:00 starting monday"),
        ({"every": "3 days", "start": "2026-11-25", **NINE}, "every 3 days at 9:00 starting 2026-11-25"),
        (
            {"every": "3 months", "days": ["1"], **NINE},
            "every year on the 1st of February, May, August, November at 9:00",
        ),
        ({"every": "30 minutes"}, "every 30 minutes"),
        (
            {"every": "2 hours", "days": ["weekday"], "times": ["09:00", "17:00"]},
            "every 2 hours from 9:00 to 17:00 on weekdays",
        ),
        ({"days": ["mon"], "until": "2026-12-31", **NINE}, "every monday at 9:00 until 2026-12-31"),
        ({"days": ["day"], "start": "2026-12-01", **NINE}, "every day at 9:00 starting 2026-12-01"),
    ],
)
def test_fields_mean_what_words_do(fields: dict[str, Any], meaning: str) -> None:
    found = parse_when(meaning, NOW, ZONE)
    assert isinstance(found, ParsedTime)
    words = describe_rule(texts_for("en"), rule(**fields), ZONE)
    assert words == describe_rule(texts_for("en"), found.rule, ZONE)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"days": ["monday"], **NINE}, "days.0"),
        ({"days": ["mon"], "times": ["9 am"]}, "times.0"),
        ({"days": ["mon"], "times": ["24:00"]}, "times.0"),
        ({"days": ["mon"]}, "times"),
        ({"days": "mon", **NINE}, "days"),
        ({"days": ["mon", "1"], **NINE}, "days"),
        ({"days": ["first mon", "last fri"], **NINE}, "days"),
        ({"days": ["2026-12-24"], "times": ["9:00", "10:00"]}, "times"),
        ({"every": "2 weeks", "days": ["mon"], **NINE}, "start"),
        ({"every": "2 days", "days": ["mon"], "start": "2026-11-30", **NINE}, "every"),
        ({"every": "sometimes", **NINE}, "every"),
        ({"every": "30 minutes", "until": "2026-12-24"}, "every"),
        ({"start": "soon", **NINE}, "start"),
        ({"times": ["9:00"] * 25}, "times"),
    ],
)
def test_an_error_names_the_field(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=rf"^{problem}\b"):
        rule(**fields)


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"days": ["31"], **NINE}, "day_missing"),
        ({"days": ["02-30"], **NINE}, "date_not_yearly"),
        ({"days": ["fifth mon"], **NINE}, "fifth_missing"),
        ({"days": ["2026-02-30"], **NINE}, "date_unknown"),
        ({"days": ["2020-01-01"], **NINE}, "time_past"),
        ({"days": ["2099-01-01"], **NINE}, "time_far"),
        ({"days": ["day"], "until": "2026-11-23", **NINE}, "time_past"),
        ({"every": "7 minutes"}, "every_minutes"),
        ({"every": "5 months", "days": ["1"], "start": "2027-01-01", **NINE}, "every_months"),
    ],
)
def test_what_can_not_be_followed_is_refused(fields: dict[str, Any], key: str) -> None:
    with pytest.raises(ScheduleRefused) as refused:
        rule(**fields)
    assert refused.value.key == key


DAYS = [
    "day",
    "weekday",
    "mon",
    "1",
    "31",
    "last",
    "first mon",
    "fifth weekday",
    "12-24",
    "2026-12-24",
    "0",
    "x",
]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(DAYS), max_size=3),
    st.lists(st.sampled_from(["9:00", "17:30", "5"]), max_size=3),
    st.sampled_from(["", "1 day", "2 days", "2 weeks", "3 months", "30 minutes", "0 hours", "999 weeks"]),
    st.sampled_from(["", "2026-11-25", "9999-12-31"]),
    st.sampled_from(["", "2026-12-31", "0001-01-01"]),
)
def test_any_fields_are_followed_or_refused(
    days: list[str], times: list[str], every: str, start: str, until: str
) -> None:
    try:
        found = rule(days=days, times=times, every=every, start=start, until=until)
    except (ValueError, ScheduleRefused):
        return
    assert found.next_run(NOW, ZONE) is not None
