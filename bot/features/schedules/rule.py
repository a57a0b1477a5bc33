"""Parsing of stored time rules, and computation of their runs.

A rule is a cron expression, a recurrence rule of RFC 5545, or a single time. In a cron expression, if both
day fields name days, either is enough; if one begins with `*`, both must match. `L` alone as the day of the
month is its last day. A recurrence rule has the fields of `_RRULE` in that order: weeks begin on Monday,
`DTSTART` is the first day and `UNTIL` the last. What can't be followed exactly is refused.
"""

from __future__ import annotations

import calendar
import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

from dateutil import rrule  # type: ignore[import-untyped]

from bot.errors import ScheduleRefused
from bot.features.schedules.cron import (
    DAY_OF_MONTH,
    HOUR,
    LAST,
    MINUTE,
    MONTH,
    MONTHS,
    field_values,
    parse_weekdays,
    split_cron,
)
from bot.features.schedules.wall_clock import CHANGE, to_timestamp, to_wall_time

CODES = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
WORKDAYS = (1, 2, 3, 4, 5)
LAST_DAY = -1
"""The last day of a month, and the last position of a weekday in it."""
LAST_YEAR = 9990
"""Latest year of a first day, so that there are days after it."""
MAX_INTERVAL = {"DAILY": 366, "WEEKLY": 52, "MONTHLY": 1}
ONCE, AND = "@", " | "
"""Prefix of the stored form of a single time (s since the epoch), and separator of combined rules."""
_LONGEST = {month: calendar.monthrange(2024, month)[1] for month in range(1, 13)}
_RRULE = re.compile(
    r"(?:DTSTART:(?P<start>\d{8})T000000 )?RRULE:FREQ=(?P<frequency>DAILY|WEEKLY|MONTHLY)"
    r"(?:;INTERVAL=(?P<interval>\d{1,3}))?(?:;UNTIL=(?P<until>\d{8})T235959)?(?:;BYMONTH=(?P<months>[\d,]+))?"
    r"(?:;BYMONTHDAY=(?P<monthdays>[-\d,]+))?(?:;BYDAY=(?P<days>[-\w,]+))?(?:;BYSETPOS=(?P<together>[-\d,]+))?"
    r";BYHOUR=(?P<hours>[\d,]+);BYMINUTE=(?P<minutes>[\d,]+)"
)
_DAY = re.compile(r"(?P<position>[1-4]|-1)?(?P<code>[A-Z]{2})")


@dataclass(frozen=True, slots=True)
class Pattern:
    """Recurring days and times of day; `text` is the stored form, empty fields mean all days.

    `weekdays` are numbers from Sunday (0). `positions` are those of a weekday in its month (-1: the last), of
    all weekdays taken together if `together`. `monthdays` has -1 for the last day. If `either`, one of
    `monthdays` and `weekdays` is enough. `start` is the first day and `until` the last.
    """

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    frequency: str = "DAILY"
    interval: int = 1
    months: tuple[int, ...] = ()
    monthdays: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    together: bool = False
    either: bool = False
    start: date | None = None
    until: date | None = None

    def wall_times(self, after: datetime) -> Iterable[Iterator[datetime]]:
        """Return the wall times after a given one, without a zone, as ascending streams."""
        for monthdays, weekdays in self._day_fields():
            of_days = [_rrule_weekday(day, position) for day, position in weekdays]
            # Without days, dateutil takes the day of `dtstart`.
            every_day = not monthdays and not of_days and self.frequency == "MONTHLY"
            found = rrule.rrule(
                getattr(rrule, self.frequency),
                dtstart=datetime.combine(self._begin(after), time()),
                interval=self.interval,
                until=datetime.combine(self.until, time.max) if self.until else None,
                bysetpos=self.positions if self.together else None,
                bymonth=self.months or None,
                bymonthday=range(1, 32) if every_day else monthdays or None,
                byweekday=of_days or None,
                byhour=self.hours,
                byminute=self.minutes,
                bysecond=0,
            )
            yield found.xafter(after)

    def _day_fields(self) -> Iterator[tuple[tuple[int, ...], list[tuple[int, int]]]]:
        positions = self.positions if self.positions and not self.together else (0,)
        weekdays = list(product(self.weekdays, positions))
        if not self.either:
            yield self.monthdays, weekdays
            return
        yield (), weekdays
        # A stream without any time would be looked through until the year 9999.
        if not self.lacks_monthdays:
            yield self.monthdays, []

    @property
    def lacks_monthdays(self) -> bool:
        """Return whether none of the months contains any of the days."""
        longest = max(_LONGEST[one] for one in self.months or _LONGEST)
        return bool(self.monthdays) and min(self.monthdays) > longest

    def _begin(self, after: datetime) -> date:
        """Return a first day near a date, because a rule is evaluated from its first day."""
        start = self.start or after.date()
        base, step = start, self.interval
        if self.frequency != "DAILY":
            base, step = start - timedelta(days=start.weekday()), 7 * self.interval
        ahead = max(0, (after.date() - base).days) // step * step
        return max(start, base + timedelta(days=ahead))


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A time rule: one or more patterns, each with its own runs, or a single time (seconds since the
    epoch).
    """

    patterns: tuple[Pattern, ...] = ()
    at: float = 0.0

    @property
    def to_text(self) -> str:
        """Return the stored form."""
        return AND.join(one.text for one in self.patterns) or f"{ONCE}{self.at:.0f}"

    def next_run(self, instant: float, zone: ZoneInfo) -> float | None:
        """Return the first run after `instant`, or None if there is none."""
        return next(self.iter_runs(instant, zone), None)

    def iter_runs(self, instant: float, zone: ZoneInfo) -> Iterator[float]:
        """Yield the runs after `instant`, in order."""
        if self.at > instant:
            yield self.at
        begin = to_wall_time(instant, zone) - CHANGE
        walls = heapq.merge(*(stream for one in self.patterns for stream in one.wall_times(begin)))
        latest, waiting = instant, list[float]()
        for wall in walls:
            at = to_timestamp(wall, zone)
            # Near a clock change, a later wall time can run sooner.
            while waiting and waiting[0] <= at - CHANGE.total_seconds():
                if (found := heapq.heappop(waiting)) > latest:
                    latest = found
                    yield found
            if at > latest:
                heapq.heappush(waiting, at)
        yield from sorted({one for one in waiting if one > latest})


def parse_recurrence(text: str) -> Recurrence:
    """Parse a rule in stored form. Raises ScheduleRefused."""
    if text.startswith(ONCE) and text[1:].isdecimal():
        return Recurrence(at=float(text[1:]))
    return Recurrence(tuple(map(_parse_pattern, text.split(AND))))


def _parse_pattern(text: str) -> Pattern:
    if "RRULE:" not in text:
        return parse_cron(text)
    try:
        return _parse_rrule(text)
    except ValueError:
        raise ScheduleRefused("rule_unreadable", rule=text[:200]) from None


def parse_cron(text: str) -> Pattern:
    """Parse a cron expression. Raises ScheduleRefused if it can't be followed exactly."""
    minute, hour, day, month, weekday = split_cron(text)
    monthdays: tuple[int, ...] = ()
    if day != "*":
        monthdays = (LAST_DAY,) if day == LAST.lower() else field_values(DAY_OF_MONTH, day)
    months = field_values(MONTH, month)
    if len(months) == len(MONTHS):
        months = ()
    found = Pattern(
        " ".join([minute, hour, LAST if day == LAST.lower() else day, month, weekday]),
        field_values(MINUTE, minute),
        field_values(HOUR, hour),
        # Days of some months are found sooner by their months.
        "MONTHLY" if months or monthdays else "DAILY",
        months=months,
        monthdays=monthdays,
        weekdays=parse_weekdays(weekday),
        either=not (day.startswith("*") or weekday.startswith("*")),
    )
    if found.lacks_monthdays and not found.either:
        raise ScheduleRefused("cron_never", day=min(found.monthdays))
    return found


def _parse_rrule(text: str) -> Pattern:
    match = _RRULE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    days = [_DAY.fullmatch(one) for one in (match["days"] or "").split(",") if one]
    pairs = [(CODES.index(one["code"]), int(one["position"] or 0)) for one in days if one]
    weekdays = tuple(dict.fromkeys(day for day, _ in pairs))
    positions = tuple(dict.fromkeys(position for _, position in pairs if position))
    found = Pattern(
        text,
        _numbers(match["minutes"], range(60)),
        _numbers(match["hours"], range(24)),
        match["frequency"],
        int(match["interval"] or 1),
        _numbers(match["months"], range(1, 13)),
        _numbers(match["monthdays"], (LAST_DAY, *range(1, 32))),
        weekdays,
        _numbers(match["together"], (LAST_DAY, *range(1, 6))) or positions,
        together=match["together"] is not None,
        start=_parse_day(match["start"]),
        until=_parse_day(match["until"]),
    )
    # A weekday without its position, or a repeated weekday, has a meaning other than the fields.
    if len(pairs) != len(days) or sorted(pairs) != sorted(product(weekdays, positions or (0,))):
        raise ValueError(text)
    if not (_has_fields_of_frequency(found) and 1 <= found.interval <= MAX_INTERVAL[found.frequency]):
        raise ValueError(text)
    if (found.start and found.start.year > LAST_YEAR) or found.lacks_monthdays:
        raise ValueError(text)
    return found


def _has_fields_of_frequency(rule: Pattern) -> bool:
    """Return whether a rule's fields fit its frequency, and it runs in every period."""
    by_position = bool(rule.positions)
    if rule.interval > 1 and (rule.start is None or rule.months or rule.monthdays):
        return False
    match rule.frequency:
        case "MONTHLY":
            if rule.monthdays:
                return not (rule.weekdays or by_position)
            # BYSETPOS counts runs, not days; only workdays have a fifth position in each month.
            is_single = len(rule.hours) == len(rule.minutes) == 1
            fifth = 5 in rule.positions and {*rule.weekdays} != {*WORKDAYS}
            return by_position and bool(rule.weekdays) and (is_single or not rule.together) and not fifth
        case "WEEKLY":
            return bool(rule.weekdays) and not (by_position or rule.months or rule.monthdays)
        case _:
            # Weekdays among every few days can be far apart.
            return not (by_position or rule.monthdays) and (rule.interval == 1 or not rule.weekdays)


def _numbers(text: str | None, of: Iterable[int]) -> tuple[int, ...]:
    """Return the numbers in a list. Raises ValueError for an invalid or repeated number."""
    found = tuple(map(int, text.split(","))) if text else ()
    if len(found) != len({*found}) or not {*found} <= {*of}:
        raise ValueError(text)
    return found


def _parse_day(text: str | None) -> date | None:
    return datetime.strptime(text, "%Y%m%d").date() if text else None


def _rrule_weekday(day: int, position: int) -> Any:
    of_day = rrule.weekday((day - 1) % 7)
    return of_day(position) if position else of_day
