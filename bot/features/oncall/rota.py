"""Rotas: people who take turns, with exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from typing import Final

from bot.config.oncall import Rota
from bot.features.oncall.plan import AHEAD, PAST, Holder, Plan, Shift, make_plan, to_instant

SKIPPED: Final = timedelta(hours=25)
"""Longer than any clock change: one zone skipped a whole day."""


def plan_rota(rota: Rota, zone: tzinfo, now: float) -> Plan:
    """Return the plan around a time. It covers at least two handovers."""
    since, number = now - PAST, find_shift(rota, zone, now)
    until = max(now + AHEAD, _find_handover(rota, zone, number + 3))
    shifts = [*_list_shifts(rota, zone, find_shift(rota, zone, since), find_shift(rota, zone, until))]
    for one in rota.overrides:
        start, end = (to_instant(datetime.fromisoformat(text), zone) for text in (one.start, one.end))
        shifts = [*_cut(shifts, start, end), Shift((Holder(one.person),), start, end)]
    return make_plan(shifts, since, until)


def find_shift(rota: Rota, zone: tzinfo, now: float) -> int:
    """Return the number of the shift at a time, counted from `start`: the last one that has begun."""
    passed = datetime.fromtimestamp(now, zone).replace(tzinfo=None) - datetime.fromisoformat(rota.start)
    number = (passed + SKIPPED) // _find_length(rota)
    while _find_handover(rota, zone, number) > now:
        number -= 1
    return number


def _list_shifts(rota: Rota, zone: tzinfo, first: int, last: int) -> Iterator[Shift]:
    """Yield shifts. One that would begin after the next, where clocks skip hours, has no length."""
    end = _find_handover(rota, zone, last + 1)
    for number in range(last, first - 1, -1):
        start = min(_find_handover(rota, zone, number), end)
        yield Shift((Holder(rota.people[number % len(rota.people)]),), start, end)
        end = start


def _cut(shifts: list[Shift], start: float, end: float) -> Iterator[Shift]:
    """Yield the parts of the shifts before and after a time."""
    for one in shifts:
        yield Shift(one.holders, one.start, min(one.end, start))
        yield Shift(one.holders, max(one.start, end), one.end)


def _find_handover(rota: Rota, zone: tzinfo, number: int) -> float:
    return to_instant(datetime.fromisoformat(rota.start) + number * _find_length(rota), zone)


def _find_length(rota: Rota) -> timedelta:
    return timedelta(hours=rota.hours) if rota.hours else timedelta(days=rota.days)
