"""Parse cron expressions; one that cannot be followed exactly is refused.

Five fields; `*`, values, ranges, steps and lists; names of months and days; 0 and 7 are Sunday; ranges may
wrap (`fri-mon`, `22-2`). If both day fields name days, either is enough, as in cron; if one begins with `*`,
both must match. `L` alone as the day of the month is its last day.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]

from bot.errors import ScheduleRefused

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
DAY_NAMES = tuple(WEEKDAYS)
MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
LAST = "L"
_ITEM = re.compile(r"(?P<first>\*|[a-z]+|\d{1,4})(?:-(?P<last>[a-z]+|\d{1,4}))?(?:/(?P<step>\d{1,4}))?")
_FOREIGN = re.compile(r"[#?w]")
_LONGEST = {month: calendar.monthrange(2024, month)[1] for month in range(1, 13)}


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an expression: its name, bounds, and names for numbers."""

    name: str
    low: int
    high: int
    names: Mapping[str, int]


MINUTE, HOUR = _Field("minute", 0, 59, {}), _Field("hour", 0, 23, {})
DAY, MONTH = _Field("day", 1, 31, {}), _Field("month", 1, 12, MONTHS)
WEEKDAY = _Field("weekday", 0, 7, WEEKDAYS)


@dataclass(frozen=True, slots=True)
class Cron:
    """A parsed expression; `text` is its source in five fields.

    `days` and `weekdays` are None if the field takes every day, `last_day` is the last day of the month,
    `either` means that one of the two day fields is enough.
    """

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: tuple[int, ...] | None = None
    weekdays: tuple[int, ...] | None = None
    last_day: bool = False
    either: bool = False
    _triggers: tuple[CronTrigger, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_triggers", self._build_trigger())

    def next_after(self, wall: datetime) -> datetime | None:
        """Return the first wall time after `wall`, both without a zone; None if there is none."""
        # UTC has no clock changes, so the trigger computes with plain wall times.
        start = wall.replace(tzinfo=UTC, microsecond=0) + timedelta(seconds=1)
        found = [trigger.get_next_fire_time(None, start) for trigger in self._triggers]
        times = [one.replace(tzinfo=None) for one in found if one is not None]
        return min(times, default=None)

    def _build_trigger(self) -> tuple[CronTrigger, ...]:
        day = "last" if self.last_day else _join_values(self.days)
        weekday = None if self.weekdays is None else ",".join(DAY_NAMES[one] for one in self.weekdays)
        both = [(day, weekday)]
        if self.either:
            both = [(day, None), (None, weekday)]
        return tuple(
            CronTrigger(
                month=_join_values(self.months, 12),
                day=day_rule,
                day_of_week=weekday_rule,
                hour=_join_values(self.hours, 24),
                minute=_join_values(self.minutes, 60),
                second=0,
                timezone=UTC,
            )
            for day_rule, weekday_rule in both
        )


def parse_cron(text: str) -> Cron:
    """Parse an expression. Raises ScheduleRefused if it cannot be followed exactly."""
    words = text.lower().split()
    if len(words) == 1 and words[0].startswith("@"):
        if words[0] not in MACROS:
            raise ScheduleRefused("cron_macro", macro=words[0], macros=", ".join(MACROS))
        words = MACROS[words[0]].split()
    if len(words) != 5:
        raise ScheduleRefused("cron_fields", count=len(words))
    minute, hour, day, month, weekday = words
    last_day = day == LAST.lower()
    days = None if last_day or day == "*" else _field_values(DAY, day)
    weekdays = None if weekday == "*" else _name_weekdays(weekday)
    months = _field_values(MONTH, month)
    either = (
        (days is not None or last_day)
        and weekdays is not None
        and not day.startswith("*")
        and not weekday.startswith("*")
    )
    if days is not None and not either and min(days) > max(_LONGEST[one] for one in months):
        raise ScheduleRefused("cron_never", day=min(days))
    written = " ".join([minute, hour, LAST if last_day else day, month, weekday])
    return Cron(
        written,
        _field_values(MINUTE, minute),
        _field_values(HOUR, hour),
        months,
        days,
        weekdays,
        last_day,
        either,
    )


def _name_weekdays(text: str) -> tuple[int, ...]:
    return tuple(sorted({one % 7 for one in _field_values(WEEKDAY, text)}))


def _field_values(of: _Field, text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for item in text.split(","):
        found.update(_parse_item(of, item))
    return tuple(sorted(found))


def _parse_item(field: _Field, item: str) -> list[int]:
    match = _ITEM.fullmatch(item)
    if match is None:
        key = "cron_foreign" if _FOREIGN.search(item) else "cron_item"
        raise ScheduleRefused(key, item=item, field=field.name)
    first, last, step = match["first"], match["last"], match["step"]
    if step is not None and last is None and first != "*":
        raise ScheduleRefused("cron_step", item=item, high=field.high, first=first, step=step)
    if first == "*" and last is not None:
        raise ScheduleRefused("cron_item", item=item, field=field.name)
    values = _parse_range(field, first, last)
    every = int(step) if step is not None else 1
    if not 0 < every <= field.high - field.low + 1:
        raise ScheduleRefused("cron_item", item=item, field=field.name)
    return values[::every]


def _parse_range(field: _Field, first: str, last: str | None) -> list[int]:
    # Sunday is both 0 and 7; `*` must include it once.
    highest = 6 if field is WEEKDAY else field.high
    if first == "*":
        return list(range(field.low, highest + 1))
    start = _parse_value(field, first)
    end = start if last is None else _parse_value(field, last)
    if start == end:
        return [start]
    if field is WEEKDAY:
        start %= 7
    if start <= end:
        return list(range(start, end + 1))
    return [*range(start, highest + 1), *range(field.low, end + 1)]


def _parse_value(field: _Field, word: str) -> int:
    value = int(word) if word.isdecimal() else field.names.get(word, -1)
    if not field.low <= value <= field.high:
        raise ScheduleRefused("cron_value", value=word, field=field.name, low=field.low, high=field.high)
    return value


def _join_values(values: tuple[int, ...] | None, all_of: int = 0) -> str | None:
    if values is None:
        return None
    return "*" if len(values) == all_of else ",".join(map(str, values))
