"""Metrics that bot and agent share."""

from __future__ import annotations

import asyncio

import pytest

from agent.shared import metrics
from roebot_testing.clock import ManualClock


def value(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


async def test_the_lag_is_the_longest_overrun_of_a_sleep() -> None:
    loop, clock = asyncio.get_running_loop(), ManualClock()
    began = loop.time()
    task = asyncio.create_task(metrics.measure_lag(clock.sleep))
    for _ in range(3):
        await clock.advance(metrics.LAG_EVERY)
    assert 0 <= value("roebot_event_loop_lag_seconds") <= loop.time() - began
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_label_has_a_bounded_number_of_values() -> None:
    names = [f"tool{number}" for number in range(metrics.MAX_VALUES + 5)]
    bound = [metrics.bound_label("a label", name) for name in names]
    assert bound == names[: metrics.MAX_VALUES] + [metrics.OTHER] * 5
    assert metrics.bound_label("a label", "tool7") == "tool7"
    assert metrics.bound_label("another label", "tool104") == "tool104"


def test_refused_writes_and_leases() -> None:
    before = value("roebot_writes_refused_total", lease="a kind")
    metrics.count_refused_write("a kind")
    metrics.set_leases_held("a kind", 3)
    assert value("roebot_writes_refused_total", lease="a kind") == before + 1
    assert value("roebot_leases_held", lease="a kind") == 3
