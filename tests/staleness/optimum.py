"""The best schedule that a limit table allows for a reply whose arrivals are known beforehand.

Tokens come one by one and fill parts. The first call about a part posts it, the others edit it; each shows
what has come of its part, and the part before is complete then. An exact dynamic programme over (part, edits
made in all, time of the last call) finds the least lag, with the lines of a convex hull for the step from
call to call, so that it takes milliseconds for each call.

Two things keep the states few. A window is kept by its count: call number i is not made before `period` x
(i // count) after the first token; a rule with count 1 for all kinds is kept as the distance that it is.
And calls are made at arrivals alone (every `TICK` after the last one): moved back to the arrival before it, a
call shows the same earlier, so distances are taken from there too. Every schedule within sliding windows, and
within fixed ones that begin with their first call (Discord's), keeps both, so **no allowed schedule has a
lower lag** than the one found. Where the one found keeps the sliding windows too, it is the optimum itself
(`exact`); otherwise it is a bound, which only makes a ratio to it stricter.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.staleness.schedule import NEAR, Call, Kind, Table, allowed, lag_of, steady

TICK = 0.02


@dataclass(frozen=True, slots=True)
class Optimum:
    """A schedule and its lag in token-seconds. `exact` False: no schedule lags less."""

    lag: float
    calls: tuple[Call, ...]
    exact: bool


def optimum(arrivals: Sequence[float], borders: Sequence[int], table: Table) -> Optimum:
    """The least lag for tokens that come at `arrivals` (rising); part j ends with token number borders[j]."""
    if list(arrivals) != sorted(arrivals) or not arrivals or borders[-1] != len(arrivals):
        raise ValueError("arrivals rise, and the last border is their number")
    return _Programme(arrivals, borders, table).solve()


@dataclass(slots=True, eq=False)
class _Layer:
    """States of a part after so many edits: by index of the last call's time the least lag up to then, and
    the call before.
    """

    part: int
    lag: dict[int, float] = field(default_factory=dict)
    before: dict[int, _Way] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a state is reached: a call of `kind`, after the state (layer, index); layer None: none before."""

    lag: float
    kind: Kind
    layer: _Layer | None = None
    index: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    slope: float
    height: float
    layer: _Layer
    index: int

    def at(self, x: float) -> float:
        return self.slope * x + self.height


class _Hull:
    """The lowest of lines at rising places; lines are added with slopes that never rise."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._at = 0

    def add(self, line: _Line) -> None:
        lines = self._lines
        if lines and lines[-1].slope == line.slope:
            if lines[-1].height <= line.height:
                return
            lines.pop()
        while len(lines) > 1 and _hidden(lines[-2], lines[-1], line):
            lines.pop()
        lines.append(line)
        self._at = min(self._at, len(lines) - 1)

    def lowest(self, x: float) -> _Line | None:
        lines = self._lines
        while self._at + 1 < len(lines) and lines[self._at + 1].at(x) <= lines[self._at].at(x):
            self._at += 1
        return lines[self._at] if lines else None


def _hidden(left: _Line, middle: _Line, right: _Line) -> bool:
    """Whether the middle one is nowhere lower than both others."""
    over = (right.height - left.height) * (left.slope - middle.slope)
    return over <= (middle.height - left.height) * (left.slope - right.slope)


class _Programme:
    """Times count from the first arrival; `most` is the lag of a schedule that surely is allowed."""

    def __init__(self, arrivals: Sequence[float], borders: Sequence[int], table: Table) -> None:
        self.borders, self.table, self.begin = borders, table, arrivals[0]
        sure = steady(arrivals, borders, table)
        self.most = lag_of(arrivals, sure) + NEAR
        come = [at - self.begin for at in arrivals]
        late = math.ceil((sure[-1].at - arrivals[-1]) / TICK)
        self.times = sorted({*come, *(come[-1] + TICK * step for step in range(1, late + 1))})
        self.come = [bisect_right(come, at) for at in self.times]
        self.area = [0.0]
        for (at, later), count in zip(pairwise(self.times), self.come, strict=False):
            self.area.append(self.area[-1] + count * (later - at))
        distances = [rule.period for rule in table.rules if rule.count == 1 and len(rule.kinds) > 1]
        self.ready = [self._floor(at + max(distances, default=0.0)) for at in self.times]

    def solve(self) -> Optimum:
        before: list[_Layer] = []
        for part in range(len(self.borders)):
            layers: list[_Layer] = []
            while (layer := self._layer(part, layers, before)).lag or len(layers) < len(before):
                layers.append(layer)
            before = layers
        ends = [(lag, index, layer) for layer in before for index, lag in layer.lag.items()]
        lag, index, found = min((end for end in ends if self.whole(end[2], end[1])), key=lambda end: end[0])
        calls = tuple(self._calls(found, index))
        return Optimum(lag, calls, allowed(calls, self.table))

    def whole(self, layer: _Layer, index: int) -> bool:
        """Whether the part is complete after the call at that time."""
        return self.come[index] >= self.borders[layer.part]

    def line(self, layer: _Layer, index: int) -> _Line:
        """What lag a state leads to, by the time of the next call (without the area up to it)."""
        shown = min(self.come[index], self.borders[layer.part])
        return _Line(-shown, layer.lag[index] - self.area[index] + shown * self.times[index], layer, index)

    def _layer(self, part: int, layers: list[_Layer], before: list[_Layer]) -> _Layer:
        """The states of `part` after as many edits as there are layers of it already."""
        edits, layer, own = len(layers), _Layer(part), _Hull()
        feeds: list[tuple[int, Kind, _Feed]] = []
        if layers:
            feeds.append((self._release(part, edits, Kind.EDIT), Kind.EDIT, _Feed(self, layers[-1], False)))
        if edits < len(before):
            feeds.append((self._release(part, edits, Kind.POST), Kind.POST, _Feed(self, before[edits], True)))
        first = min((release for release, _, _ in feeds), default=0)
        for index in range(first, len(self.times)):
            ways = [_Way(self.area[index], Kind.POST)] if part == edits == 0 else []
            for release, kind, feed in feeds:
                hull = feed.upto(index)
                if index >= release and (kind is Kind.EDIT or self.come[index] > self.borders[part - 1]):
                    self._offer(hull, index, kind, ways)
            if self.table.ends and self.come[index] >= self.borders[part]:
                self._offer(own, index, Kind.END, ways)
            way = min(ways, key=lambda one: one.lag, default=None)
            if way is None or way.lag > self.most:
                continue
            layer.lag[index], layer.before[index] = way.lag, way
            if not self.whole(layer, index):
                own.add(self.line(layer, index))
        return layer

    def _offer(self, hull: _Hull, index: int, kind: Kind, ways: list[_Way]) -> None:
        line = hull.lowest(self.times[index])
        if line is not None:
            lag = self.area[index] + line.at(self.times[index])
            ways.append(_Way(lag, kind, line.layer, line.index))

    def _release(self, part: int, edits: int, kind: Kind) -> int:
        """The index of time before which the call into this layer is too early for the counts."""
        at = 0.0
        for rule in self.table.rules:
            if kind in rule.kinds:
                posts = part + (kind is Kind.EDIT) if Kind.POST in rule.kinds else 0
                edited = edits - (kind is Kind.EDIT) if Kind.EDIT in rule.kinds else 0
                at = max(at, (posts + edited) // rule.count * rule.period)
        return self._floor(at)

    def _floor(self, at: float) -> int:
        return bisect_right(self.times, at + NEAR) - 1

    def _calls(self, layer: _Layer, index: int) -> list[Call]:
        calls: list[Call] = []
        here: _Layer | None = layer
        while here is not None:
            way = here.before[index]
            shown = min(self.come[index], self.borders[here.part])
            calls.append(Call(self.begin + self.times[index], way.kind, shown))
            here, index = way.layer, way.index
        return calls[::-1]


class _Feed:
    """The lines of a layer's complete (or incomplete) states, each from when the next call may follow."""

    def __init__(self, programme: _Programme, layer: _Layer, whole: bool) -> None:
        self._programme, self._layer, self._hull, self._next = programme, layer, _Hull(), 0
        self._states = [index for index in layer.lag if programme.whole(layer, index) is whole]

    def upto(self, index: int) -> _Hull:
        while self._next < len(self._states) and self._programme.ready[self._states[self._next]] <= index:
            self._hull.add(self._programme.line(self._layer, self._states[self._next]))
            self._next += 1
        return self._hull
