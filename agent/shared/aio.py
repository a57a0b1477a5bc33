"""Waiting with a time limit, and protection of calls from cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[object]]
"""Returns after so many seconds: the system's clock, or a manual one in tests."""

LAST_CALL_SECONDS = 1.5
"""Seconds that a stopping service waits for a call in flight."""


async def wait_first(event: asyncio.Event, sleep: Sleep, seconds: float) -> bool:
    """Wait for `event` for at most `seconds`, and return whether it was set."""
    if event.is_set() or seconds <= 0:
        return event.is_set()
    waiter = asyncio.ensure_future(event.wait())
    timer = asyncio.ensure_future(sleep(seconds))
    try:
        await asyncio.wait({waiter, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (waiter, timer):
            task.cancel()
    return event.is_set()


async def shielded(call: Coroutine[Any, Any, T]) -> T:
    """Let `call` finish even if the caller is cancelled, so that its outcome is recorded."""
    task = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task}, timeout=LAST_CALL_SECONDS)
            task.cancel()
        raise


async def within_time(call: Coroutine[Any, Any, T], sleep: Sleep, seconds: float) -> T | None:
    """Return the result of `call`, or cancel it after `seconds` and return None."""
    task, timer = asyncio.ensure_future(call), asyncio.ensure_future(sleep(seconds))
    both: set[asyncio.Future[Any]] = {task, timer}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for one in both:
            one.cancel()
        await asyncio.gather(*both, return_exceptions=True)
