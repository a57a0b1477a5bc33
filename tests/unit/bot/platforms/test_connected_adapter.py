"""An account that is stopped at any moment has ended: whoever waits for that is not left waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from bot.clock import SystemClock
from bot.errors import AccountRefused
from bot.platforms.base import AdapterContext
from bot.platforms.connection import LONGEST_PAUSE, AccountHealth, ConnectedAdapter, ReconnectBackoff
from roebot_testing.clock import QuickClock

MOST_STEPS = 20


class _Refused(ConnectedAdapter[Any]):
    """An account whose credentials are refused after some steps of the loop."""

    title = "Refusing"

    @asynccontextmanager
    async def connect(self, context: AdapterContext, health: AccountHealth) -> AsyncIterator[Any]:
        for _ in range(2):
            await asyncio.sleep(0)
        raise AccountRefused("the token is wrong")
        yield


async def test_a_cancelled_start_does_not_hold_up_the_stop() -> None:
    """Cancelled at each step of the loop, also just as the account ends by itself."""
    context = AdapterContext(cast("Any", None), lambda _state: None, SystemClock())
    ended_first = []
    for steps in range(MOST_STEPS):
        adapter = _Refused("one")
        work = asyncio.create_task(adapter.start(context))
        for _ in range(steps):
            await asyncio.sleep(0)
        ended_first.append(work.done())
        work.cancel()
        with suppress(asyncio.CancelledError, AccountRefused):
            await work
        async with asyncio.timeout(1):
            await adapter.stop()
    assert ended_first == sorted(ended_first)
    assert (ended_first[0], ended_first[-1]) == (False, True), "every moment was tried"


async def test_pauses_stay_the_same_however_long_it_takes() -> None:
    """A store that is full for hours keeps an account waiting, which must not end with an error."""
    clock = QuickClock(lambda _seconds: 0.0)
    backoff = ReconnectBackoff(clock)
    for _ in range(1100):
        await backoff.pause()
    assert clock.asked[:6] == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0]
    assert clock.asked[-1] == LONGEST_PAUSE
