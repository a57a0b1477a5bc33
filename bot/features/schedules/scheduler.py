"""Turns for due schedules, and recording of their results.

Several schedulers may share a store: the one that advances a row gets the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import structlog

from agent.shared.aio import wait_first
from bot.errors import ScheduleRefused, StoreUnavailable
from bot.features.schedules.rule import parse_recurrence
from bot.features.schedules.run_history import list_scheduled_runs
from bot.features.schedules.run_store import (
    DueRetry,
    DueRun,
    EndedRun,
    SkipReason,
    attempt_of,
    find_due_work,
    judge_run,
    open_due_run,
    open_run_retry,
)
from bot.features.schedules.schedule_store import (
    Schedule,
    ScheduleState,
    load_schedule,
    purge_schedules,
)
from bot.features.schedules.scheduled_runs import RETRY_AFTER, ScheduledRunBuilder
from bot.features.schedules.upcoming import PlannedRun, plan_due
from bot.features.schedules.wall_clock import find_zone
from bot.store.outages import is_outage
from bot.turn import OpenedTurn, Turn
from bot.wiring import Core

log = structlog.get_logger(__name__)

# Upper bound of a sleep (s): the clock may be set, and another process may add a schedule.
LONGEST_NAP = 20.0
# Interval (s) of checks for the end of a run's turn while it is in progress.
WATCH_EVERY = 3.0
AFTER_TROUBLE = 5.0
# Missed runs over a longer period (s) are counted on a worker thread.
LONG_AGO = 3600.0
DRAFTS_KEPT, FIRINGS_KEPT = 3600.0, 90 * 24 * 3600.0
FORGET_EVERY = 3600.0

Item = TypeVar("Item", EndedRun, DueRetry, Schedule)


class Scheduler:
    """Runs schedules when they are due. `run` works until cancelled."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._db = core.db
        self._clock = core.clock
        self._runs = ScheduledRunBuilder(core)
        self._poked = asyncio.Event()
        self._forget_at = 0.0

    def wake(self) -> None:
        """Check for due schedules now, after a change."""
        self._poked.set()

    def will_retry(self, turn: Turn) -> bool:
        """Return whether a turn is a scheduled run that will be retried if it fails."""
        if turn.repeats or not turn.messages:
            return False
        return all(0 < attempt_of(message.event_id) <= len(RETRY_AFTER) for message in turn.messages)

    async def run(self) -> None:
        """Run due schedules until cancelled."""
        while True:
            self._poked.clear()
            try:
                nap = await self.run_due()
            except Exception as error:  # the scheduler's supervisor: an unavailable database recovers
                if not is_outage(error):
                    log.exception("schedules_failed")
                nap = AFTER_TROUBLE
            await wait_first(self._poked, self._clock.sleep, nap)

    async def run_due(self) -> float:
        """Run all due schedules; return the time until the next check (s)."""
        now = self._clock.now()
        work = await self._db.transact(find_due_work, now)
        done = await self._process_each(self._record_outcome, work.ended)
        done &= await self._process_each(self._open_retry, work.retries)
        done &= await self._process_each(self._open_due_run, work.schedules)
        if now >= self._forget_at or now < self._forget_at - 2 * FORGET_EVERY:
            self._forget_at = now + FORGET_EVERY
            await self._db.transact(purge_schedules, now - DRAFTS_KEPT, now - FIRINGS_KEPT)
        if not done:
            # Failed work is still due; only a pause of fixed length prevents an immediate retry.
            return AFTER_TROUBLE
        if work:
            work = await self._db.transact(find_due_work, now)
        nap = WATCH_EVERY if work.unjudged else LONGEST_NAP
        return max(0.05, min(nap, work.next_at - self._clock.now())) if work.next_at else nap

    async def _process_each(self, process: Callable[[Item], Awaitable[None]], items: Sequence[Item]) -> bool:
        """Process the items in order, continuing after exceptions; return whether all succeeded."""
        done = True
        for item in items:
            try:
                await process(item)
            except StoreUnavailable:
                raise
            except Exception:  # the item's supervisor: one bad schedule must not stop the others
                log.exception("schedule_failed", item=type(item).__name__, id=item.id)
                done = False
        return done

    async def build_manual_run(self, schedule: Schedule, now: float) -> DueRun:
        """Build a run for now, outside the recurrence; it must be opened with the same `now`."""
        return await self._runs.build_run(schedule, PlannedRun(now, schedule.next_at, 0, late=False), now)

    def dispatch_turns(self, opened: Sequence[OpenedTurn]) -> None:
        """Dispatch a run's turns, and watch their results."""
        for turn in opened:
            self._core.runs.dispatch_turn(turn)
        self.wake()

    async def _open_due_run(self, schedule: Schedule) -> None:
        try:
            zone = await find_zone(schedule.zone)
            rule, now = parse_recurrence(schedule.rule), self._clock.now()
            catch_up = self._core.config.schedules.catch_up_minutes * 60.0
            long_ago = now - schedule.next_at > LONG_AGO
            arguments = (rule, zone, schedule.next_at, now, catch_up)
            plan = await asyncio.to_thread(plan_due, *arguments) if long_ago else plan_due(*arguments)
        except ScheduleRefused as refused:
            # The stored rule is unreadable: an older version wrote it, or the system no longer has the time
            # zone.
            log.error("schedule_unreadable", schedule=schedule.id, problem=str(refused))
            plan = PlannedRun(schedule.next_at, 0.0, 0, late=True)
        now = self._clock.now()
        one = await self._notify_limit_once(await self._runs.build_run(schedule, plan, now))
        opened = await self._db.transact(open_due_run, one, now)
        if opened is None:
            return
        log.info(
            "schedule_fired",
            schedule=schedule.id,
            due=plan.due,
            missed=plan.missed,
            skipped=one.skip.value if one.skip else None,
            turns=[turn.turn for turn in opened],
        )
        for turn in opened:
            self._core.runs.dispatch_turn(turn)

    async def _notify_limit_once(self, one: DueRun) -> DueRun:
        """Report an exhausted limit once, not at every run until it resets."""
        if one.skip is not SkipReason.BUDGET:
            return one
        before = await self._db.transact(list_scheduled_runs, one.schedule.id, limit=1)
        known = bool(before) and before[0].skipped == SkipReason.BUDGET
        return replace(one, notice="") if known else one

    async def _record_outcome(self, closed: EndedRun) -> None:
        now = self._clock.now()
        retry = not closed.good and not closed.permanent and closed.attempt <= len(RETRY_AFTER)
        retry_at = now + RETRY_AFTER[closed.attempt - 1] if retry else 0.0
        schedule = await self._db.transact(load_schedule, closed.schedule)
        alert = ""
        if schedule is not None:
            account = self._core.account(schedule.account)
            alert = account.texts_at(schedule.address, schedule.person)(
                "schedule_alert", number=schedule.id, spoken=schedule.spoken, problem=closed.problem
            )
        if not closed.good:
            log.warning(
                "schedule_came_to_nothing", schedule=closed.schedule, problem=closed.problem, again=retry
            )
        opened = await self._db.transact(judge_run, closed, retry_at, alert, now)
        if opened is not None:
            self._core.runs.dispatch_turn(opened)

    async def _open_retry(self, retry: DueRetry) -> None:
        schedule = await self._db.transact(load_schedule, retry.schedule)
        run, now = None, self._clock.now()
        if schedule is not None and schedule.state is not ScheduleState.PAUSED:
            plan = PlannedRun(retry.due_at, schedule.next_at, 0, late=False)
            run = await self._runs.build_run(schedule, plan, now, retry_of=retry.id)
        opened = await self._db.transact(open_run_retry, retry, run, now)
        if opened is not None:
            self._core.runs.dispatch_turn(opened)
