"""Waiting for background work."""

from __future__ import annotations

import asyncio

import pytest

from agent.runtime.due_timer import DueTimer


class Sleepless(DueTimer):
    async def run(self) -> None:
        while True:
            await self._wait(None)


@pytest.mark.parametrize("turns", range(12))
async def test_it_can_be_cancelled_at_any_moment(turns: int) -> None:
    task = asyncio.create_task(Sleepless(lambda: 0.0, lambda _: asyncio.sleep(0)).run())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert task.cancelled()
