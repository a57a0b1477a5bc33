"""Sliding windows: what fits, what is kept back, and how calls that may be skipped are spread."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.rate_limits import EARLY, FIRST, LAST, MARGIN, BurstBucket, FixedWindow, SlidingWindow
from tests.harness.profile import examples


def spread(window: SlidingWindow, seconds: float, *, lasting: float = 0.0) -> list[float]:
    """When calls are made that are made as soon as they may."""
    times: list[float] = []
    now = 0.0
    while (now := window.optional_at(now)) < seconds:
        window.count_start(now)
        times.append(now)
        now += lasting
        window.count_end(times[-1], now)
    return times


def test_a_call_fits_when_the_oldest_one_has_left() -> None:
    window = SlidingWindow(3, 60.0)
    for at in (0.0, 10.0, 20.0):
        assert window.ready_at(at) == at
        window.count_start(at)
    assert window.ready_at(20.0) == pytest.approx(60.0 * MARGIN)
    assert window.count_calls(60.0 * MARGIN) == 2
    assert not window.is_idle(80.0)
    assert window.is_idle(21.0 + 60.0 * MARGIN)


def test_a_call_counts_from_its_end() -> None:
    window = SlidingWindow(1, 1.0)
    window.count_start(5.0)
    window.count_end(5.0, 7.0)
    assert window.ready_at(7.0) == pytest.approx(7.0 + MARGIN)


@pytest.mark.parametrize("is_looked_at", [True, False])
@pytest.mark.parametrize("kind", [SlidingWindow, FixedWindow, BurstBucket])
def test_a_call_longer_than_its_window_counts_from_its_end(
    kind: type[SlidingWindow | FixedWindow | BurstBucket], is_looked_at: bool
) -> None:
    limit = BurstBucket(1.0, 1) if kind is BurstBucket else kind(1, 1.0)
    limit.count_start(0.0)
    if is_looked_at:
        limit.ready_at(1.5)
    limit.count_end(0.0, 2.0)
    assert limit.ready_at(2.0) == pytest.approx(2.0 + MARGIN)
    assert limit.ready_at(3.5) == 3.5
    assert limit.is_idle(3.5)


def test_the_reserve_is_for_calls_that_have_to_be_made() -> None:
    window = SlidingWindow(3, 10.0, reserve=1)
    for at in (0.0, 1.0):
        window.count_start(at)
    assert window.optional_at(2.0, at_once=True) == pytest.approx(10.0 * MARGIN)
    assert window.ready_at(2.0) == 2.0


def test_at_once_leaves_out_the_distance_alone() -> None:
    window = SlidingWindow(5, 5.0)
    window.count_start(0.0)
    assert window.optional_at(0.1) == pytest.approx(MARGIN - EARLY)
    assert window.optional_at(0.1, at_once=True) == 0.1


def test_a_short_window_is_spread_evenly() -> None:
    times = spread(SlidingWindow(5, 5.0), 60.0)
    assert len(times) == 60
    assert all(later - earlier >= MARGIN - EARLY - 1e-6 for earlier, later in pairwise(times))


@pytest.mark.parametrize(("count", "period"), [(20, 60.0), (100, 60.0)])
def test_a_long_window_begins_fast_and_lasts(count: int, period: float) -> None:
    times = spread(SlidingWindow(count, period, reserve=1), 10 * period)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    even = period * MARGIN / (count - 1)
    assert gaps[0] < 0.7 * even
    assert max(gaps) <= LAST * even * 1.001
    assert len([at for at in times if at < period]) >= 0.9 * (count - 1)
    assert len(times) >= 0.98 * 10 * period / (LAST * even)
    assert FIRST < 1 < LAST


def test_a_scale_shortens_it() -> None:
    assert len(spread(SlidingWindow(1, 1.0, scale=0.1), 1.0)) == 10


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(1, 12),
    st.floats(0.5, 80.0),
    st.integers(0, 3),
    st.lists(st.tuples(st.booleans(), st.floats(0.0, 5.0), st.floats(0.0, 2.0)), max_size=60),
)
def test_no_window_of_the_platform_sees_too_many(
    count: int, period: float, reserve: int, plan: list[tuple[bool, float, float]]
) -> None:
    """A call may be counted at any time while it lasts: here when it begins, then when it ends."""
    window, now = SlidingWindow(count, period, reserve=reserve), 0.0
    calls: list[tuple[float, float]] = []
    for has_to, pause, lasting in plan:
        now += pause
        at = window.ready_at(now) if has_to else window.optional_at(now)
        if at > now and not has_to:
            continue
        now = at
        window.count_start(now)
        calls.append((now, now + lasting))
        now += lasting
        window.count_end(calls[-1][0], now)
    for (_, ended), (began, _) in zip(calls, calls[count:], strict=False):
        assert began - ended >= period


def test_a_burst_fits_after_a_pause_and_then_one_in_a_period() -> None:
    bucket = BurstBucket(1.0, 3)
    for _ in range(3):
        assert bucket.ready_at(5.0) == 5.0
        bucket.count_start(5.0)
        bucket.count_end(5.0, 5.0)
    assert bucket.ready_at(5.0) == pytest.approx(5.0 + MARGIN)
    bucket.count_start(5.0 + MARGIN)
    bucket.count_end(5.0 + MARGIN, 5.0 + MARGIN)
    assert bucket.ready_at(5.0 + MARGIN) == pytest.approx(5.0 + 2 * MARGIN)
    assert bucket.is_idle(60.0) and not bucket.is_idle(7.0)
    bucket.count_start(60.0)
    assert not bucket.is_idle(90.0)


def test_optional_calls_leave_one_of_a_burst_and_keep_their_distance() -> None:
    bucket = BurstBucket(1.0, 3)
    bucket.count_start(0.0, paced=False)
    assert bucket.optional_at(0.0) == 0.0, "a call that is not paced holds up none"
    bucket.count_start(0.0)
    for began in (0.0, 0.0):
        assert bucket.ready_at(0.0) == 0.0
        bucket.count_end(began, 0.0)
    assert bucket.optional_at(0.0) == bucket.optional_at(0.0, at_once=True) == pytest.approx(MARGIN)
    assert bucket.ready_at(0.0) == 0.0
    assert bucket.optional_at(3.0, at_once=True) == 3.0
    bucket.count_start(3.0)
    bucket.count_end(3.0, 3.0)
    assert bucket.optional_at(3.0) == pytest.approx(3.0 + MARGIN - EARLY)


@settings(max_examples=examples(100), deadline=None)
@given(
    plan=st.lists(
        st.tuples(st.floats(0.0, 3.0), st.floats(0.0, 3.0), st.booleans(), st.booleans()), max_size=60
    )
)
def test_no_call_ever_overflows_the_platforms_bucket(plan: list[tuple[float, float, bool, bool]]) -> None:
    """A call arrives at its start or its end. One that is not paced goes on beside the others (typing)."""
    bucket = BurstBucket(1.0, 3)
    now, beside_until = 1.0, 0.0
    arrivals: list[float] = []
    for pause, lasting, optional, beside in plan:
        now += pause
        if beside_until and now >= beside_until:
            bucket.count_end(0.0, beside_until)
            beside_until = 0.0
        optional = optional or beside
        if beside and beside_until:
            continue
        while (at := bucket.optional_at(now) if optional else bucket.ready_at(now)) > now:
            now = max(at, now + 1e-6)
            if beside_until and now >= beside_until:
                bucket.count_end(0.0, beside_until)
                beside_until = 0.0
        bucket.count_start(now, paced=not beside)
        if beside:
            beside_until = now + lasting
            arrivals.append(beside_until)
            continue
        began, now = now, now + lasting
        arrivals.append(now if optional else began)
        if beside_until and now >= beside_until:
            bucket.count_end(0.0, beside_until)
            beside_until = 0.0
        bucket.count_end(began, now)
        if optional:
            assert bucket.ready_at(now) <= now + 1e-6, "a required call never waits for optional ones"
    level = counted = 0.0
    for arrived in sorted(arrivals):
        level = max(0.0, level - (arrived - counted)) + 1.0
        counted = arrived
        assert level <= 3.0 + 1e-6


def test_a_fixed_window_ends_for_all_of_its_calls() -> None:
    window = FixedWindow(5, 5.0)
    for at in (0.0, 1.0, 2.0, 3.0, 4.0):
        assert window.ready_at(at) == at
        window.count_start(at)
        window.count_end(at, at + 0.1)
    assert window.ready_at(4.5) == pytest.approx(0.1 + 5.0 * MARGIN)
    assert not window.is_idle(5.0)
    assert window.is_idle(5.2)
    assert window.optional_at(5.2) == 5.2
    window.count_start(5.2)
    assert window.optional_at(5.2) == pytest.approx(5.2 + 5.0 * MARGIN / 5 - EARLY)
    assert window.ready_at(5.2) == window.optional_at(5.2, at_once=True) == 5.2


@settings(max_examples=examples(200), deadline=None)
@given(
    plan=st.lists(
        st.tuples(
            st.floats(0.0, 4.0),
            st.floats(0.0, 3.0) | st.floats(3.0, 12.0),
            st.floats(0.0, 1.0),
            st.booleans(),
            st.none() | st.floats(0.0, 1.0),
        ),
        max_size=60,
    )
)
def test_no_call_ever_exceeds_the_platforms_window(
    plan: list[tuple[float, float, float, bool, float | None]],
) -> None:
    """A call arrives between its start and its end, and the platform's window begins with its arrival.
    The last number is when the window is looked at while the call lasts.
    """
    window = FixedWindow(5, 5.0)
    now = resets_at = 0.0
    used = 0
    for pause, lasting, share, optional, look in plan:
        now += pause
        while (at := window.optional_at(now) if optional else window.ready_at(now)) > now:
            now = at
        window.count_start(now)
        arrived = now + lasting * share
        used = used + 1 if arrived < resets_at else 1
        resets_at = resets_at if arrived < resets_at else arrived + 5.0
        assert used <= 5
        if look is not None:
            window.ready_at(now + lasting * look)
        began, now = now, now + lasting
        window.count_end(began, now)
