"""A firing before it is opened: what it brings, or why it brings nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.clock import Clock
from bot.privacy.record_formatting import format_messages
from bot.schedules.due import DueFiring
from bot.schedules.wall_clock import find_zone, to_wall_time
from bot.store import Database
from bot.store.record import list_recorded, list_recorded_chats
from bot.store.scheduled_runs import DueRun, OpenedTurn, SkipReason, list_scheduled_runs
from bot.store.schedules import Schedule, ScheduleKind
from bot.texts import Texts

# A digest reads so many messages and characters of the record at most, and at first so far back (seconds).
MOST_MESSAGES, MOST_CHARACTERS = 1000, 40_000
FIRST_DIGEST = 24 * 3600.0
FIRINGS_READ = 20


@dataclass(frozen=True, slots=True)
class SchedulerHooks:
    """What the scheduler needs of the service. `open_` hands an opened turn to the dispatcher; `allowed` says
    whether who made a schedule may still talk there, `runs` whether the account is there at all; `spent` says
    which budget of tokens is used up there, "" for none; `catch_up` is how late a firing may be made up for
    (seconds).
    """

    open_: Callable[[OpenedTurn], None]
    allowed: Callable[[Schedule], bool]
    runs: Callable[[str], bool]
    spent: Callable[[Schedule], Awaitable[str]]
    texts: Callable[[str], Texts]
    model: Callable[[str], str]
    new_id: Callable[[], str]
    catch_up: Callable[[], float]


class ScheduledRunBuilder:
    """Makes firings of plans."""

    def __init__(self, db: Database, clock: Clock, host: SchedulerHooks) -> None:
        self._db = db
        self._clock = clock
        self._host = host

    async def build_run(self, schedule: Schedule, made: DueFiring, *, again: int = 0) -> DueRun:
        """The firing that a plan means; `again` is the id of the one that it repeats."""
        skip, text, notice = self._skip_run(schedule, made), "", ""
        if skip is None:
            text = await self._compose_text(schedule, again)
            notice = await self._limit_notice(schedule)
            skip = (
                SkipReason.BUDGET if notice else None if text else await self._empty_digest_reason(schedule)
            )
        return DueRun(
            schedule,
            made.due,
            made.following,
            text,
            self._host.new_id(),
            model=self._host.model(schedule.account) if skip is not SkipReason.ACCOUNT else "",
            missed=made.missed,
            skip=skip,
            notice=await self._missed_runs_notice(schedule, made) if skip is SkipReason.MISSED else notice,
        )

    async def _empty_digest_reason(self, schedule: Schedule) -> SkipReason:
        """Why there is nothing to make a digest of."""
        kept = [(one.account, one.chat) for one in await self._db.run(list_recorded_chats)]
        return SkipReason.QUIET if (schedule.account, schedule.chat) in kept else SkipReason.UNRECORDED

    def _skip_run(self, schedule: Schedule, made: DueFiring) -> SkipReason | None:
        if not self._host.runs(schedule.account):
            return SkipReason.ACCOUNT
        if not self._host.allowed(schedule):
            return SkipReason.ACCESS
        return SkipReason.MISSED if made.late else None

    async def _limit_notice(self, schedule: Schedule) -> str:
        """What the chat hears where a budget is used up; a fixed text costs nothing."""
        problem = "" if schedule.kind is ScheduleKind.MESSAGE else await self._host.spent(schedule)
        if not problem:
            return ""
        texts = self._host.texts(schedule.account).in_thread(schedule.topic)
        return texts("schedule_budget", number=schedule.id, spoken=schedule.spoken, problem=problem)

    async def _missed_runs_notice(self, schedule: Schedule, made: DueFiring) -> str:
        shown = (
            to_wall_time(made.due, await find_zone(schedule.zone)).strftime("%Y-%m-%d %H:%M ") + schedule.zone
        )
        return self._host.texts(schedule.account).in_thread(schedule.topic)(
            "schedule_missed", number=schedule.id, spoken=schedule.spoken, at=shown, count=made.missed + 1
        )

    async def _compose_text(self, schedule: Schedule, again: int) -> str:
        """What it brings or asks; "" for a digest of nothing."""
        texts = self._host.texts(schedule.account).in_thread(schedule.topic)
        if schedule.kind is ScheduleKind.MESSAGE:
            return schedule.text
        if schedule.kind is ScheduleKind.PROMPT:
            return texts("schedule_prompt", spoken=schedule.spoken, text=schedule.text)
        found = await self._db.run(
            list_recorded,
            schedule.account,
            schedule.chat,
            await self._digest_start(schedule, again),
            self._clock.now(),
            MOST_MESSAGES,
            topic=schedule.topic or None,
        )
        told, left = format_messages(found, await find_zone(schedule.zone), MOST_CHARACTERS)
        if not told:
            return ""
        said = "\n".join(told)
        return texts(
            "schedule_digest",
            spoken=schedule.spoken,
            text=schedule.text,
            count=len(told),
            left=left,
            said=said,
        ).strip()

    async def _digest_start(self, schedule: Schedule, again: int) -> float:
        """When the last digest was made that came to its chat, or was one of nothing."""
        for one in await self._db.run(list_scheduled_runs, schedule.id, limit=FIRINGS_READ):
            if one.id != again and (one.delivered or one.skipped == SkipReason.QUIET):
                return max(one.at, schedule.digested_at)
        return schedule.digested_at or min(schedule.made_at, self._clock.now() - FIRST_DIGEST)
