"""The dynamic programme against every schedule there is, on short replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.profile import examples
from tests.staleness.optimum import TICK, optimum
from tests.staleness.schedule import Call, Kind, Rule, Table, allowed, lag_of, steady

EDITS = frozenset({Kind.EDIT})


def every_schedule(
    arrivals: Sequence[float], borders: Sequence[int], table: Table, until: int
) -> Iterator[list[Call]]:
    """All schedules within the sliding windows whose calls are made at multiples of `TICK`."""

    def go_on(step: int, calls: list[Call]) -> Iterator[list[Call]]:
        shown = calls[-1].shown if calls else 0
        if shown == len(arrivals):
            yield calls
            return
        for at in range(step, until + 1):
            for call in _possible(arrivals, borders, table, at, shown):
                longer = [*calls, call]
                if allowed(longer, table):
                    yield from go_on(at, longer)

    return go_on(0, [])


def _possible(
    arrivals: Sequence[float], borders: Sequence[int], table: Table, at: int, shown: int
) -> Iterator[Call]:
    part = next(number for number, border in enumerate(borders) if shown < border)
    begins = shown == (borders[part - 1] if part else 0)
    come = min(sum(arrival <= at * TICK + 1e-9 for arrival in arrivals), borders[part])
    if come > shown:
        yield Call(at * TICK, Kind.POST if begins else Kind.EDIT, come)
        if table.ends and not begins and come == borders[part]:
            yield Call(at * TICK, Kind.END, come)


def least(arrivals: Sequence[float], borders: Sequence[int], table: Table) -> float:
    last = steady(arrivals, borders, table)[-1].at
    schedules = every_schedule(arrivals, borders, table, round(last / TICK))
    return min(lag_of(arrivals, calls) for calls in schedules)


def steps(*numbers: int) -> list[float]:
    return [number * TICK for number in numbers]


TABLES = [
    Table((Rule(1, 2 * TICK),)),
    Table((Rule(1, TICK), Rule(2, 4 * TICK))),
    Table((Rule(2, 3 * TICK, EDITS),)),
    Table((Rule(2, 4 * TICK, EDITS), Rule(2, 3 * TICK, frozenset({Kind.POST})))),
    Table((Rule(2, 6 * TICK, EDITS), Rule(1, TICK, frozenset({Kind.POST}))), ends=True),
    Table((Rule(3, 5 * TICK), Rule(2, 2 * TICK))),
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("borders", [[6], [2, 6], [1, 4, 6], [3, 5, 6]])
def test_a_steady_reply_has_the_optimum_of_all_schedules(table: Table, borders: list[int]) -> None:
    arrivals = steps(0, 1, 2, 3, 4, 5)
    found = optimum(arrivals, borders, table)
    assert lag_of(arrivals, found.calls) == pytest.approx(found.lag)
    assert found.lag <= least(arrivals, borders, table) + 1e-9
    if found.exact:
        assert found.lag == pytest.approx(least(arrivals, borders, table))


@settings(max_examples=examples(150), deadline=None, derandomize=True)
@given(
    data=st.data(),
    gaps=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    table=st.sampled_from(TABLES),
)
def test_no_schedule_lags_less_than_the_bound(data: st.DataObject, gaps: list[int], table: Table) -> None:
    numbers = [0]
    for gap in gaps:
        numbers.append(numbers[-1] + gap)
    arrivals = steps(*numbers)
    inner = data.draw(st.lists(st.integers(1, len(arrivals) - 1), unique=True, max_size=2))
    borders = [*sorted(inner), len(arrivals)]
    found = optimum(arrivals, borders, table)
    best = least(arrivals, borders, table)
    assert found.lag <= best + 1e-9
    assert lag_of(arrivals, found.calls) == pytest.approx(found.lag)
    assert not found.exact or found.lag == pytest.approx(best)


def test_evenly_spread_calls_are_best_for_a_steady_reply() -> None:
    arrivals = [number * TICK for number in range(500)]
    found = optimum(arrivals, [500], Table((Rule(10, 1.0, EDITS),)))
    # Every fifth token is shown as it comes: for one step each, 1 to 4 wait.
    assert found.lag == pytest.approx(99 * (1 + 2 + 3 + 4) * TICK, rel=0.01)


def test_a_long_window_is_spread_over_the_reply_that_is_known() -> None:
    arrivals = [number * TICK for number in range(1000)]
    table = Table((Rule(1, 1.0), Rule(20, 60.0)))
    found = optimum(arrivals, [1000], table)
    gaps = [later.at - earlier.at for earlier, later in pairwise(found.calls)]
    assert found.exact
    assert len(found.calls) == 20
    assert all(1.0 <= gap <= 1.1 for gap in gaps)


def test_a_reply_must_fit_its_borders() -> None:
    with pytest.raises(ValueError, match="border"):
        optimum([0.0, 1.0], [1], TABLES[0])
    with pytest.raises(ValueError, match="are shown"):
        lag_of([0.0, 1.0], [Call(0.0, Kind.POST, 1)])
