"""Runs that other processes on the same database execute: their end, and requests to stop them."""

from __future__ import annotations

from typing import Final

from agent.errors import NotFound
from agent.runtime.domain import INFLIGHT, AttemptOutcome, CancelAction, Run, RunStatus
from agent.runtime.store import runs
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.retries import Sleep

LOOK_EVERY: Final = 0.1
"""Seconds between two looks at such a run or its log."""


class RemoteRuns:
    """The runs of other processes, as this one sees them in the database."""

    def __init__(self, database: RuntimeDatabase, sleep: Sleep, *, is_shared: bool) -> None:
        """`is_shared` is true if other processes can execute runs of this database."""
        self._database = database
        self._sleep = sleep
        self._is_shared = is_shared

    def is_elsewhere(self, run: Run) -> bool:
        """Return whether a run that is not active here is executed, or will be after a takeover."""
        return self._is_shared and run.status in INFLIGHT

    async def stop_run(self, run_id: str, action: CancelAction) -> None:
        """Ask the process that executes the run to cancel it. It looks for such requests every second."""
        await self._database.write(runs.request_stop, run_id, str(action))

    async def is_live(self, run: Run) -> bool:
        """Return whether the run has not ended."""
        return await self._find_outcome(run) is None

    async def wait_outcome(self, run: Run) -> AttemptOutcome:
        """Wait for the end of a run. The outcome lacks the values, which are in the thread."""
        while (outcome := await self._find_outcome(run)) is None:
            await self._sleep(LOOK_EVERY)
        return outcome

    async def _find_outcome(self, run: Run) -> AttemptOutcome | None:
        try:
            found = await self._database.read(runs.get_run, run.thread_id, run.run_id)
        except NotFound:
            return AttemptOutcome(RunStatus.INTERRUPTED)
        return None if found.status in INFLIGHT else AttemptOutcome(found.status, error=found.error)
