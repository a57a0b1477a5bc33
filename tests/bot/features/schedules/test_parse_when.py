"""Times as people say them, in English and Chinese; what can't be kept exactly is refused."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import ScheduleRefused
from bot.features.schedules.parse_when import ParsedTime, parse_when

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 23, 10, 15, tzinfo=ZONE).timestamp()


def once(text: str) -> str:
    """The stored form of a single firing at that time."""
    return f"@{datetime.fromisoformat(text).replace(tzinfo=ZONE).timestamp():.0f}"


REPEATED = [
    ("weekdays 9:00", "0 9 * * 1-5"),
    ("every weekday at 9:30", "30 9 * * 1-5"),
    ("Weekends 10am", "0 10 * * 6,0"),
    ("daily 18:30", "30 18 * * *"),
    ("every day at 6pm", "0 18 * * *"),
    ("every day at 12 am", "0 0 * * *"),
    ("every day at 12:30 pm", "30 12 * * *"),
    ("every monday at 10:00", "0 10 * * mon"),
    ("mondays 10:00", "0 10 * * mon"),
    ("on tuesday, thursday and Sat 7:05", "5 7 * * tue,thu,sat"),
    ("mon-fri 8:00", "0 8 * * mon-fri"),
    ("friday to monday 8:00", "0 8 * * fri-mon"),
    ("hourly", "0 */1 * * *"),
    ("every hour", "0 */1 * * *"),
    ("every 6 hours", "0 */6 * * *"),
    ("every 15 minutes", "*/15 * * * *"),
    ("every 60 min", "0 * * * *"),
    ("monthly on the 1st 9:00", "0 9 1 * *"),
    ("every month on the 28th at 9:00", "0 9 28 * *"),
    ("on the 3rd of each month 9:00", "0 9 3 * *"),
    ("last day of the month 17:00", "0 17 L * *"),
    ("0 9 * * mon", "0 9 * * mon"),
    ("cron */5 8-18 * * 1-5", "*/5 8-18 * * 1-5"),
    ("@daily", "0 0 * * *"),
    ("每天9:00", "0 9 * * *"),
    ("每天下午6点半", "30 18 * * *"),
    ("工作日 9点", "0 9 * * 1-5"),
    ("每周末10点", "0 10 * * 6,0"),
    ("每周一10点15分", "15 10 * * mon"),
    ("周一、四 17:30", "30 17 * * mon,thu"),
    ("每小时", "0 */1 * * *"),
    ("每15分钟", "*/15 * * * *"),
    ("每月1号9:00", "0 9 1 * *"),
    ("每月最后一天 17:00", "0 17 L * *"),
]
SINGLE = [
    ("in 2 hours", "2026-11-23T12:15"),
    ("in an hour", "2026-11-23T11:15"),
    ("in 45 minutes", "2026-11-23T11:00"),
    ("in 3 days", "2026-11-26T10:15"),
    ("in 1 week", "2026-11-30T10:15"),
    ("today 18:00", "2026-11-23T18:00"),
    ("tomorrow at 9:00", "2026-11-24T09:00"),
    ("at 11:00", "2026-11-23T11:00"),
    ("at 9:00", "2026-11-24T09:00"),
    ("5pm", "2026-11-23T17:00"),
    ("2026-12-24 10:00", "2026-12-24T10:00"),
    ("on 2026-12-24 at 10:00", "2026-12-24T10:00"),
    ("2小时后", "2026-11-23T12:15"),
    ("30分钟之后", "2026-11-23T10:45"),
    ("3天后", "2026-11-26T10:15"),
    ("明天9点", "2026-11-24T09:00"),
    ("今天下午3点", "2026-11-23T15:00"),
    ("晚上8点", "2026-11-23T20:00"),
]


@pytest.mark.parametrize(("text", "rule"), [*REPEATED, *((text, once(at)) for text, at in SINGLE)])
@pytest.mark.parametrize("more", ["", " write a summary", ": write a summary"])
def test_what_is_said(text: str, rule: str, more: str) -> None:
    found = parse_when(text + more, NOW, ZONE)
    assert isinstance(found, ParsedTime)
    assert found.rule.to_text == rule
    assert found.words == " ".join(text.split())
    assert found.rest == ("write a summary" if more else "")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("every 7 minutes", "every_minutes"),
        ("every 90 minutes", "every_minutes"),
        ("every 5 hours", "every_hours"),
        ("每7分钟", "every_minutes"),
        ("monthly on the 31st 9:00", "day_missing"),
        ("每月30号9:00", "day_missing"),
        ("monthly on the 32nd 9:00", "cron_value"),
        ("daily 25:00", "time_of_day"),
        ("daily 9:75", "time_of_day"),
        ("daily 13pm", "time_of_day"),
        ("today 9:00", "time_past"),
        ("2020-01-01 9:00", "time_past"),
        ("2026-02-30 9:00", "date_unknown"),
        ("in 500 days", "time_far"),
        ("in 99999999999999999999 weeks", "time_far"),
        ("2099-01-01 9:00", "time_far"),
        ("0 9 * * mon#1", "cron_foreign"),
        ("@reboot", "cron_macro"),
        ("0 9 * * " + "1" * 4400, "cron_item"),
    ],
)
def test_what_is_refused(text: str, key: str) -> None:
    with pytest.raises(ScheduleRefused) as refused:
        parse_when(text, NOW, ZONE)
    assert refused.value.key == key


@pytest.mark.parametrize(
    "text", ["", "summarize this", "9 10 11 reports please", "someday 9:00", "10 ideas for lunch"]
)
def test_what_says_no_time(text: str) -> None:
    assert parse_when(text, NOW, ZONE) is None


@given(st.text(max_size=60))
def test_anything_is_read_or_refused(text: str) -> None:
    try:
        found = parse_when(text, NOW, ZONE)
    except ScheduleRefused:
        return
    assert found is None or len(found.rest) <= len(text)
