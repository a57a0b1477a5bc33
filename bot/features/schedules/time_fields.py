"""A schedule's time as fields, which an agent's tool fills in instead of a phrase."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

from bot.errors import ScheduleRefused
from bot.features.schedules import dates
from bot.features.schedules.cron import DAY_NAMES, WEEKDAYS
from bot.features.schedules.phrase import Interval, RepeatedDays
from bot.features.schedules.repeated_days import align_start, first_day, repeat_at, repeat_every
from bot.features.schedules.rule import LAST_YEAR, Recurrence
from bot.features.schedules.wall_clock import to_timestamp, to_wall_time

_WEEKDAY = "|".join(DAY_NAMES)
_POSITIONS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_FIXED = {"day": "", "weekday": "1-5", "weekend": "6,0"}
_DAY = (
    rf"(?i)^(?:day|weekday|weekend|{_WEEKDAY}|last|\d{{1,2}}|\d{{1,2}}-\d{{1,2}}|\d{{4}}-\d\d-\d\d"
    rf"|(?:{'|'.join(_POSITIONS)}) (?:weekday|{_WEEKDAY}))$"
)
_Day = Annotated[date, Field(ge=date(2, 1, 1), le=date(LAST_YEAR, 12, 31))]
_UNITS = {"minute": 1, "hour": 60}
_EVERY = r"(?i)^(?:[1-9]\d{0,2} (?:minute|hour|day|week|month)s?)?$"
_Text = StringConstraints(strip_whitespace=True, to_lower=True)


def _none_if_empty(value: object) -> object:
    return None if value == "" else value


def _list_if_missing(value: object) -> object:
    return value or []


class TimeFields(BaseModel):
    """The time of a schedule, as fields.

    `days` are `day`, `weekday`, `weekend`, `mon` to `sun`; days of the month (`1`, `last`) or of the year
    (`12-24`); `first mon`, `last weekday` of the month; or one date. `every` is an interval: `2 weeks`, which
    counts from `start`, or `30 minutes`, with the first and last of them in `times`.
    """

    days: Annotated[
        list[Annotated[str, _Text, Field(pattern=_DAY)]],
        Field(max_length=31),
        BeforeValidator(_list_if_missing),
    ] = []
    times: Annotated[
        list[Annotated[str, _Text, Field(pattern=r"^(?:[01]?\d|2[0-3]):[0-5]\d$")]],
        Field(max_length=24),
        BeforeValidator(_list_if_missing),
    ] = []
    every: Annotated[str, _Text, Field(pattern=_EVERY)] = ""
    start: Annotated[_Day | None, BeforeValidator(_none_if_empty)] = None
    until: Annotated[_Day | None, BeforeValidator(_none_if_empty)] = None
    zone: Annotated[str, StringConstraints(strip_whitespace=True, max_length=60)] = ""

    @property
    def is_empty(self) -> bool:
        """Return whether no field specifies a time."""
        return self == TimeFields()

    def to_rule(self, now: float, zone: ZoneInfo) -> Recurrence:
        """Return the rule. Raises ScheduleRefused, or ValueError with the missing or invalid fields."""
        found = re.fullmatch(r"(\d+) ([a-z]+?)s?", self.every)
        count, unit = (int(found[1]), found[2]) if found else (1, "")
        minutes = sorted({int(at[:-3]) * 60 + int(at[-2:]) for at in self.times})
        if len(self.days) == 1 and len(self.days[0]) == len("2026-12-24"):
            return self._once(minutes, now, zone)
        wall = to_wall_time(now, zone)
        if unit in _UNITS:
            return self._interval(Interval(count * _UNITS[unit], in_hours=unit == "hour"), minutes)
        days = self._read_days(unit, count, wall.date())
        if not minutes:
            raise ValueError("times: list each time of day, as in 09:00")
        if days.every > 1 and self.start is None:
            raise ValueError("start: give the first day, from which `every` counts")
        start = align_start(days, self.start) if self.start else None
        if start and days.every == 1 and start <= first_day(days, wall, minutes):
            start = None
        rule = repeat_at(days, minutes, start, self.until)
        if rule.next_run(now, zone) is None:
            raise ScheduleRefused("time_past")
        return rule

    def _once(self, minutes: Sequence[int], now: float, zone: ZoneInfo) -> Recurrence:
        if len(minutes) != 1 or self.every or self.start or self.until:
            raise ValueError("times: a date has one time of day, and neither every, start nor until")
        try:
            on = date.fromisoformat(self.days[0])
        except ValueError:
            raise ScheduleRefused("date_unknown", date=self.days[0]) from None
        at = to_timestamp(datetime.combine(on, time(*divmod(minutes[0], 60))), zone)
        if at <= now:
            raise ScheduleRefused("time_past")
        if at > now + dates.LONGEST_WAIT * 86_400:
            raise ScheduleRefused("time_far", days=dates.LONGEST_WAIT)
        return Recurrence(at=at)

    def _interval(self, interval: Interval, minutes: Sequence[int]) -> Recurrence:
        if self.start or self.until or len(minutes) not in {0, 2}:
            raise ValueError(
                "every: with minutes or hours, times are the first and the last or none; no start, no until"
            )
        first, last = (time(*divmod(one, 60)) for one in minutes) if minutes else (None, None)
        span = (first, last) if first and last else None
        return repeat_every(self._read_days("", 1, date.min), interval, span)

    def _read_days(self, unit: str, count: int, today: date) -> RepeatedDays:
        """Return the days, all of the same unit. Raises ScheduleRefused, ValueError."""
        names = list(dict.fromkeys(self.days))
        if unit == "week" and not names and self.start:
            names = [DAY_NAMES[self.start.isoweekday() % 7]]
        found = self._of_month(names) or self._of_week(names)
        if found is None:
            raise ValueError(
                "days: name days of one sort: weekdays, days of the month or year, positions, or a date"
            )
        if unit == "month" and found.monthdays and not found.months:
            if 12 % count:
                raise ScheduleRefused("every_months", count=count, fits="1, 2, 3, 4, 6, 12")
            first = ((self.start or today).month - 1) % count
            months = ",".join(str(month + 1) for month in range(first, 12, count)) if count > 1 else ""
            return RepeatedDays(monthdays=found.monthdays, months=months, unit="month")
        if count > 1 and unit != ("week" if found.weekdays else "day"):
            raise ValueError("every: weeks go with weekdays, days with `day`, months with days of the month")
        if count > 1 and not found.is_daily and not found.weekdays:
            raise ValueError("every: this interval doesn't go with these days")
        return RepeatedDays(
            found.weekdays, found.monthdays, found.months, count, found.unit, found.positions, found.together
        )

    @staticmethod
    def _of_week(names: Sequence[str]) -> RepeatedDays | None:
        if len(names) <= 1 and {*names} <= {*_FIXED}:
            weekdays = _FIXED[names[0]] if names else ""
            return RepeatedDays(weekdays, unit="week" if weekdays else "day")
        if names and {*names} <= {*WEEKDAYS}:
            return RepeatedDays(",".join(one for one in DAY_NAMES if one in names), unit="week")
        return None

    @staticmethod
    def _of_month(names: Sequence[str]) -> RepeatedDays | None:
        if names and all(one.isdecimal() or one == "last" for one in names):
            return dates.every_month([-1 if one == "last" else int(one) for one in names])
        if len(names) == 1 and (on := re.fullmatch(r"(\d+)-(\d+)", names[0])):
            return dates.every_year([int(on[1])], [int(on[2])])
        pairs = [one.split(" ") for one in names]
        if not names or any(len(one) != 2 for one in pairs):
            return None
        positions, of_days = (tuple(dict.fromkeys(one)) for one in zip(*pairs, strict=True))
        if len(of_days) > 1:
            return None
        numbers = tuple(_POSITIONS[one] for one in positions)
        is_together = of_days[0] == "weekday"
        if 5 in numbers and not is_together:
            raise ScheduleRefused("fifth_missing", words=names[0])
        return RepeatedDays(
            "1-5" if is_together else of_days[0], unit="month", positions=numbers, together=is_together
        )


def parse_time_fields(arguments: Mapping[str, Any]) -> TimeFields:
    """Parse a tool call's fields. Raises ValueError with the names of invalid ones."""
    try:
        return TimeFields.model_validate(arguments)
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)
        )
        raise ValueError("; ".join(problems)) from None
