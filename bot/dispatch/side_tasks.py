"""Background tasks: those of the service, and optional ones of turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any

import structlog

from bot.clock import Clock
from bot.errors import StartError
from bot.store.outages import StoreOutages, is_outage

log = structlog.get_logger(__name__)

RESTART_AFTER = (0.5, 2.0, 10.0, 30.0)
"""Delays (s) before a failed task restarts, by the number of consecutive failures."""
LASTED = 60.0
"""Runtime of a task (s) after which its failures are counted from 0 again."""


async def keep_running(
    name: str, work: Callable[[], Coroutine[Any, Any, None]], clock: Clock, outages: StoreOutages
) -> None:
    """Run a task of the service, and restart it after a failure, so that the service keeps running.

    Raises StartError, which ends the service.
    """
    failures = 0
    while True:
        since = clock.now()
        try:
            await work()
            return
        except StartError:
            raise
        except Exception as error:  # the task's supervisor
            if is_outage(error):
                await outages.wait(error)
                continue
            failures = 0 if clock.now() - since > LASTED else failures
            pause = RESTART_AFTER[min(failures, len(RESTART_AFTER) - 1)]
            log.exception("background_task_failed", task=name, again_in=pause)
        failures += 1
        await clock.sleep(pause)


class SideTasks:
    """Owns tasks while `run` is active, and cancels them when it stops. A failure is logged without affecting
    other tasks, because a plug-in's adapter may raise anything.
    """

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        # A task must not depend on the lease of the task that starts it.
        self._context = copy_context()

    async def run(self) -> None:
        """Own tasks until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None] | None:
        """Start a task; does nothing and returns None while `run` is not active."""
        if self._group is None:
            work.close()
            return None
        return self._group.create_task(_supervise(work, name), name=name, context=self._context.copy())


async def _supervise(work: Coroutine[Any, Any, None], name: str) -> None:
    try:
        await work
    except Exception:  # this task's supervisor: it must not end the service
        log.exception("side_task_failed", task=name)
