"""Runs from creation to end: lanes, attempts, cancelling, recovery, stopping."""

from __future__ import annotations

import asyncio
from contextvars import Context
from dataclasses import dataclass, replace

import structlog
from langgraph.errors import GraphDrained

from agent.errors import NotFound
from agent.runtime.active_run import Handle
from agent.runtime.domain import (
    INFLIGHT,
    CancelAction,
    Clock,
    Multitask,
    NewRun,
    Outcome,
    Run,
    RunStatus,
)
from agent.runtime.encode import dumps
from agent.runtime.event_log import RunChannel
from agent.runtime.execute import Executor
from agent.runtime.failures import log_failure
from agent.runtime.faults import Faults, Step
from agent.runtime.lanes import Lanes
from agent.runtime.saver import RuntimeSaver
from agent.runtime.settings import RuntimeSettings
from agent.runtime.store import RuntimeStore
from agent.runtime.transactions import Chunk

log = structlog.get_logger("agent.runtime")


@dataclass(frozen=True, slots=True)
class Created:
    """The run of a request; `handle` is None when a known key named one that has ended."""

    run: Run
    handle: Handle | None
    is_new: bool


class RunManager:
    """Owns every run task of the process. Use inside `async with`: leaving it stops as a SIGTERM does."""

    def __init__(
        self,
        *,
        store: RuntimeStore,
        saver: RuntimeSaver,
        executor: Executor,
        settings: RuntimeSettings,
        faults: Faults,
        clock: Clock,
    ) -> None:
        self._store = store
        self._saver = saver
        self._executor = executor
        self._settings = settings
        self._faults = faults
        self._clock = clock
        self._lanes: Lanes[Handle] = Lanes(settings.max_runs)
        self._handles: dict[str, Handle] = {}
        self._tasks = asyncio.TaskGroup()
        self._stopping = False

    async def __aenter__(self) -> RunManager:
        await self._tasks.__aenter__()
        await self._recover()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
        await self._tasks.__aexit__(None, None, None)

    def handle(self, run_id: str) -> Handle | None:
        """The run, while it is pending or running here."""
        return self._handles.get(run_id)

    @property
    def active(self) -> int:
        """Pending and running runs."""
        return len(self._handles)

    async def create(self, new: NewRun, *, reading: bool = False) -> Created:
        """Store a run and start it as soon as its lane is free. Raises `NotFound`, `Conflict`.

        With `reading` a new run's channel counts one reader from the start, which the caller must close.
        """
        reserved = new.start_at is None and not self._stopping and self._lanes.reserve(new.thread_id)
        channel = self._channel(new.run_id, resumable=new.spec.stream_resumable)
        channel.readers = int(reading)
        frames, chunk = self._first_event(channel, new.run_id, 1) if reserved else ([], None)
        started = False
        try:
            added = await self._store.add_run(new, start=reserved, chunk=chunk)
            started = added.created and added.run.status is RunStatus.RUNNING
        finally:
            if reserved and not started:
                self._lanes.release(new.thread_id)
                self._pump()
        if not added.created:
            return Created(added.run, self._handles.get(added.run.run_id), is_new=False)
        self._faults.reach(Step.RUN_STORED)
        handle = self._admit(added.run, channel)
        if started:
            channel.show(frames)
            self._spawn(handle)
        else:
            channel.begin(0)
            self._wait_turn(handle)
        if added.before and new.multitask_strategy in (Multitask.INTERRUPT, Multitask.ROLLBACK):
            for run_id, _ in added.before:
                self._cancel(self._handles.get(run_id), CancelAction(str(new.multitask_strategy)))
        return Created(added.run, handle, is_new=True)

    async def cancel(
        self, thread_id: str, run_id: str, action: CancelAction
    ) -> asyncio.Future[Outcome | None]:
        """End a run; the future is done when it has ended. Raises `NotFound` when it is gone or has ended."""
        handle = self._handles.get(run_id)
        if handle is None or handle.thread_id != thread_id:
            run = await self._store.get_run(thread_id, run_id)
            raise NotFound(f"Run {run_id} is not running: {run.status}")
        self._cancel(handle, action)
        return handle.done

    def cancel_now(self, run_id: str) -> None:
        """End a run whose client left; one that has ended stays as it is."""
        self._cancel(self._handles.get(run_id), CancelAction.INTERRUPT)

    def inflight(self, thread_id: str | None = None) -> list[Handle]:
        """Pending and running runs, of one thread or all."""
        return [item for item in self._handles.values() if thread_id is None or item.thread_id == thread_id]

    def _cancel(self, handle: Handle | None, action: CancelAction) -> None:
        if handle is None or handle.finishing or handle.stop is not None:
            return
        handle.stop = action
        log.info("run_cancelled", run_id=handle.run.run_id, thread_id=handle.thread_id, action=str(action))
        if handle.task is None:
            if handle.timer is not None:
                handle.timer.cancel()
            self._lanes.remove(handle)
            handle.task = self._tasks.create_task(self._drop(handle), context=Context())
            return
        handle.task.cancel()
        loop = asyncio.get_running_loop()
        handle.timer = loop.call_later(self._settings.cancel_grace, self._abandon, handle)

    def _abandon(self, handle: Handle) -> None:
        """A cancelled graph that goes on: its run ends all the same; its lane stays taken until it ends."""
        if not handle.finishing and not handle.done.done():
            log.warning("run_did_not_stop", run_id=handle.run.run_id, thread_id=handle.thread_id)
            self._tasks.create_task(self._end(handle, Outcome(RunStatus.INTERRUPTED)), context=Context())

    def _channel(self, run_id: str, *, resumable: bool) -> RunChannel:
        channel = RunChannel(run_id, resumable=resumable, log=self._store, settings=self._settings.log)
        channel.on_logged = self._logged
        return channel

    def _logged(self, _count: int) -> None:
        self._faults.reach(Step.FIRST_EVENT_LOGGED)
        self._faults.reach(Step.MID_STREAM)

    def _first_event(
        self, channel: RunChannel, run_id: str, attempt: int
    ) -> tuple[list[bytes], Chunk | None]:
        channel.begin(attempt)
        return channel.first("metadata", dumps({"run_id": run_id, "attempt": attempt}))

    def _admit(self, run: Run, channel: RunChannel) -> Handle:
        handle = Handle(run, channel, asyncio.get_running_loop().create_future())
        self._handles[run.run_id] = handle
        return handle

    def _wait_turn(self, handle: Handle) -> None:
        delay = (handle.run.start_at or 0.0) - self._clock()
        if delay > 0:
            handle.timer = asyncio.get_running_loop().call_later(delay, self._enqueue, handle)
        else:
            self._enqueue(handle)

    def _enqueue(self, handle: Handle) -> None:
        handle.timer = None
        self._lanes.add(handle)
        self._pump()

    def _pump(self) -> None:
        while not self._stopping and (handle := self._lanes.next()) is not None:
            self._spawn(handle)

    def _spawn(self, handle: Handle) -> None:
        handle.task = self._tasks.create_task(self._supervise(handle), context=Context())

    async def _supervise(self, handle: Handle) -> None:
        """One run task: its lane is given back and waiters are told, whatever happens."""
        try:
            await self._drive(handle)
        except Exception as error:  # noqa: BLE001 - the run resumes at the next start
            await log_failure("run_lost", error, run_id=handle.run.run_id, thread_id=handle.thread_id)
        finally:
            self._handles.pop(handle.run.run_id, None)
            handle.channel.close()
            handle.settle(None)
            self._lanes.release(handle.thread_id)
            self._pump()

    async def _drive(self, handle: Handle) -> None:
        try:
            if handle.channel.attempt == 0 and not await self._begin(handle):
                return
            self._faults.reach(Step.RUN_STARTED)
            await self._remember_base(handle)
            outcome = await self._executor.execute(handle.run, handle.channel, handle.control)
        except GraphDrained:
            await self._store.pause_run(handle.run.run_id)
            return
        except asyncio.CancelledError:
            if handle.stop is None:
                raise
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            await self._saver.end_run(handle.run.run_id)
            outcome = await self._executor.snapshot(handle.run)
        await self._end(handle, outcome)

    async def _begin(self, handle: Handle) -> bool:
        run = handle.run
        lost = run.lost + (run.status is RunStatus.RUNNING)
        run = replace(run, attempt=run.attempt + 1, lost=lost, status=RunStatus.RUNNING)
        frames, chunk = self._first_event(handle.channel, run.run_id, run.attempt)
        if not await self._store.start_run(run, chunk=chunk):
            return False
        handle.run = run
        handle.channel.show(frames)
        return True

    async def _remember_base(self, handle: Handle) -> None:
        if handle.run.spec.command is not None:
            base = await self._saver.latest(handle.thread_id)
            if base is not None:
                handle.base = (base, await self._saver.pending_writes(handle.thread_id, base))

    async def _end(self, handle: Handle, outcome: Outcome) -> None:
        """Store how a run ended with its last events, then tell."""
        if handle.finishing:
            return
        handle.finishing = True
        if handle.timer is not None:
            handle.timer.cancel()
        run, channel = handle.run, handle.channel
        if handle.stop is not None:
            await self._saver.end_run(run.run_id)
        await channel.written()
        frames, chunk = channel.seal("end", dumps({"run_id": run.run_id, "status": outcome.status}))
        self._faults.reach(Step.BEFORE_FINISH)
        if handle.stop is CancelAction.ROLLBACK:
            base, writes = handle.base or (None, None)
            await self._saver.rollback(run.thread_id, run.run_id, base, writes)
            await self._store.remove_run(run)
        elif run.spec.temporary_thread:
            await self._store.erase_thread(run.thread_id)
        else:
            await self._store.finish_run(run, outcome, chunk=chunk)
        self._faults.reach(Step.FINISHED)
        self._handles.pop(run.run_id, None)
        channel.show(frames)
        channel.close()
        handle.settle(outcome)
        if run.spec.temporary_thread:
            await self._saver.adelete_thread(run.thread_id)

    async def _drop(self, handle: Handle) -> None:
        """End a run that was cancelled before it started."""
        handle.channel.begin(max(1, handle.run.attempt))
        await self._end(handle, Outcome(RunStatus.INTERRUPTED))

    async def _recover(self) -> None:
        """Take up what an earlier process left: cut-off runs resume, pending ones start."""
        found = await self._store.inflight_runs()
        for run in sorted(found, key=lambda run: (run.status is not RunStatus.RUNNING, run.order)):
            assert run.status in INFLIGHT
            handle = self._admit(run, self._channel(run.run_id, resumable=run.spec.stream_resumable))
            if run.status is RunStatus.RUNNING and run.lost + 1 >= self._settings.max_attempts:
                handle.task = self._tasks.create_task(self._give_up(handle), context=Context())
                continue
            log.info("run_recovered", run_id=run.run_id, thread_id=run.thread_id, status=str(run.status))
            self._wait_turn(handle)

    async def _give_up(self, handle: Handle) -> None:
        handle.channel.begin(handle.run.attempt + 1)
        message = f"The run was cut off {self._settings.max_attempts} times and is not tried again."
        told = {"error": "RunLost", "message": message}
        handle.channel.emit("error", dumps(told))
        await self._end(handle, Outcome(RunStatus.ERROR, error=told))

    async def stop(self) -> None:
        """Let graphs reach a checkpoint, then leave their runs for the next start; nobody is told an end."""
        if self._stopping:
            return
        self._stopping = True
        running = [handle for handle in self._handles.values() if handle.task is not None]
        for handle in running:
            handle.control.request_drain()
        for handle in self._handles.values():
            if handle.task is None and handle.timer is not None:
                handle.timer.cancel()
        tasks = [handle.task for handle in running if handle.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._settings.drain)
            for handle in running:
                if handle.task in late:
                    handle.task.cancel()
                    await self._store.pause_run(handle.run.run_id)
        for handle in self._handles.values():
            handle.channel.close()
            handle.settle(None)
