"""Run times: the run of a due schedule, and the upcoming runs of many schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from bot.errors import ScheduleRefused
from bot.features.schedules.rule import Recurrence, parse_recurrence
from bot.features.schedules.schedule_store import Schedule
from bot.features.schedules.wall_clock import load_zone

MOST_COUNTED = 1000
"""Missed runs are counted up to this number."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run for the time `due` (the latest past one), after `missed` earlier ones.

    `following` is the next one (0.0: none). `late` is true if it is too late to catch up on. Times are
    seconds since the epoch.
    """

    due: float
    following: float
    missed: int
    late: bool


def plan_due(rule: Recurrence, zone: ZoneInfo, next_at: float, now: float, catch_up: float) -> PlannedRun:
    """Plan the run at `now` for a rule that was due at `next_at`; runs later than `catch_up` (s) are late."""
    past = list(islice(takewhile(lambda at: at <= now, rule.iter_runs(next_at, zone)), MOST_COUNTED))
    due = past[-1] if past else next_at
    if len(past) == MOST_COUNTED:
        due = _latest_run(rule, zone, now)
    following = rule.next_run(max(due, now), zone)
    return PlannedRun(due, following or 0.0, len(past), now - due > catch_up)


def _latest_run(rule: Recurrence, zone: ZoneInfo, now: float) -> float:
    """Return the latest run up to `now`, which must exist."""
    back, past = 60.0, list[float]()
    while not past:
        past = list(takewhile(lambda at: at <= now, rule.iter_runs(now - back, zone)))
        back *= 2
    return past[-1]


def next_runs(rule: Recurrence, zone: ZoneInfo, now: float, count: int) -> list[float]:
    """Return up to `count` next runs."""
    return list(islice(rule.iter_runs(now, zone), count))


MOST = 2000
"""Maximum number of listed runs."""


@dataclass(frozen=True, slots=True)
class UpcomingRuns:
    """Runs as (schedule id, seconds since the epoch), by time; `whole` is False if some are omitted."""

    firings: tuple[tuple[int, float], ...]
    whole: bool


def upcoming_runs(schedules: Sequence[Schedule], after: float, until: float) -> UpcomingRuns:
    """Return the runs between two times; each schedule gets an equal share. Blocking.

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
