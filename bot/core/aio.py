"""Waiting for an event, a call or time to pass, whichever comes first, and calls that a cancellation must
not cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from bot.clock import Clock

T = TypeVar("T")

# How long a stopping service waits for a call that is on its way (seconds).
LAST_CALL = 1.5


async def first_of(event: asyncio.Event, clock: Clock, seconds: float) -> bool:
    """Wait for `event`, at most `seconds`; whether it is set."""
    if event.is_set() or seconds <= 0:
        return event.is_set()
    waiter = asyncio.ensure_future(event.wait())
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({waiter, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (waiter, timer):
            task.cancel()
    return event.is_set()


async def uncut(call: Coroutine[Any, Any, T]) -> T:
    """Let `call` end even if the caller is cancelled meanwhile, so that its outcome is known and recorded."""
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task}, timeout=LAST_CALL)
            task.cancel()
        raise


async def within(call: Coroutine[Any, Any, T], clock: Clock, seconds: float) -> T | None:
    """What `call` gives; None where that takes longer, and the call is given up."""
    task, timer = asyncio.ensure_future(call), asyncio.ensure_future(clock.sleep(seconds))
    both: set[asyncio.Future[Any]] = {task, timer}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for one in both:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)
