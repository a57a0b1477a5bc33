"""Alarms: many waits, one timer."""

from __future__ import annotations

import asyncio

import pytest

from bot.dispatch.alarms import Alarms
from roebot_testing.clock import ManualClock, QuickClock


@pytest.fixture
def alarms(clock: ManualClock) -> Alarms:
    return Alarms(clock)


async def test_calls_come_at_their_times_and_in_order(alarms: Alarms, clock: ManualClock) -> None:
    began, made = clock.now(), list[tuple[str, float]]()
    for name, after in (("late", 2.0), ("early", 1.0), ("never", 1.5), ("past", -1.0)):
        alarm = alarms.set(began + after, lambda name=name: made.append((name, clock.now() - began)))
        if name == "never":
            alarms.drop(alarm)
    await clock.advance(3.0)
    assert made == [("past", 0.0), ("early", 1.0), ("late", 2.0)]


async def test_a_wait_ends_with_the_event_or_in_time(alarms: Alarms, clock: ManualClock) -> None:
    event = asyncio.Event()
    in_vain = asyncio.create_task(alarms.wait_first(event, 1.0))
    longer = asyncio.create_task(alarms.wait_first(event, 2.0))
    await clock.advance(1.5)
    assert in_vain.result() is False
    event.set()
    await clock.run_ready()
    assert longer.result() is True
    assert await alarms.wait_first(event, 1.0) is True
    assert await alarms.wait_first(asyncio.Event(), 0.0) is False


async def test_who_waits_can_be_cancelled(alarms: Alarms, clock: ManualClock) -> None:
    task = asyncio.create_task(alarms.wait_first(asyncio.Event(), 1.0))
    await clock.run_ready()
    task.cancel()
    await clock.run_ready()
    assert task.cancelled()
    assert len(asyncio.all_tasks()) == 1, "the timer ends with the last one who waits"


async def test_an_event_that_comes_with_the_alarm_counts(alarms: Alarms, clock: ManualClock) -> None:
    event = asyncio.Event()
    task = asyncio.create_task(alarms.wait_first(event, 1.0))
    await clock.run_ready()
    alarms.set(clock.now() + 1.0, event.set)
    await clock.advance(1.0)
    assert task.result() is True
    assert not asyncio.current_task().cancelling()  # type: ignore[union-attr]


async def test_hundreds_wait_with_one_task(alarms: Alarms, clock: ManualClock) -> None:
    created: list[str] = []

    def count(loop: asyncio.AbstractEventLoop, coroutine: object, **more: object) -> asyncio.Task[object]:
        created.append(str(coroutine))
        return asyncio.Task(coroutine, loop=loop, **more)  # type: ignore[arg-type]

    async def wait(number: int) -> None:
        for _ in range(10):
            await alarms.wait_first(asyncio.Event(), 1.0 + number / 1000)

    async with asyncio.TaskGroup() as group:
        for number in range(300):
            group.create_task(wait(number))
        asyncio.get_running_loop().set_task_factory(count)
        await clock.advance(14.0)
        asyncio.get_running_loop().set_task_factory(None)
    assert len(created) <= 2, created


async def test_a_clock_that_wakes_early_is_believed() -> None:
    assert await Alarms(QuickClock()).wait_first(asyncio.Event(), 60.0) is False


async def test_an_alarm_whose_call_fails_stops_no_other(clock: ManualClock) -> None:
    alarms = Alarms(clock)
    rung: list[int] = []

    def fail() -> None:
        raise RuntimeError("bad call")

    alarms.set(clock.now() + 1.0, fail)
    alarms.set(clock.now() + 1.0, lambda: rung.append(1))
    alarms.set(clock.now() + 2.0, lambda: rung.append(2))
    await clock.advance(3.0)
    assert rung == [1, 2]
