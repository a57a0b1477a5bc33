"""Rules that cron cannot express: every second week, the first Monday of the month, from a first day on.

They are stored as recurrence rules of RFC 5545 (iCalendar), in the part of it that is used here: `FREQ`
(`DAILY`, `WEEKLY`, `MONTHLY`), `INTERVAL`, `BYDAY` (with a position in `MONTHLY`, such as `1MO` or `-1FR`),
`BYSETPOS` (1 to 4 and -1, of workdays also 5; with a single time), `BYHOUR` and `BYMINUTE`. Weeks begin on
Monday. `DTSTART` is the first day.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from bot.errors import ScheduleRefused

CODES = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
LAST_POSITION = -1
MARK = "RRULE:"
MAX_INTERVAL = {"DAILY": 366, "WEEKLY": 52, "MONTHLY": 1}
LAST_YEAR = 9990
"""Latest year of a first day, so that the days searched after it exist."""
_START = "DTSTART:"
_DAY = re.compile(r"(?P<position>[1-4]|-1)?(?P<code>[A-Z]{2})")
# A monthly rule has a day in each month; the longest distance is between two of these.
_LONGEST_MONTHS = 62
# Each month has these positions of any weekdays, and a fifth workday.
_POSITIONS = frozenset({1, 2, 3, 4, LAST_POSITION})
_WORKDAYS = frozenset({1, 2, 3, 4, 5})


@dataclass(frozen=True, slots=True)
class CalendarRule:
    """A rule of days and times.

    `weekdays` are numbers from Sunday (0). `positions` are those of a weekday in its month (-1: the last), of
    all weekdays taken together if `together`. `start` is the first day, which a rule with an interval needs.
    """

    frequency: str
    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    interval: int = 1
    weekdays: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    together: bool = False
    start: date | None = None

    @property
    def text(self) -> str:
        """Return the stored form."""
        days = [CODES[one] for one in self.weekdays]
        if self.positions and not self.together:
            days = [f"{position}{code}" for position in self.positions for code in days]
        fields = [
            f"FREQ={self.frequency}",
            *([f"INTERVAL={self.interval}"] if self.interval > 1 else []),
            *([f"BYDAY={','.join(days)}"] if days else []),
            *([f"BYSETPOS={_join(self.positions)}"] if self.together else []),
            f"BYHOUR={_join(self.hours)}",
            f"BYMINUTE={_join(self.minutes)}",
        ]
        start = f"{_START}{self.start:%Y%m%d}T000000 " if self.start else ""
        return f"{start}{MARK}{';'.join(fields)}"

    def next_after(self, wall: datetime) -> datetime | None:
        """Return the first wall time after `wall`, both without a zone; None if there is none."""
        day = max(wall.date(), self.start or wall.date())
        times = sorted(time(hour, minute) for hour in self.hours for minute in self.minutes)
        unit = {"DAILY": 1, "WEEKLY": 7, "MONTHLY": _LONGEST_MONTHS}[self.frequency]
        for _ in range(unit * self.interval + 8):
            if self._includes(day):
                found = (datetime.combine(day, one) for one in times)
                if later := next((one for one in found if one > wall), None):
                    return later
            day += timedelta(days=1)
        return None

    def _includes(self, day: date) -> bool:
        if self.frequency == "MONTHLY":
            return self._is_in_position(day)
        if self.weekdays and _weekday(day) not in self.weekdays:
            return False
        if self.interval == 1 or self.start is None:
            return True
        if self.frequency == "DAILY":
            return (day - self.start).days % self.interval == 0
        return (_monday(day) - _monday(self.start)).days // 7 % self.interval == 0

    def _is_in_position(self, day: date) -> bool:
        if _weekday(day) not in self.weekdays:
            return False
        if self.together:
            found = [one for one in _month_days(day) if _weekday(one) in self.weekdays]
            return day in [found[one - 1 if one > 0 else one] for one in self.positions]
        last = calendar.monthrange(day.year, day.month)[1]
        is_last = day.day + 7 > last
        return (day.day - 1) // 7 + 1 in self.positions or (is_last and LAST_POSITION in self.positions)


def parse_calendar_rule(text: str) -> CalendarRule:
    """Parse the stored form of a rule. Raises ScheduleRefused."""
    try:
        return _parse(text)
    except (KeyError, ValueError):
        raise ScheduleRefused("rule_unreadable", rule=text[:200]) from None


def _parse(text: str) -> CalendarRule:
    first, _, second = text.rpartition(" ")
    start = datetime.strptime(first, f"{_START}%Y%m%dT000000").date() if first else None
    fields = dict(part.split("=") for part in second.removeprefix(MARK).split(";"))
    days = [_DAY.fullmatch(one) for one in fields.get("BYDAY", "").split(",") if one]
    found = [one for one in days if one is not None]
    weekdays = tuple(dict.fromkeys(CODES.index(one["code"]) for one in found))
    positions = tuple(dict.fromkeys(int(one["position"]) for one in found if one["position"]))
    if "BYSETPOS" in fields:
        positions = _numbers(fields["BYSETPOS"])
    rule = CalendarRule(
        fields["FREQ"],
        _numbers(fields["BYHOUR"]),
        _numbers(fields["BYMINUTE"]),
        int(fields.get("INTERVAL", "1")),
        weekdays,
        positions,
        "BYSETPOS" in fields,
        start,
    )
    # A rule that is read only in part would run at other times, so the text must survive a round trip.
    if rule.text != text or not 1 <= rule.interval <= MAX_INTERVAL[rule.frequency]:
        raise ValueError(text)
    if not (_is_subset(rule.hours, range(24)) and _is_subset(rule.minutes, range(60))):
        raise ValueError(text)
    if (rule.interval > 1 and start is None) or (start and start.year > LAST_YEAR):
        raise ValueError(text)
    if not _has_fields_of_frequency(rule):
        raise ValueError(text)
    return rule


def _has_fields_of_frequency(rule: CalendarRule) -> bool:
    """Return True if the rule has the weekdays and positions of its frequency, and no others."""
    if rule.frequency != "MONTHLY":
        is_weekly = rule.frequency == "WEEKLY"
        # Weekdays among every few days can be farther apart than the search goes.
        fits = bool(rule.weekdays) == is_weekly or (not is_weekly and rule.interval == 1)
        return fits and not (rule.positions or rule.together)
    known = _POSITIONS | {5} if rule.together and {*rule.weekdays} == _WORKDAYS else _POSITIONS
    # BYSETPOS counts runs, not days.
    is_single = len(rule.hours) == len(rule.minutes) == 1
    return bool(rule.weekdays) and _is_subset(rule.positions, known) and (is_single or not rule.together)


def _is_subset(values: tuple[int, ...], of: Collection[int]) -> bool:
    """Return True for values that are all in a collection, each once and at least one."""
    return 0 < len(values) == len({*values}) and {*values} <= {*of}


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(","))


def _join(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


def _weekday(day: date) -> int:
    return (day.weekday() + 1) % 7


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _month_days(day: date) -> list[date]:
    count = calendar.monthrange(day.year, day.month)[1]
    return [day.replace(day=number) for number in range(1, count + 1)]
