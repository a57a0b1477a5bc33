"""Removal of threads with all their data: on request, and when they expire."""

from __future__ import annotations

import structlog

from agent.errors import Conflict, NotFound
from agent.runtime.domain import CancelAction
from agent.runtime.http.base import OpenRuntime
from agent.runtime.store import expiries, runs, threads
from agent.runtime.store.retries import Sleep
from agent.shared.run_identity import STEERING

log = structlog.get_logger("agent.runtime")

SWEEP_EVERY = 60.0
"""Seconds between two searches for expired threads."""
PAGE = 100


async def remove_thread(runtime: OpenRuntime, thread_id: str) -> None:
    """Cancel a thread's runs, then delete the thread and all its data. Raises `NotFound`."""
    await runtime.database.read(threads.get_thread, thread_id)
    for run in reversed(await runtime.database.read(runs.list_unfinished, thread_id)):
        await runtime.manager.cancel_and_wait(run, CancelAction.INTERRUPT)
    # The thread is deleted last, so that an interrupted deletion can be repeated.
    await runtime.saver.adelete_thread(thread_id)
    inbox = (STEERING, thread_id)
    while found := await runtime.items.asearch(inbox, limit=PAGE):
        for item in found:
            await runtime.items.adelete(inbox, item.key)
    await runtime.database.write(threads.delete_thread, thread_id)


async def sweep_threads(runtime: OpenRuntime, sleep: Sleep) -> None:
    """Remove threads, or their past states, when they expire. A busy thread is left until it is idle."""
    while True:
        expired = await runtime.database.read(expiries.list_expired, now=runtime.clock(), limit=PAGE)
        removed = 0
        for expiry in expired:
            try:
                await _expire_thread(runtime, expiry.thread_id, expiry.strategy, expiry.minutes)
                removed += 1
            except Conflict:
                continue
        if removed:
            log.info("threads_expired", threads=removed)
        if removed < PAGE:
            await sleep(SWEEP_EVERY)


async def _expire_thread(runtime: OpenRuntime, thread_id: str, strategy: str, minutes: float) -> None:
    """Remove a thread that has expired. Raises `Conflict` if it is busy."""
    if await runtime.database.read(threads.list_inflight, thread_id):
        raise Conflict(f"Thread {thread_id} is busy")
    try:
        if strategy == "delete":
            await remove_thread(runtime, thread_id)
            return
        await runtime.states.keep_latest(thread_id)
    except NotFound:
        return  # deleted meanwhile
    now = runtime.clock()
    await runtime.database.write(expiries.set_expiry, thread_id, strategy=strategy, minutes=minutes, now=now)
