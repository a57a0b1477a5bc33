"""Parser for cron expression fields; expressions that can't be followed exactly are rejected.

Five fields; `*`, values, ranges, steps and lists; names of months and days; 0 and 7 are Sunday; ranges may
wrap (`fri-mon`, `22-2`).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.errors import ScheduleRefused

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
WEEKDAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
DAY_NAMES = tuple(WEEKDAYS)
LAST = "L"
"""Day of the month that is its last one."""
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ITEM = re.compile(r"(?P<first>\*|[a-z]+|\d{1,4})(?:-(?P<last>[a-z]+|\d{1,4}))?(?:/(?P<step>\d{1,4}))?")
_FOREIGN = re.compile(r"[#?w]")


@dataclass(frozen=True, slots=True)
class CronField:
    """A field of an expression: its name, bounds, and names of values."""

    name: str
    low: int
    high: int
    names: Mapping[str, int]


MINUTE, HOUR = CronField("minute", 0, 59, {}), CronField("hour", 0, 23, {})
DAY_OF_MONTH, MONTH = CronField("day", 1, 31, {}), CronField("month", 1, 12, MONTHS)
WEEKDAY = CronField("weekday", 0, 7, WEEKDAYS)


def split_cron(text: str) -> list[str]:
    """Return the five fields of an expression or macro, in lower case. Raises ScheduleRefused."""
    words = text.lower().split()
    if len(words) == 1 and words[0].startswith("@"):
        if words[0] not in _MACROS:
            raise ScheduleRefused("cron_macro", macro=words[0], macros=", ".join(_MACROS))
        words = _MACROS[words[0]].split()
    if len(words) != 5:
        raise ScheduleRefused("cron_fields", count=len(words))
    return words


def parse_weekdays(field: str) -> tuple[int, ...]:
    """Return a field's weekdays, from Sunday (0); empty if it includes all days. Raises ScheduleRefused."""
    return () if field == "*" else tuple(sorted({one % 7 for one in field_values(WEEKDAY, field)}))


def field_values(of: CronField, text: str) -> tuple[int, ...]:
    """Return a field's values in order. Raises ScheduleRefused."""
    found: set[int] = set()
    for item in text.split(","):
        found.update(_parse_item(of, item))
    return tuple(sorted(found))


def _parse_item(field: CronField, item: str) -> list[int]:
    match = _ITEM.fullmatch(item)
    if match is None:
        key = "cron_foreign" if _FOREIGN.search(item) else "cron_item"
        raise ScheduleRefused(key, item=item, field=field.name)
    first, last, step = match["first"], match["last"], match["step"]
    if step is not None and last is None and first != "*":
        raise ScheduleRefused("cron_step", item=item, high=field.high, first=first, step=step)
    every = int(step) if step is not None else 1
    if (first == "*" and last is not None) or not 0 < every <= field.high - field.low + 1:
        raise ScheduleRefused("cron_item", item=item, field=field.name)
    return _parse_range(field, first, last)[::every]


def _parse_range(field: CronField, first: str, last: str | None) -> list[int]:
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


def _parse_value(field: CronField, word: str) -> int:
    value = int(word) if word.isdecimal() else field.names.get(word, -1)
    if not field.low <= value <= field.high:
        raise ScheduleRefused("cron_value", value=word, field=field.name, low=field.low, high=field.high)
    return value
