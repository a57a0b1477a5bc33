"""From wall times to instants and back, where clocks change.

A wall time that comes twice (clocks go back) is taken the first time. One that does not come (clocks go
forward) fires when it would have been had they not: 02:30 at 03:30. So there is one firing at most for each
wall time, and none is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.errors import ScheduleRefused
from bot.schedules.recurrence import Cron, parse_cron

# Clocks change by an hour, some by less; a wall time may come that much later than its neighbours.
_CHANGE = timedelta(hours=3)
ONCE = "@"
"""What the rule of a single firing begins with; its instant follows, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When something is due: by a cron expression, or once at an instant (seconds since the epoch)."""

    cron: Cron | None = None
    at: float = 0.0

    @property
    def to_text(self) -> str:
        """The stored form."""
        return self.cron.text if self.cron else f"{ONCE}{self.at:.0f}"

    def next_run(self, instant: float, zone: ZoneInfo) -> float | None:
        """The first firing after that instant; None where there is none any more."""
        if self.cron is None:
            return self.at if self.at > instant else None
        return _next_instant(self.cron, instant, zone)

    def iter_runs(self, instant: float, zone: ZoneInfo) -> Iterator[float]:
        """Every firing after that instant."""
        found = self.next_run(instant, zone)
        while found is not None:
            yield found
            found = self.next_run(found, zone)


def parse_recurrence(text: str) -> Recurrence:
    """The rule of a stored form. Raises ScheduleRefused."""
    if text.startswith(ONCE) and text[1:].isdecimal():
        return Recurrence(at=float(text[1:]))
    return Recurrence(parse_cron(text))


def zone_of(name: str) -> ZoneInfo:
    """The time zone of an IANA name. Raises ScheduleRefused."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ScheduleRefused("zone_unknown", zone=name[:60]) from None


_found: dict[str, ZoneInfo] = {}


async def find_zone(name: str) -> ZoneInfo:
    """`zone_of` for a loop, which must not wait for files."""
    if name not in _found:
        _found[name] = await asyncio.to_thread(zone_of, name)
    return _found[name]


def to_wall_time(instant: float, zone: ZoneInfo) -> datetime:
    """What clocks show, without a zone."""
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)


def to_timestamp(shown: datetime, zone: ZoneInfo) -> float:
    """When clocks show that first, or would have shown it had they not been changed."""
    return shown.replace(tzinfo=zone, fold=0).astimezone(UTC).timestamp()


def _next_instant(cron: Cron, instant: float, zone: ZoneInfo) -> float | None:
    shown = cron.next_after(to_wall_time(instant, zone))
    found = None if shown is None else to_timestamp(shown, zone)
    if _is_offset_steady(instant, zone) and (found is None or _is_offset_steady(found, zone)):
        return found
    return _next_near_a_change(cron, instant, zone)


def _is_offset_steady(instant: float, zone: ZoneInfo) -> bool:
    """Whether no clock changes around then."""
    at = datetime.fromtimestamp(instant, UTC)
    return (at - _CHANGE).astimezone(zone).utcoffset() == (at + _CHANGE).astimezone(zone).utcoffset()


def _next_near_a_change(cron: Cron, instant: float, zone: ZoneInfo) -> float | None:
    """Wall times around a change are not in the order of their instants: the first of all that may come."""
    best: float | None = None
    shown = cron.next_after(to_wall_time(instant, zone) - _CHANGE)
    while shown is not None:
        if best is not None and shown - to_wall_time(best, zone) > _CHANGE:
            break
        at = to_timestamp(shown, zone)
        if at > instant and (best is None or at < best):
            best = at
        shown = cron.next_after(shown)
    return best
