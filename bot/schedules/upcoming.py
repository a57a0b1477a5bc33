"""List the upcoming runs of many schedules within a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from bot.errors import ScheduleRefused
from bot.schedules.wall_clock import load_zone, parse_recurrence
from bot.store.schedules import Schedule

MOST = 2000
"""Maximum number of listed runs."""


@dataclass(frozen=True, slots=True)
class UpcomingRuns:
    """Runs as (schedule id, seconds since the epoch), by time; `whole` is false if some were omitted."""

    firings: tuple[tuple[int, float], ...]
    whole: bool


def upcoming_runs(schedules: Sequence[Schedule], after: float, until: float) -> UpcomingRuns:
    """Return the runs after one time and before another; each schedule gets an equal share. Blocking.

    A schedule with an unreadable rule or zone has none.
    """
    share = max(1, MOST // max(1, len(schedules)))
    found: list[tuple[float, int]] = []
    whole = True
    for one in schedules:
        instants = _next_instants(one, after, until, share + 1)
        whole = whole and len(instants) <= share
        found += [(at, one.id) for at in instants[:share]]
    return UpcomingRuns(tuple((schedule, at) for at, schedule in sorted(found)), whole)


def _next_instants(one: Schedule, after: float, until: float, count: int) -> list[float]:
    try:
        firings = parse_recurrence(one.rule).iter_runs(after, load_zone(one.zone))
    except ScheduleRefused:
        return []
    return list(islice(takewhile(lambda at: at < until, firings), count))
