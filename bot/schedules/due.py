"""Plan the run of a due schedule. Pure: the result depends on the arguments only."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from zoneinfo import ZoneInfo

from bot.schedules.wall_clock import Recurrence

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
    due, missed = next_at, 0
    following = rule.next_run(due, zone)
    while following is not None and following <= now and missed < MOST_COUNTED:
        due, missed = following, missed + 1
        following = rule.next_run(due, zone)
    if following is not None and following <= now:
        following = rule.next_run(now, zone)
    return PlannedRun(due, following or 0.0, missed, now - due > catch_up)


def next_runs(rule: Recurrence, zone: ZoneInfo, now: float, count: int) -> list[float]:
    """Return at most `count` next runs."""
    return list(islice(rule.iter_runs(now, zone), count))
