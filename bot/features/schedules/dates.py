"""Possible dates for phrases such as "next friday" or "the 15th"."""

from __future__ import annotations

import calendar
import itertools
from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from bot.errors import ScheduleRefused
from bot.features.schedules.cron import LAST
from bot.features.schedules.phrase import RepeatedDays
from bot.features.schedules.rule import LAST_YEAR

Dates = tuple[date, ...]
WEEK = 7
SHORT_MONTH = 28
"""Number of days that every month has."""
LONGEST_WAIT = 366
"""A single run may be at most this number of days ahead."""


def days_ahead(today: date, days: int, months: int = 0) -> date:
    """Return the day this many days or months ahead. Raises ScheduleRefused if it is too far ahead or does
    not exist in its month.
    """
    if max(days, months * SHORT_MONTH) > LONGEST_WAIT:
        raise ScheduleRefused("time_far", days=LONGEST_WAIT)
    return _make_date(*_add_months(today, months), today.day) if months else today + timedelta(days=days)


def coming_weekday(today: date, weekday: int) -> Dates:
    """Return the next such weekday (0 is Sunday); if that is today, include the one a week later."""
    ahead = (weekday - today.isoweekday()) % WEEK
    return tuple(today + timedelta(days=one) for one in ((0, WEEK) if ahead == 0 else (ahead,)))


def weekday_of_week(today: date, weekday: int, weeks: int) -> Dates:
    """Return a weekday of this week (0), the next week (1), and so on.

    Weeks begin on Monday for some people and on Sunday for others, so there can be two.
    """
    sunday = today - timedelta(days=today.isoweekday() % WEEK)
    found = {iso_weekday_of_week(today, weekday, weeks), sunday + timedelta(days=weekday + WEEK * weeks)}
    return tuple(sorted(one for one in found if one >= today)) or (max(found),)


def iso_weekday_of_week(today: date, weekday: int, weeks: int) -> date:
    """Return a weekday of this week (0), the next week (1), and so on; weeks start on Monday."""
    return today + timedelta(days=(weekday - 1) % WEEK - today.weekday() + WEEK * weeks)


def next_weekday(today: date, weekday: int) -> Dates:
    """Return the possible dates of "next friday": in this week and the next."""
    ahead = (weekday - today.isoweekday() - 1) % WEEK + 1
    return tuple(sorted({today + timedelta(days=ahead), *weekday_of_week(today, weekday, 1)}))


def date_of(today: date, month: int, day: int, year: int | None = None) -> date:
    """Return a date in a year, or its next occurrence from today. Raises ScheduleRefused if there is none."""
    if year is None:
        is_ahead = _exists(today.year, month, day) and date(today.year, month, day) >= today
        year = today.year if is_ahead else today.year + 1
    return _make_date(year, month, day)


def either_order(today: date, first: int, second: int, year: int | None = None) -> Dates:
    """Return the possible dates for two numbers, as month and day or as day and month."""
    orders = [order for order in ((first, second), (second, first)) if _exists(year or 2024, *order)]
    if not orders:
        raise ScheduleRefused("date_unknown", date=f"{first}/{second}" + (f"/{year}" if year else ""))
    return tuple(dict.fromkeys(date_of(today, *order, year) for order in orders))


def next_day_of_month(today: date, day: int) -> Dates:
    """Return the next such days of a month."""
    check_day(day)
    following = (_add_months(today, ahead) for ahead in range(3))
    return tuple(
        date(year, month, day)
        for year, month in following
        if _exists(year, month, day) and date(year, month, day) >= today
    )[:1]


def day_of_month(today: date, day: int, months: int) -> date:
    """Return a day of this month (0) or a later one. Raises ScheduleRefused if it does not exist."""
    return _make_date(*_add_months(today, months), day)


def check_day(day: int) -> None:
    """Check a day of the month. Raises ScheduleRefused."""
    if not 1 <= day <= 31:
        raise ScheduleRefused("cron_value", value=day, field="day", low=1, high=31)


def every_month(days: Iterable[int]) -> RepeatedDays:
    """Return days of every month (-1: the last). Raises ScheduleRefused for a day that some months lack."""
    named = list(days)
    if named == [-1]:
        return RepeatedDays(monthdays=LAST, unit="month")
    for day in named:
        check_day(day)
        if day > SHORT_MONTH:
            raise ScheduleRefused("day_missing", day=day)
    return RepeatedDays(monthdays=_join(named), unit="month")


def every_year(months: Sequence[int], days: Sequence[int]) -> RepeatedDays:
    """Return days of certain months (-1: the last). Raises ScheduleRefused for a day that does not occur
    every year.
    """
    is_last = list(days) == [-1]
    for month, day in itertools.product(months, [1] if is_last else days):
        if not _exists(2023, month, day):
            raise ScheduleRefused("date_not_yearly", date=f"{month:02}-{day:02}")
    return RepeatedDays(monthdays=LAST if is_last else _join(days), months=_join(months), unit="month")


def _join(values: Iterable[int]) -> str:
    return ",".join(map(str, values))


def _add_months(today: date, count: int) -> tuple[int, int]:
    years, month = divmod(today.month - 1 + count, 12)
    return today.year + years, month + 1


def _exists(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def _make_date(year: int, month: int, day: int) -> date:
    if not 2 <= year <= LAST_YEAR or not _exists(year, month, day):
        raise ScheduleRefused("date_unknown", date=f"{year}-{month:02}-{day:02}")
    return date(year, month, day)
