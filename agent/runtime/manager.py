"""Life cycle of runs: lanes, attempts, cancellation, recovery and shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from langgraph.errors import GraphDrained

from agent.errors import NotFound
from agent.runtime.active_run import ActiveRun
from agent.runtime.domain import (
    INFLIGHT,
    AttemptOutcome,
    CancelAction,
    Clock,
    MultitaskStrategy,
    NewRun,
    Run,
    RunStatus,
)
from agent.runtime.encode import dumps
from agent.runtime.event_log import RunChannel
from agent.runtime.executor import Executor, make_run_context
from agent.runtime.failures import describe_exception, log_failure
from agent.runtime.faults import Faults, RunStep
from agent.runtime.outcomes import OutcomeWriter
from agent.runtime.protocol.thread_signals import ThreadSignals
from agent.runtime.remote_runs import RemoteRuns
from agent.runtime.run_queue import RunLanes
from agent.runtime.run_saver import RunSaver
from agent.runtime.settings import RuntimeSettings
from agent.runtime.store import leases, runs
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.events import EventLog, LogChunk
from agent.runtime.store.leases import Lease, LeaseLost
from agent.runtime.store.retries import Sleep, WriteRetries, is_storage_error
from agent.runtime.store.runs import AddedRun
from agent.runtime.webhooks import WebhookSender

log = structlog.get_logger("agent.runtime")


@dataclass(frozen=True, slots=True)
class CreatedRun:
    """The run of a creation request; `active` is None if its idempotency key belongs to a finished run."""

    run: Run
    active: ActiveRun | None
    is_new: bool


class RunManager:
    """Owner of all run tasks in the process. Use it as an async context manager; leaving it calls `stop`."""

    def __init__(
        self,
        *,
        database: RuntimeDatabase,
        event_log: EventLog,
        saver: RunSaver,
        executor: Executor,
        settings: RuntimeSettings,
        faults: Faults,
        webhooks: WebhookSender,
        owner: str,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """`owner` is the name of this process, from `leases.name_owner`."""
        self._database = database
        self._owner = owner
        self._sleep = sleep
        self.remote = RemoteRuns(database, sleep, is_shared=settings.database_url is not None)
        self._webhooks = webhooks
        self._event_log = event_log
        self._saver = saver
        self._executor = executor
        self._settings = settings
        self._faults = faults
        self._clock = clock
        self.signals = ThreadSignals()
        self._lanes: RunLanes[ActiveRun] = RunLanes(settings.max_runs)
        self._active_runs: dict[str, ActiveRun] = {}
        self._creating: set[str] = set()
        """Runs that are being stored, and are not tracked yet."""
        self._retries = retries = WriteRetries(sleep)
        self._outcomes = OutcomeWriter(
            database, saver, executor, webhooks, retries, faults=faults, clock=clock
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def __aenter__(self) -> RunManager:
        await self._database.write(leases.start_owner, self._owner)
        await self._recover_runs()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        while self._tasks:
            await asyncio.wait(self._tasks)

    def find_active(self, run_id: str) -> ActiveRun | None:
        """Return the run while it is pending or running here."""
        return self._active_runs.get(run_id)

    async def create_run(self, new: NewRun, *, reading: bool = False) -> CreatedRun:
        """Store a run and start it as soon as its lane is free. Raises `NotFound`, `Conflict`.

        With `reading` the channel of a new run counts one reader from the start, which the caller must close.
        """
        reserved = new.start_at is None and not self._stopping and self._lanes.reserve_lane(new.thread_id)
        lease = Lease(new.run_id, self._owner, leases.FIRST_FENCE)
        channel = self._make_channel(lease, resumable=new.spec.stream_resumable)
        channel.readers = int(reading)
        frames, chunk = self._start_attempt(channel, new.run_id, 1) if reserved else ([], None)
        self._creating.add(new.run_id)
        try:
            added = await self._store_run(new, chunk, reserved=reserved)
            if not added.created:
                return CreatedRun(added.run, self._find_known(added.run), is_new=False)
            active = None
            if added.run.owner == self._owner:
                if any(run_id not in self._active_runs for run_id, _ in added.before):
                    await self._recover_runs()  # another process has added them
                active = self._track_run(added.run, channel)
        finally:
            self._creating.discard(new.run_id)
            if new.run_id not in self._active_runs:
                self._saver.forget_run(new.run_id)
        if active is not None and added.run.status is RunStatus.RUNNING:
            self.signals.report_start(added.run, channel)
            channel.publish(frames)
            self._start_task(active)
        elif active is not None:
            channel.start_attempt(0)
            self._schedule_run(active)
        if new.multitask_strategy in (MultitaskStrategy.INTERRUPT, MultitaskStrategy.ROLLBACK):
            await self._stop_earlier(added.before, CancelAction(str(new.multitask_strategy)))
        self._faults.reach(RunStep.RUN_STORED)
        return CreatedRun(added.run, active, is_new=True)

    async def _store_run(self, new: NewRun, chunk: LogChunk | None, *, reserved: bool) -> AddedRun:
        """Store a run. A `reserved` lane stays so if the run has started."""
        started = False
        try:
            new = replace(new, ttl=self._settings.project.thread_ttl)
            added = await self._database.write(
                runs.add_run, new, owner=self._owner, now=self._clock(), start=reserved, chunk=chunk
            )
            started = added.created and added.run.status is RunStatus.RUNNING
            return added
        finally:
            if reserved and not started:
                self._lanes.release_lane(new.thread_id)
                self._start_ready_runs()

    def _find_known(self, run: Run) -> ActiveRun | None:
        """Return the active run of a known idempotency key, resumed if it has no task."""
        known = self._active_runs.get(run.run_id)
        is_lost = known is None and run.status in INFLIGHT and run.owner == self._owner
        return self._recover_run(run) if is_lost and not self._stopping else known

    async def _stop_earlier(self, before: Sequence[tuple[str, RunStatus]], action: CancelAction) -> None:
        for run_id, _ in before:
            if (active := self._active_runs.get(run_id)) is not None:
                self._cancel_active(active, action)
            else:
                await self.remote.stop_run(run_id, action)

    async def cancel_run(self, thread_id: str, run_id: str, action: CancelAction) -> None:
        """Cancel a run, also of another process. Raises `NotFound` unless it is pending or running."""
        active = self._active_runs.get(run_id)
        if active is not None and active.thread_id == thread_id:
            self._cancel_active(active, action)
            return
        run = await self._database.read(runs.get_run, thread_id, run_id)
        if not self.remote.is_elsewhere(run):
            raise NotFound(f"Run {run_id} is not running: {run.status}")
        await self.remote.stop_run(run_id, action)

    async def cancel_and_wait(self, run: Run, action: CancelAction) -> None:
        """Cancel a run, if it has not ended, and return once it has."""
        active = self._active_runs.get(run.run_id)
        with suppress(NotFound):
            await self.cancel_run(run.thread_id, run.run_id, action)
        await self.wait_ended(run, active)

    async def wait_ended(self, run: Run, active: ActiveRun | None) -> None:
        """Wait for the end of a run, which is `active` if this process executes it."""
        if active is not None:
            await active.done
        elif self.remote.is_elsewhere(run):
            await self.remote.wait_outcome(run)

    def cancel_now(self, run_id: str) -> None:
        """Interrupt a run, unless it has finished."""
        self._cancel_active(self._active_runs.get(run_id), CancelAction.INTERRUPT)

    def list_active(self, thread_id: str | None = None) -> list[ActiveRun]:
        """Return the pending and running runs of one thread or of all."""
        runs_here = self._active_runs.values()
        return [item for item in runs_here if thread_id is None or item.thread_id == thread_id]

    def _cancel_active(self, active: ActiveRun | None, action: CancelAction) -> None:
        if active is None or active.finishing or active.stop is not None:
            return
        active.stop = action
        if active.task is None:
            if active.timer is not None:
                active.timer.cancel()
            self._lanes.remove_item(active)
            self._start_ending(active, self._end_unstarted(active))
        else:
            active.task.cancel()
            loop = asyncio.get_running_loop()
            active.timer = loop.call_later(self._settings.cancel_grace, self._end_unresponsive, active)
        log.info("run_cancelled", run_id=active.run.run_id, thread_id=active.thread_id, action=str(action))

    def _end_unresponsive(self, active: ActiveRun) -> None:
        """Close the run of a cancelled graph that does not stop; its lane stays reserved until it does."""
        if not active.finishing and not active.done.done():
            outcome = AttemptOutcome(RunStatus.INTERRUPTED, is_waiting=True)
            self._start_ending(active, self._end_run(active, outcome))
            log.warning("run_did_not_stop", run_id=active.run.run_id, thread_id=active.thread_id)

    def _make_channel(self, lease: Lease, *, resumable: bool) -> RunChannel:
        settings = self._settings.log
        self._saver.begin_run(lease)
        channel = RunChannel(
            lease,
            resumable=resumable,
            log=self._event_log,
            settings=settings,
            pause=lambda: settings.flush_pause(len(self._active_runs)),
        )
        channel.on_logged = self._on_logged
        return channel

    def _on_logged(self, _count: int) -> None:
        self._faults.reach(RunStep.FIRST_EVENT_LOGGED)
        self._faults.reach(RunStep.MID_STREAM)

    def _start_attempt(
        self, channel: RunChannel, run_id: str, attempt: int
    ) -> tuple[list[bytes], LogChunk | None]:
        channel.start_attempt(attempt)
        return channel.take_with("metadata", dumps({"run_id": run_id, "attempt": attempt}))

    def _track_run(self, run: Run, channel: RunChannel) -> ActiveRun:
        active = ActiveRun(run, channel, asyncio.get_running_loop().create_future())
        self._active_runs[run.run_id] = active
        return active

    def _schedule_run(self, active: ActiveRun) -> None:
        delay = (active.run.start_at or 0.0) - self._clock()
        if delay > 0:
            active.timer = asyncio.get_running_loop().call_later(delay, self._enqueue_run, active)
        else:
            self._enqueue_run(active)

    def _enqueue_run(self, active: ActiveRun) -> None:
        active.timer = None
        self._lanes.add_item(active)
        self._start_ready_runs()

    def _start_ready_runs(self) -> None:
        while not self._stopping and (item := self._lanes.take_next()) is not None:
            self._start_task(item)

    def _start_task(self, active: ActiveRun) -> None:
        active.task = self._keep_task(active, self._run_lane(active))

    def _start_ending(self, active: ActiveRun, work: Coroutine[Any, Any, None]) -> None:
        """Start a task that ends a run without its lane."""
        task = self._keep_task(active, self._supervise_run(active, work))
        active.task = active.task or task

    def _keep_task(self, active: ActiveRun, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, context=make_run_context(active.run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run_lane(self, active: ActiveRun) -> None:
        """Drive a run, then release its lane in any case."""
        try:
            await self._supervise_run(active, self._drive_run(active))
        finally:
            self._lanes.release_lane(active.thread_id)
            self._start_ready_runs()

    async def _supervise_run(self, active: ActiveRun, work: Coroutine[Any, Any, None]) -> None:
        """Do the work that ends a run, then resolve its waiters in any case. Doesn't raise an `Exception`."""
        try:
            await work
        except LeaseLost:
            active.channel.lose()
        except Exception as error:  # noqa: BLE001 - the run resumes at the next start
            await log_failure("run_lost", error, run_id=active.run.run_id, thread_id=active.thread_id)
        finally:
            self._active_runs.pop(active.run.run_id, None)
            self._saver.forget_run(active.run.run_id)
            active.channel.close()
            active.resolve(None)
            self.signals.report_change(active.thread_id)

    async def _drive_run(self, active: ActiveRun) -> None:
        """Execute an attempt and store its outcome, unless it resumes at the next start."""
        active.started_at = self._clock()
        try:
            outcome = await self._execute_attempt(active)
        except GraphDrained:
            await self._pause_run(active)
            return
        except asyncio.CancelledError:
            if active.stop is None:
                raise
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            await self._saver.end_run(active.run.run_id)
            outcome = await self._executor.snapshot_run(active.run)
        if outcome is not None:
            await self._end_run(active, outcome)

    async def _execute_attempt(self, active: ActiveRun) -> AttemptOutcome | None:
        """Return the outcome of an attempt, or None if the run was deleted before it began."""
        try:
            if active.channel.attempt == 0 and not await self._begin_attempt(active):
                return None
            self._faults.reach(RunStep.RUN_STARTED)
            await self._remember_base_checkpoint(active)
            return await self._executor.execute_run(active.run, active.channel, active.control)
        except (GraphDrained, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - any failure ends the run
            await log_failure("run_failed", error, run_id=active.run.run_id, thread_id=active.thread_id)
            description = describe_exception(error)
            active.channel.emit_event("error", dumps(description))
            return AttemptOutcome(RunStatus.ERROR, error=description)

    async def _pause_run(self, active: ActiveRun) -> None:
        try:
            await self._database.write(runs.pause_run, leases.lease_of(active.run))
        except Exception as error:  # noqa: BLE001 - the process stops; the attempt then counts as lost
            await log_failure("run_not_paused", error, run_id=active.run.run_id)

    async def _begin_attempt(self, active: ActiveRun) -> bool:
        run = active.run
        lost = run.lost + (run.status is RunStatus.RUNNING)
        run = replace(run, attempt=run.attempt + 1, lost=lost, status=RunStatus.RUNNING)
        frames, chunk = self._start_attempt(active.channel, run.run_id, run.attempt)
        write = partial(self._database.write, runs.start_run, run, now=self._clock(), chunk=chunk)
        if not await self._retries.repeat(write):
            return False
        active.run = run
        self.signals.report_start(run, active.channel)
        active.channel.publish(frames)
        return True

    async def _remember_base_checkpoint(self, active: ActiveRun) -> None:
        if active.run.spec.command is not None:
            base = await self._saver.latest_checkpoint_id(active.thread_id)
            if base is not None:
                active.base = (base, await self._saver.pending_writes(active.thread_id, base))

    async def _end_run(self, active: ActiveRun, outcome: AttemptOutcome) -> None:
        """Store a run's outcome and last events, however long that takes, then publish the events."""
        if active.finishing:
            # Another task stores the outcome; the run's lane stays reserved until then.
            await asyncio.wait({active.done})
            return
        active.finishing = True
        if active.timer is not None:
            active.timer.cancel()
        run, channel = active.run, active.channel
        if active.stop is not None:
            await self._saver.end_run(run.run_id)
        await channel.wait_written()
        outcome, frames = await self._outcomes.store(active, outcome)
        self._active_runs.pop(run.run_id, None)
        channel.publish(frames)
        channel.close()
        active.resolve(outcome)
        self._faults.reach(RunStep.FINISHED)
        if run.spec.webhook is not None:
            self._webhooks.notify()
        if run.spec.temporary_thread:
            await self._retries.repeat(partial(self._saver.adelete_thread, run.thread_id))

    async def _end_unstarted(self, active: ActiveRun) -> None:
        """Close a run that was cancelled before it started."""
        active.channel.start_attempt(max(1, active.run.attempt))
        await self._end_run(active, await self._executor.snapshot_run(active.run))

    async def _recover_runs(self) -> None:
        """Resume the running runs of this process that it does not know, and start the pending ones."""
        unfinished = await self._database.read(runs.list_inflight_runs, self._owner)
        for run in sorted(unfinished, key=lambda run: (run.status is not RunStatus.RUNNING, run.order)):
            if run.run_id not in self._active_runs and run.run_id not in self._creating:
                self._recover_run(run)

    async def keep_leases(self) -> None:
        """Renew the lease of this process until cancelled; take over runs, and give up those it has lost."""
        while True:
            await self._sleep(leases.RENEW_EVERY)
            before = [*self._active_runs.values()]
            try:
                owned = await self._database.write(leases.renew_owner, self._owner)
            except Exception as error:
                if not is_storage_error(error):
                    raise
                continue
            held = {one.run_id: one for one in owned}
            for active in before:
                one = held.get(active.run.run_id)
                if one is None or one.fence != active.run.fence:
                    self._lose_run(active)
                elif one.stop is not None:
                    self._cancel_active(active, CancelAction(one.stop))
            if held.keys() - self._active_runs.keys() - self._creating and not self._stopping:
                await self._recover_runs()

    def _lose_run(self, active: ActiveRun) -> None:
        """Stop a run that another process has taken over, without writing anything."""
        if active.finishing or active.run.run_id not in self._active_runs:
            return
        active.finishing, active.stop = True, None
        active.channel.lose()
        self._saver.refuse_run(active.run.run_id)
        if active.timer is not None:
            active.timer.cancel()
        if active.task is not None:
            active.task.cancel()
            return
        self._lanes.remove_item(active)
        self._active_runs.pop(active.run.run_id)
        active.channel.close()
        active.resolve(None)

    def _recover_run(self, run: Run) -> ActiveRun:
        """Continue a stored run that has no task, because its process or its request ended."""
        assert run.status in INFLIGHT
        active = self._track_run(
            run, self._make_channel(leases.lease_of(run), resumable=run.spec.stream_resumable)
        )
        if run.status is RunStatus.RUNNING and run.lost + 1 >= self._settings.max_attempts:
            self._start_ending(active, self._fail_lost_run(active))
        else:
            self._schedule_run(active)
            log.info("run_recovered", run_id=run.run_id, thread_id=run.thread_id, status=str(run.status))
        return active

    async def _fail_lost_run(self, active: ActiveRun) -> None:
        active.channel.start_attempt(active.run.attempt + 1)
        message = (
            f"The run was interrupted by a crash {self._settings.max_attempts} times and will not be retried."
        )
        description = {"error": "RunLost", "message": message}
        active.channel.emit_event("error", dumps(description))
        await self._end_run(active, AttemptOutcome(RunStatus.ERROR, error=description))

    async def stop(self) -> None:
        """Wait until graphs reach a checkpoint. Their runs resume at the next start, without an end event."""
        if self._stopping:
            return
        self._stopping = True
        running = [active for active in self._active_runs.values() if active.task is not None]
        for active in running:
            active.control.request_drain()
        for active in self._active_runs.values():
            if active.task is None and active.timer is not None:
                active.timer.cancel()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._settings.drain)
            for task in late:
                task.cancel()
            async with asyncio.TaskGroup() as pausing:  # together, so that they share a commit
                for active in running:
                    if active.task in late:
                        pausing.create_task(self._pause_run(active))
        for active in self._active_runs.values():
            active.channel.close()
            active.resolve(None)
        self.signals.close()
        await self._release_lease()

    async def _release_lease(self) -> None:
        try:
            await self._database.write(leases.release_owner, self._owner)
        except Exception as error:  # noqa: BLE001 - the process stops; its lease expires
            await log_failure("lease_not_released", error)
