"""Convert between wall times and timestamps, including clock changes.

If clocks go back, a repeated wall time counts the first time. If clocks go forward, a skipped wall time runs
when it would have been without the change: 02:30 at 03:30. So each wall time has at most one run, and none is
skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from bot import chat_zones
from bot.errors import ScheduleRefused
from bot.schedules.calendar_rule import MARK, CalendarRule, parse_calendar_rule
from bot.schedules.recurrence import Cron, parse_cron

# Clocks change by at most an hour or two; within this distance of a change, order is checked.
_CHANGE = timedelta(hours=3)
ONCE = "@"
"""Prefix of the rule of a single run; its time follows, in seconds since the epoch."""


AND = " | "
"""Separates the stored forms of several rules that hold together."""
Pattern = Cron | CalendarRule


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A time rule: patterns of which each has its runs, or a single time (seconds since the epoch)."""

    patterns: tuple[Pattern, ...] = ()
    at: float = 0.0

    @property
    def to_text(self) -> str:
        """Return the stored form."""
        return AND.join(one.text for one in self.patterns) or f"{ONCE}{self.at:.0f}"

    def next_run(self, instant: float, zone: ZoneInfo) -> float | None:
        """Return the first run after `instant`; None if there is none."""
        if not self.patterns:
            return self.at if self.at > instant else None
        found = (_next_instant(one, instant, zone) for one in self.patterns)
        return min((at for at in found if at is not None), default=None)

    def iter_runs(self, instant: float, zone: ZoneInfo) -> Iterator[float]:
        """Yield the runs after `instant`."""
        found = self.next_run(instant, zone)
        while found is not None:
            yield found
            found = self.next_run(found, zone)


def parse_recurrence(text: str) -> Recurrence:
    """Parse the stored form of a rule. Raises ScheduleRefused."""
    if text.startswith(ONCE) and text[1:].isdecimal():
        return Recurrence(at=float(text[1:]))
    return Recurrence(tuple(map(_parse_pattern, text.split(AND))))


def _parse_pattern(text: str) -> Pattern:
    return parse_calendar_rule(text) if MARK in text else parse_cron(text)


def load_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name. Raises ScheduleRefused."""
    return _require(chat_zones.load_zone(name), name)


async def find_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name without blocking the event loop. Raises ScheduleRefused."""
    return _require(await chat_zones.find_zone(name), name)


def _require(zone: ZoneInfo | None, name: str) -> ZoneInfo:
    if zone is None:
        raise ScheduleRefused("zone_unknown", zone=name[:60])
    return zone


def to_wall_time(instant: float, zone: ZoneInfo) -> datetime:
    """Convert a timestamp to wall time, without a zone."""
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)


def to_timestamp(wall: datetime, zone: ZoneInfo) -> float:
    """Convert a wall time to its first timestamp; a skipped one is converted as if clocks had not changed."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).timestamp()


def _next_instant(pattern: Pattern, instant: float, zone: ZoneInfo) -> float | None:
    wall = pattern.next_after(to_wall_time(instant, zone))
    found = None if wall is None else to_timestamp(wall, zone)
    if _is_offset_steady(instant, zone) and (found is None or _is_offset_steady(found, zone)):
        return found
    return _next_near_a_change(pattern, instant, zone)


def _is_offset_steady(instant: float, zone: ZoneInfo) -> bool:
    """Return whether no clock change is near."""
    at = datetime.fromtimestamp(instant, UTC)
    return (at - _CHANGE).astimezone(zone).utcoffset() == (at + _CHANGE).astimezone(zone).utcoffset()


def _next_near_a_change(pattern: Pattern, instant: float, zone: ZoneInfo) -> float | None:
    """Return the earliest run near a clock change, where wall times are not in the order of their
    timestamps.
    """
    earliest: float | None = None
    wall = pattern.next_after(to_wall_time(instant, zone) - _CHANGE)
    while wall is not None:
        if earliest is not None and wall - to_wall_time(earliest, zone) > _CHANGE:
            break
        at = to_timestamp(wall, zone)
        if at > instant and (earliest is None or at < earliest):
            earliest = at
        wall = pattern.next_after(wall)
    return earliest
