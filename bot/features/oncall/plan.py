"""Plans: the people on call over a span of time. Times are in seconds since the epoch."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import Final

from bot.config.access import AccessEntry

DAY: Final = 86_400.0
PAST: Final = 8 * DAY
AHEAD: Final = 60 * DAY
"""Seconds before and after the present that a plan covers."""


class ScheduleUnavailable(Exception):
    """A schedule can't be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A person as a schedule names them. `entry` is their id on a platform or account."""

    name: str
    email: str = ""
    entry: AccessEntry | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """A time in which people are on call, or nobody. In the last period of a plan, the end is infinite."""

    holders: tuple[Holder, ...] = ()
    start: float = -math.inf
    end: float = math.inf


@dataclass(frozen=True, slots=True)
class Plan:
    """Consecutive periods from `since` to `until`, and parts of the schedule that can't be read."""

    periods: Sequence[Shift]
    since: float
    until: float
    problems: Sequence[str] = ()

    def find_periods(self, now: float) -> tuple[Shift, Shift, Shift] | None:
        """Return the previous, the current and the next period, or None outside the plan."""
        padded = [Shift(), *self.periods, Shift()]
        found = (index for index, one in enumerate(self.periods) if one.start <= now < one.end)
        index = next(found, None) if self.since <= now < self.until else None
        return None if index is None else (padded[index], padded[index + 1], padded[index + 2])


def make_plan(shifts: Iterable[Shift], since: float, until: float, problems: Sequence[str] = ()) -> Plan:
    """Return a plan in which each period has everyone on call, and neighbors differ."""
    waiting = deque(sorted((one for one in shifts if one.end > one.start), key=lambda one: one.start))
    times = {time for one in waiting for time in (one.start, one.end) if since < time < until}
    periods: list[Shift] = []
    active: list[Shift] = []
    for start, end in pairwise(sorted({since, until, *times})):
        while waiting and waiting[0].start <= start:
            active.append(waiting.popleft())
        active = [one for one in active if one.end > start]
        holders = tuple(dict.fromkeys(holder for one in active for holder in one.holders))
        if periods and set(periods[-1].holders) == set(holders):
            periods[-1] = replace(periods[-1], end=end)
        else:
            periods.append(Shift(holders, start, end))
    periods[-1] = replace(periods[-1], end=math.inf)
    return Plan(periods, since, until, problems)


def to_instant(wall: datetime, zone: tzinfo) -> float:
    """Convert a local time. A repeated one is the earlier of the two; a skipped one is taken as if the clocks
    had not changed.
    """
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC).timestamp()


def to_wall_time(instant: float, zone: tzinfo) -> datetime:
    """Convert to local time, without a zone."""
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None, fold=0)
