"""Optional background tasks of turns, for indicators that are never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)


class SideTasks:
    """Owns tasks while `run` is active, and cancels them when it stops. A failure is logged without affecting
    other tasks, because a plug-in's adapter may raise anything.
    """

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None

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
        return self._group.create_task(_supervise(work, name), name=name)


async def _supervise(work: Coroutine[Any, Any, None], name: str) -> None:
    try:
        await work
    except Exception:  # this task's supervisor: it must not end the service
        log.exception("side_task_failed", task=name)
