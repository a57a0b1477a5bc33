"""What is to be done about a schedule that is due. Pure: same rows, same clock, same plan."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from zoneinfo import ZoneInfo

from bot.schedules.wall_clock import Recurrence

MOST_COUNTED = 1000
"""Firings that came too late are counted so far."""


@dataclass(frozen=True, slots=True)
class DueFiring:
    """The firing for the instant `due` (the latest that is past), after `missed` others; `following` is the
    next one (0.0: none). `late` says that it is past the window in which it is made up for.
    """

    due: float
    following: float
    missed: int
    late: bool


def plan_due(rule: Recurrence, zone: ZoneInfo, next_at: float, now: float, catch_up: float) -> DueFiring:
    """What to do at `now` about a rule whose firing was due at `next_at`; `catch_up` in seconds."""
    due, missed = next_at, 0
    following = rule.next_run(due, zone)
    while following is not None and following <= now and missed < MOST_COUNTED:
        due, missed = following, missed + 1
        following = rule.next_run(due, zone)
    if following is not None and following <= now:
        following = rule.next_run(now, zone)
    return DueFiring(due, following or 0.0, missed, now - due > catch_up)


def next_runs(rule: Recurrence, zone: ZoneInfo, now: float, count: int) -> list[float]:
    """The next firings, at most so many."""
    return list(islice(rule.iter_runs(now, zone), count))
