"""Find the dates that words such as "next friday" or "the 15th" can mean."""

from __future__ import annotations

import calendar
import itertools
from collections.abc import Sequence
from datetime import date, timedelta

from bot.errors import ScheduleRefused
from bot.features.schedules.cron import LAST
from bot.features.schedules.phrase import FindDates, RepeatedDays
from bot.features.schedules.rule import LAST_YEAR

WEEK = 7
SHORT_MONTH = 28
"""Number of days that every month has."""


def in_days(count: int) -> FindDates:
    """Return a date a number of days ahead."""
    return lambda today: (today + timedelta(days=count),)


def in_months(count: int) -> FindDates:
    """Return the same day of a later month. Raises ScheduleRefused if that month has none."""

    def find(today: date) -> tuple[date, ...]:
        return (_make_date(*_add_months(today, count), today.day),)

    return find


def coming_weekday(weekday: int) -> FindDates:
    """Return the next such weekday (0 is Sunday); if that is today, also the one a week later."""

    def find(today: date) -> tuple[date, ...]:
        ahead = (weekday - today.isoweekday()) % WEEK
        return tuple(today + timedelta(days=one) for one in ((0, WEEK) if ahead == 0 else (ahead,)))

    return find


def weekday_of_week(weekday: int, weeks: int) -> FindDates:
    """Return a weekday of this week (0), the next one, and so on.

    Weeks begin on Monday for some people and on Sunday for others, so there can be two.
    """

    def find(today: date) -> tuple[date, ...]:
        monday = today - timedelta(days=today.weekday())
        sunday = today - timedelta(days=today.isoweekday() % WEEK)
        found = {
            monday + timedelta(days=(weekday - 1) % WEEK + WEEK * weeks),
            sunday + timedelta(days=weekday + WEEK * weeks),
        }
        return tuple(sorted(one for one in found if one >= today)) or (max(found),)

    return find


def iso_weekday_of_week(weekday: int, weeks: int) -> FindDates:
    """Return a weekday of this week (0), the next one, and so on; weeks begin on Monday."""

    def find(today: date) -> tuple[date, ...]:
        return (today + timedelta(days=(weekday - 1) % WEEK - today.weekday() + WEEK * weeks),)

    return find


def next_weekday(weekday: int) -> FindDates:
    """Return what "next friday" means: the coming one, or the one of the next week."""

    def find(today: date) -> tuple[date, ...]:
        ahead = (weekday - today.isoweekday() - 1) % WEEK + 1
        return tuple(sorted({today + timedelta(days=ahead), *weekday_of_week(weekday, 1)(today)}))

    return find


def exact_date(year: int, month: int, day: int) -> FindDates:
    """Return a date. Raises ScheduleRefused if it does not exist."""
    found = _make_date(year, month, day)
    return lambda _today: (found,)


def date_in_year(month: int, day: int) -> FindDates:
    """Return such a date of this year, from today on, or of the next. Raises ScheduleRefused without one."""

    def find(today: date) -> tuple[date, ...]:
        is_ahead = _exists(today.year, month, day) and date(today.year, month, day) >= today
        return (_make_date(today.year if is_ahead else today.year + 1, month, day),)

    return find


def date_of_year(month: int, day: int, years: int) -> FindDates:
    """Return a date of this year (0) or a later one."""
    return lambda today: (_make_date(today.year + years, month, day),)


def either_order(first: int, second: int, year: int | None) -> FindDates:
    """Return the dates that two numbers can mean, as month and day or as day and month."""
    orders = [order for order in ((first, second), (second, first)) if _exists(year or 2024, *order)]
    if not orders:
        raise ScheduleRefused("date_unknown", date=f"{first}/{second}" + (f"/{year}" if year else ""))

    def find(today: date) -> tuple[date, ...]:
        found = (exact_date(year, *order) if year else date_in_year(*order) for order in orders)
        return tuple(dict.fromkeys(one(today)[0] for one in found))

    return find


def day_of_month(day: int, months: int | None = None) -> FindDates:
    """Return that day of a month, counted from this one; by default the next one there is."""

    def find(today: date) -> tuple[date, ...]:
        if months is not None:
            return (_make_date(*_add_months(today, months), day),)
        following = (_add_months(today, ahead) for ahead in range(3))
        return tuple(
            date(year, month, day)
            for year, month in following
            if _exists(year, month, day) and date(year, month, day) >= today
        )[:1]

    return find


def next_monday(today: date) -> tuple[date, ...]:
    """Return the first day of the next week."""
    return (today + timedelta(days=WEEK - today.weekday()),)


def on_weekday(find: FindDates, weekday: int, words: str) -> FindDates:
    """Return dates that have to be a weekday; raises ScheduleRefused if none is."""

    def checked(today: date) -> tuple[date, ...]:
        found = tuple(one for one in find(today) if one.isoweekday() % WEEK == weekday)
        if not found:
            raise ScheduleRefused("date_other_weekday", words=words)
        return found

    return checked


def check_day(day: int) -> None:
    """Check a day of the month. Raises ScheduleRefused."""
    if not 1 <= day <= 31:
        raise ScheduleRefused("cron_value", value=day, field="day", low=1, high=31)


def check_month_days(days: Sequence[int]) -> None:
    """Check days that have to be in every month. Raises ScheduleRefused."""
    for day in days:
        check_day(day)
        if day > SHORT_MONTH:
            raise ScheduleRefused("day_missing", day=day)


def every_year(months: Sequence[int], days: Sequence[int]) -> RepeatedDays:
    """Return days of some months, or their last days. Raises ScheduleRefused if one is not in every year."""
    for month, day in itertools.product(months, days):
        if not _exists(2023, month, day):
            raise ScheduleRefused("date_not_yearly", date=f"{month:02}-{day:02}")
    monthdays = ",".join(map(str, days)) or LAST
    return RepeatedDays(monthdays=monthdays, months=",".join(map(str, months)), unit="month")


def _add_months(today: date, count: int) -> tuple[int, int]:
    years, month = divmod(today.month - 1 + count, 12)
    return today.year + years, month + 1


def _exists(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def _make_date(year: int, month: int, day: int) -> date:
    if not 2 <= year <= LAST_YEAR or not _exists(year, month, day):
        raise ScheduleRefused("date_unknown", date=f"{year}-{month:02}-{day:02}")
    return date(year, month, day)
