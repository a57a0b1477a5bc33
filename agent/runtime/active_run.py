"""A run that is pending or running in this process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import RunControl

from agent.runtime.domain import CancelAction, Outcome, Run
from agent.runtime.event_log import RunChannel


@dataclass(slots=True, eq=False)
class Handle:
    """The run's row as last stored, its channel, its task, and what was asked of it."""

    run: Run
    channel: RunChannel
    done: asyncio.Future[Outcome | None]
    """How it ended; None: a stop of the process cut it off."""
    control: RunControl = field(default_factory=RunControl)
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    stop: CancelAction | None = None
    finishing: bool = False
    base: tuple[str, list[tuple[Any, ...]]] | None = None
    """The checkpoint that the run began at and its pending writes, for a rollback."""

    @property
    def thread_id(self) -> str:
        """Its lane."""
        return self.run.thread_id

    def settle(self, outcome: Outcome | None) -> None:
        """Tell those who wait."""
        if not self.done.done():
            self.done.set_result(outcome)
