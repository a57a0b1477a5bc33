"""Rules for recurring days and times of day."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from itertools import takewhile

from bot.errors import ScheduleRefused
from bot.features.schedules.cron import LAST, parse_weekdays
from bot.features.schedules.phrase import Interval, RepeatedDays
from bot.features.schedules.rule import AND, CODES, MAX_INTERVAL, Recurrence, parse_recurrence

MAX_STARTS = 3
"""Maximum number of proposed first days."""
_HOUR, _DAY = 60, 24 * 60
# Days to look ahead for a weekday, a day of the month or a position in it.
_AHEAD = 70


def repeat_at(
    days: RepeatedDays, minutes: Collection[int], start: date | None, until: date | None = None
) -> Recurrence:
    """Return the rule for days and times (minutes of the day). Raises ScheduleRefused."""
    rules: list[str] = []
    for of_hour, hours in _group_times(minutes):
        if days.every == 1 and not days.positions and start is None and until is None:
            rules.append(_cron_text(days, _join(of_hour), _join(hours)))
        elif days.together:
            # A position among several weekdays counts runs, of which there is one on a day.
            rules += [
                _rrule_text(days, (minute,), (hour,), start, until) for hour in hours for minute in of_hour
            ]
        else:
            rules.append(_rrule_text(days, of_hour, hours, start, until))
    return parse_recurrence(AND.join(rules))


def repeat_every(days: RepeatedDays, interval: Interval, span: tuple[time, time] | None) -> Recurrence:
    """Return the rule for an interval on certain days, within a span of hours if there is one.

    Raises ScheduleRefused for an interval that does not divide an hour or a day.
    """
    hours = _check_interval(interval)
    if span is not None:
        first, last = (one.hour * 60 + one.minute for one in span)
        return repeat_at(days, range(first + interval.past, last + 1, interval.minutes), None)
    if days.positions:
        return repeat_at(days, range(interval.past, _DAY, interval.minutes), None)
    if not hours:
        minute = f"*/{interval.minutes}" if interval.minutes < _HOUR else "0"
        return parse_recurrence(_cron_text(days, minute, "*"))
    hour = "0" if hours == 24 else f"*/{hours}"
    return parse_recurrence(_cron_text(days, str(interval.past), hour))


def _check_interval(interval: Interval) -> int:
    """Return an interval in hours, or 0 if it is in minutes. Raises ScheduleRefused."""
    minutes = interval.minutes
    in_hours = minutes % _HOUR == 0 and (interval.in_hours or minutes > _HOUR)
    whole, count = (24, minutes // _HOUR) if in_hours else (60, minutes)
    if not 0 < count <= whole or whole % count:
        fits = ", ".join(str(one) for one in range(1, whole + 1) if whole % one == 0)
        raise ScheduleRefused("every_hours" if in_hours else "every_minutes", count=count, fits=fits)
    return count if in_hours else 0


def align_start(days: RepeatedDays, start: date) -> date:
    """Return the first matching day on or after a date."""
    return next(_days_from(days, start), start)


def first_day(days: RepeatedDays, wall: datetime, minutes: Collection[int]) -> date:
    """Return the day of the first run after a wall time."""
    return next(_days_after(days, wall, minutes))


def possible_starts(days: RepeatedDays, wall: datetime, minutes: Collection[int]) -> Iterator[date]:
    """Yield the possible first days of an interval: the next days, or for weeks one day per week.

    Raises ScheduleRefused if the interval is too long.
    """
    longest = MAX_INTERVAL["DAILY" if days.unit == "day" else "WEEKLY"]
    if days.every > longest or days.every < 1:
        raise ScheduleRefused("interval_long", count=days.every, limit=longest)
    seen: set[object] = set()
    for day in _days_after(days, wall, minutes):
        period = day if days.unit == "day" else day.isocalendar()[:2]
        if period not in seen:
            seen.add(period)
            yield day
        if len(seen) == min(days.every, MAX_STARTS):
            return


def possible_months(days: RepeatedDays, wall: datetime, minutes: Collection[int]) -> Iterator[RepeatedDays]:
    """Yield the possible sets of months for "every three months", starting with the earliest.

    Raises ScheduleRefused if the months would not be the same each year.
    """
    if days.every < 1 or 12 % days.every:
        raise ScheduleRefused("every_months", count=days.every, fits="1, 2, 3, 4, 6, 12")
    first = first_day(days, wall, minutes).month
    for ahead in range(min(days.every, MAX_STARTS)):
        begin = (first - 1 + ahead) % days.every
        months = ",".join(str(month + 1) for month in range(begin, 12, days.every))
        yield replace(days, months=months, every=1)


def _days_after(days: RepeatedDays, wall: datetime, minutes: Collection[int]) -> Iterator[date]:
    latest = timedelta(minutes=max(minutes))
    for day in _days_from(days, wall.date()):
        if datetime.combine(day, time()) + latest > wall:
            yield day


def _days_from(days: RepeatedDays, start: date) -> Iterator[date]:
    """Yield the days from a date as if the interval were one, for a limited time ahead."""
    plain = replace(days, every=1, months="")
    [rule] = repeat_at(plain, (0,), None).patterns
    found = heapq.merge(*rule.wall_times(datetime.combine(start, time()) - timedelta(minutes=1)))
    end = start + timedelta(days=7 * _AHEAD)
    return takewhile(lambda day: day <= end, (one.date() for one in found))


def _group_times(minutes: Collection[int]) -> list[tuple[tuple[int, ...], list[int]]]:
    """Group times by the hours that share the same minutes, since a rule combines every hour with every
    minute.
    """
    of_hours: dict[int, list[int]] = defaultdict(list)
    for one in sorted(minutes):
        of_hours[one // 60].append(one % 60)
    groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for hour, of_hour in of_hours.items():
        groups[tuple(of_hour)].append(hour)
    return list(groups.items())


def _cron_text(days: RepeatedDays, minute: str, hour: str) -> str:
    return f"{minute} {hour} {days.monthdays or '*'} {days.months or '*'} {days.weekdays or '*'}"


def _rrule_text(
    days: RepeatedDays, of_hour: Sequence[int], hours: Sequence[int], start: date | None, until: date | None
) -> str:
    positions = tuple(dict.fromkeys(days.positions))
    codes = [CODES[one] for one in parse_weekdays(days.weekdays or "*")]
    by_day = [f"{position}{code}" for position in positions or ("",) for code in codes]
    is_monthly = positions or days.monthdays
    fields = {
        "FREQ": "MONTHLY" if is_monthly else "WEEKLY" if codes else "DAILY",
        "INTERVAL": days.every if days.every > 1 else "",
        "UNTIL": f"{until:%Y%m%d}T235959" if until else "",
        "BYMONTH": days.months,
        "BYMONTHDAY": "-1" if days.monthdays == LAST else days.monthdays,
        "BYDAY": ",".join(codes if days.together else by_day),
        "BYSETPOS": ",".join(map(str, positions)) if days.together else "",
        "BYHOUR": ",".join(map(str, hours)),
        "BYMINUTE": ",".join(map(str, of_hour)),
    }
    first = f"DTSTART:{start:%Y%m%d}T000000 " if start else ""
    return f"{first}RRULE:{';'.join(f'{name}={value}' for name, value in fields.items() if value != '')}"


def _join(values: Sequence[int]) -> str:
    """Return the cron field for ascending values, with ranges for three or more in a row."""
    items: list[str] = []
    runs: list[list[int]] = []
    for one in values:
        if runs and runs[-1][-1] == one - 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    for run in runs:
        items += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
    return ",".join(items)
