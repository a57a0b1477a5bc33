"""Storing the outcome of a run, with its last events and its webhook."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection

from agent.runtime.active_run import ActiveRun
from agent.runtime.domain import AttemptOutcome, CancelAction, Clock, RunStatus
from agent.runtime.encode import dumps
from agent.runtime.executor import Executor
from agent.runtime.failures import describe_exception, log_failure
from agent.runtime.faults import Faults, RunStep
from agent.runtime.metrics import count_ended_run
from agent.runtime.run_saver import RunSaver
from agent.runtime.store import runs
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.events import LogChunk
from agent.runtime.store.leases import LeaseLost
from agent.runtime.store.retries import WriteRetries
from agent.runtime.store.webhooks import add_with
from agent.runtime.webhooks import WebhookSender


class OutcomeWriter:
    """Ends runs in the database."""

    def __init__(
        self,
        database: RuntimeDatabase,
        saver: RunSaver,
        executor: Executor,
        webhooks: WebhookSender,
        retries: WriteRetries,
        *,
        faults: Faults,
        clock: Clock,
    ) -> None:
        self._database = database
        self._saver = saver
        self._executor = executor
        self._webhooks = webhooks
        self._retries = retries
        self._faults = faults
        self._clock = clock

    async def store(self, active: ActiveRun, outcome: AttemptOutcome) -> tuple[AttemptOutcome, list[bytes]]:
        """Store a run's outcome, or the error if that fails. Return what was stored, and the last events."""
        channel = active.channel
        ended = {"run_id": active.run.run_id}
        end: dict[str, object] = {**ended, "status": outcome.status}
        if active.run.spec.protocol:
            end |= {"interrupted": outcome.is_waiting, "timestamp": int(self._clock() * 1000)}
        frames, chunk = channel.seal_with("end", dumps(end))
        try:
            if channel.refusal is not None and outcome.status is not RunStatus.ERROR:
                raise channel.refusal
            await self._retries.repeat(partial(self._write, active, outcome, chunk))
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001 - the run ends with a reason that can be stored
            await log_failure("run_outcome_refused", error, **ended, thread_id=active.thread_id)
            reason = describe_exception(error)
            outcome = AttemptOutcome(RunStatus.ERROR, error=reason)
            channel.replace_frames(frames, "error", dumps(reason))
            frames, chunk = channel.seal_with("end", dumps({**ended, "status": outcome.status}))
            await self._retries.repeat(partial(self._write, active, outcome, chunk))
        count_ended_run(outcome.status)
        return outcome, frames

    async def _write(self, active: ActiveRun, outcome: AttemptOutcome, chunk: LogChunk | None) -> None:
        run, now = active.run, self._clock()
        self._faults.reach(RunStep.BEFORE_FINISH)
        started_at = active.started_at or (run.updated_at if run.attempt else None)
        delivery = None
        if run.spec.webhook is not None and started_at is not None:
            delivery = self._webhooks.make_delivery(run, outcome, active.stop, started_at, now)
        end: Callable[[Connection], None]
        if active.stop is CancelAction.ROLLBACK:
            base, writes = active.base or (None, None)
            await self._saver.roll_back_run(run.thread_id, run.run_id, base, writes)
            outcome = await self._executor.snapshot_run(run)
            end = partial(runs.discard_run, run=run, now=now, outcome=outcome)
        elif run.spec.temporary_thread:
            end = partial(runs.erase_run_thread, run=run)
        else:
            end = partial(runs.finish_run, run=run, outcome=outcome, now=now, chunk=chunk)
        await self._database.write(add_with, delivery, end)
