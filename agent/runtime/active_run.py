"""A run that this process executes or will execute."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from langgraph.runtime import RunControl

from agent.runtime.domain import AttemptOutcome, CancelAction, Run
from agent.runtime.event_log import RunChannel
from agent.runtime.run_saver import WriteRow


@dataclass(slots=True, eq=False)
class ActiveRun:
    """A run that is pending or running in this process: its last stored state, its channel and its task."""

    run: Run
    channel: RunChannel
    done: asyncio.Future[AttemptOutcome | None]
    """Outcome of the run; None if the process stopped first."""
    control: RunControl = field(default_factory=RunControl)
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    stop: CancelAction | None = None
    started_at: float | None = None
    """When the attempt started; None if no attempt has started in this process."""
    finishing: bool = False
    base: tuple[str, list[WriteRow]] | None = None
    """Checkpoint that the run started from, and its pending writes, for a rollback."""

    @property
    def thread_id(self) -> str:
        """Lane of the run."""
        return self.run.thread_id

    def resolve(self, outcome: AttemptOutcome | None) -> None:
        """Resolve `done`, unless it is already resolved."""
        if not self.done.done():
            self.done.set_result(outcome)
