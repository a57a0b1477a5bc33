"""One worker for a key, none lost, none doubled."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.bus.message_bus import RETRY, TurnLanes
from roebot_testing.clock import ManualClock


@asynccontextmanager
async def working(lanes: TurnLanes) -> AsyncIterator[None]:
    task = asyncio.create_task(lanes.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def nothing(_key: int) -> None:
    return None


async def test_a_wake_up_before_the_start_is_kept(clock: ManualClock) -> None:
    done: list[int] = []

    async def work(key: int) -> None:
        done.append(key)

    lanes = TurnLanes("t", work, nothing, clock)
    lanes.wake(7)
    async with working(lanes):
        await clock.run_ready()
    assert done == [7]


async def test_keys_work_side_by_side_and_each_alone(clock: ManualClock) -> None:
    inside: dict[int, int] = {}
    most = 0

    async def work(key: int) -> None:
        nonlocal most
        inside[key] = inside.get(key, 0) + 1
        assert inside[key] == 1
        most = max(most, sum(inside.values()))
        await clock.sleep(1.0)
        inside[key] -= 1

    lanes = TurnLanes("t", work, nothing, clock)
    async with working(lanes):
        for key in (1, 2, 3, 1, 1):
            lanes.wake(key)
        await clock.advance(0.5)
        assert lanes.active_count == 3
        await clock.advance(5.0)
        assert lanes.active_count == 0
    assert most == 3


@pytest.mark.parametrize("seed", range(20))
async def test_no_wake_up_is_lost(clock: ManualClock, seed: int) -> None:
    dice = random.Random(seed)
    wanted: dict[int, int] = {}
    seen: dict[int, int] = {}

    async def work(key: int) -> None:
        taken = wanted.get(key, 0)
        await clock.sleep(dice.random())
        seen[key] = taken

    lanes = TurnLanes("t", work, nothing, clock)
    async with working(lanes):
        for _ in range(200):
            key = dice.randrange(5)
            wanted[key] = wanted.get(key, 0) + 1
            lanes.wake(key)
            await clock.advance(dice.random() / 5)
        await clock.advance(10.0)
    assert seen == wanted


async def test_a_failing_lane_backs_off_then_gives_up_once(clock: ManualClock) -> None:
    tries = 0
    given_up: list[int] = []

    async def work(_key: int) -> None:
        nonlocal tries
        if not given_up:
            tries += 1
            raise RuntimeError("bad turn")

    async def give_up(key: int) -> None:
        given_up.append(key)

    lanes = TurnLanes("t", work, give_up, clock)
    async with working(lanes):
        lanes.wake(1)
        await clock.advance(sum(RETRY) + 1)
        assert lanes.active_count == 0
    assert tries == len(RETRY)
    assert given_up == [1]


async def test_a_lane_that_cannot_even_give_up_ends(clock: ManualClock) -> None:
    async def work(_key: int) -> None:
        raise RuntimeError("bad")

    lanes = TurnLanes("t", work, work, clock)
    async with working(lanes):
        lanes.wake(1)
        await clock.advance(sum(RETRY) + 1)
        assert lanes.active_count == 0


async def test_one_bad_lane_does_not_stop_the_others(clock: ManualClock) -> None:
    done: list[int] = []

    async def work(key: int) -> None:
        if key == 1:
            raise RuntimeError("bad")
        done.append(key)

    lanes = TurnLanes("t", work, nothing, clock)
    async with working(lanes):
        lanes.wake(1)
        lanes.wake(2)
        await clock.run_ready()
    assert done == [2]


async def test_lanes_beyond_the_capacity_wait_in_order(clock: ManualClock) -> None:
    order: list[int] = []

    async def work(key: int) -> None:
        order.append(key)
        await clock.sleep(1.0)

    lanes = TurnLanes("t", work, nothing, clock, capacity=10)
    for key in range(15_000):
        lanes.wake(key)
    async with working(lanes):
        await clock.run_ready()
        assert (lanes.active_count, lanes.waiting_count) == (10, 14_990)
        lanes.wake(3)
        lanes.wake(20)
        await clock.advance(2.5)
        assert order[:30] == [*range(10), *range(10, 13), 3, *range(13, 29)]
    assert lanes.waiting_count > 14_900


async def test_a_parked_lane_leaves_its_place_to_others(clock: ManualClock) -> None:
    connected = asyncio.Event()
    done: list[int] = []

    async def work(key: int) -> None:
        if key < 5:
            with lanes.parked():
                await connected.wait()
        done.append(key)

    lanes = TurnLanes("t", work, nothing, clock, capacity=2)
    async with working(lanes):
        for key in range(8):
            lanes.wake(key)
        await clock.run_ready()
        assert (sorted(done), lanes.waiting_count) == ([5, 6, 7], 5)
        connected.set()
        await clock.run_ready()
        assert sorted(done) == list(range(8))
        assert (lanes.active_count, lanes.waiting_count) == (0, 0)
