"""Threads that expire are removed, or their past states are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langgraph_sdk.errors import NotFoundError

from roebot_testing.clock import ManualClock
from tests.runtime import graphs
from tests.runtime.serving import Served, serve

MINUTE = 60.0


async def sweep(clock: ManualClock, minutes: float) -> None:
    """Move the clock on by these minutes in steps, so that the sweeper looks in between."""
    for _ in range(int(minutes)):
        await clock.advance(MINUTE)
        await asyncio.sleep(0.05)


async def is_removed(served: Served, thread: str) -> bool:
    """Return whether a thread does not exist."""
    try:
        await served.client.threads.get(thread)
    except NotFoundError:
        return True
    return False


async def until_removed(served: Served, clock: ManualClock, thread: str) -> None:
    """Let the sweeper look until it has removed a thread."""
    async with asyncio.timeout(20):
        while not await is_removed(served, thread):
            await sweep(clock, 1)


async def test_an_expired_thread_is_deleted_with_its_state(tmp_path: Path) -> None:
    clock = ManualClock()
    graphs.gate("x").set()
    async with serve(tmp_path, clock=clock.now, sleep=clock.sleep) as served:
        threads = served.client.threads
        expiring = (await threads.create(ttl=2))["thread_id"]
        kept = (await threads.create(ttl=2000))["thread_id"]
        await served.client.runs.wait(expiring, "gated", input={"ask": "x"})
        await until_removed(served, clock, expiring)
        assert clock.now() >= 1_000_000.0 + 2 * MINUTE
        assert not await is_removed(served, kept)
        again = (await threads.create(thread_id=expiring))["thread_id"]
        assert (await threads.get_state(again))["values"] == {}
        assert (await threads.get(again, include=["ttl"])).get("ttl") is None


async def test_a_busy_thread_is_removed_when_it_is_idle(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serve(tmp_path, clock=clock.now, sleep=clock.sleep) as served:
        thread = (await served.client.threads.create(ttl=1))["thread_id"]
        run = await served.client.runs.create(thread, "gated", input={"ask": "x"})
        await graphs.arrived("x").wait()
        await sweep(clock, 3)
        assert not await is_removed(served, thread)
        graphs.gate("x").set()
        await served.client.runs.join(thread, run["run_id"])
        await until_removed(served, clock, thread)


async def test_past_states_expire_and_the_thread_stays(tmp_path: Path) -> None:
    clock = ManualClock()
    graphs.gate("x").set()
    async with serve(tmp_path, clock=clock.now, sleep=clock.sleep) as served:
        threads = served.client.threads
        thread = (await threads.create(ttl={"ttl": 1, "strategy": "keep_latest"}))["thread_id"]
        await served.client.runs.wait(thread, "gated", input={"ask": "x"})
        before = await threads.get_state(thread)
        async with asyncio.timeout(20):
            while len(await threads.get_history(thread)) > 1:
                await sweep(clock, 1)
        assert (await threads.get_state(thread))["values"] == before["values"]
        with pytest.raises(NotFoundError):
            await threads.get_state(thread, checkpoint_id="nobody")
        assert (await threads.get(thread, include=["ttl"]))["ttl"]["ttl_minutes"] == 1
