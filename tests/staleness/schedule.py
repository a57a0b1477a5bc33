"""Schedules of the calls that show a reply, the limits that they keep, and how far they lag behind."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

NEAR = 1e-6


class Kind(StrEnum):
    """What a call does to its part; END completes it by a method of its own, where there is one."""

    POST = "post"
    EDIT = "edit"
    END = "end"


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `count` calls of these kinds in any `period` seconds."""

    count: int
    period: float
    kinds: frozenset[Kind] = frozenset({Kind.POST, Kind.EDIT})


@dataclass(frozen=True, slots=True)
class Table:
    """The rules that all calls of one reply keep; `ends`: a part may be completed by a call of kind END."""

    rules: tuple[Rule, ...]
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a schedule; `shown` is how many tokens can be read after it."""

    at: float
    kind: Kind
    shown: int


def lag_of(arrivals: Sequence[float], calls: Sequence[Call]) -> float:
    """The integral of (tokens that came − tokens that can be read), in token-seconds."""
    if calls[-1].shown < len(arrivals):
        raise ValueError(f"only {calls[-1].shown} of {len(arrivals)} tokens are shown")
    came = sum(calls[-1].at - arrival for arrival in arrivals)
    return came - sum(call.shown * (later.at - call.at) for call, later in pairwise(calls))


def allowed(calls: Sequence[Call], table: Table) -> bool:
    """Whether a schedule keeps every sliding window."""
    for rule in table.rules:
        times = [call.at for call in calls if call.kind in rule.kinds]
        pairs = zip(times, times[rule.count :], strict=False)
        if any(later - earlier < rule.period - NEAR for earlier, later in pairs):
            return False
    return True


def steady(arrivals: Sequence[float], borders: Sequence[int], table: Table) -> list[Call]:
    """Calls as far apart as the strictest rule has them on average: it surely is allowed."""
    apart = max(rule.period / rule.count for rule in table.rules)
    calls: list[Call] = []
    at, shown, part = arrivals[0], 0, 0
    while shown < len(arrivals):
        kind = Kind.POST if shown == (borders[part - 1] if part else 0) else Kind.EDIT
        at = max(at, arrivals[shown])
        shown = min(bisect_right(arrivals, at + NEAR), borders[part])
        calls.append(Call(at, kind, shown))
        part += shown == borders[part]
        at += apart
    return calls
