"""Construction of scheduled runs: their text, the reason for skipping them, and retries of failed runs."""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from bot.access import Role
from bot.dispatch.run.blocked_people import BlockedPeople
from bot.dispatch.run.message_lines import format_messages
from bot.domain import person_of
from bot.errors import ScheduleRefused
from bot.features.schedules.run_history import list_scheduled_runs
from bot.features.schedules.run_store import DueRun, SkipReason
from bot.features.schedules.schedule_store import Schedule, ScheduleKind
from bot.features.schedules.upcoming import PlannedRun
from bot.features.schedules.wall_clock import find_zone, to_wall_time
from bot.wiring import Core

RETRY_AFTER = (60.0, 600.0)
"""Backoff before each retry of a failed run (s)."""


FIRST_DIGEST = 24 * 3600.0
FIRINGS_READ = 20


# Limits of a digest: messages, characters, and how far back the first one reaches (s).
MOST_MESSAGES, MOST_CHARACTERS = 1000, 40_000


class ScheduledRunBuilder:
    """Builds scheduled runs from plans."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._db = core.db
        self._clock = core.clock

    async def build_run(
        self, schedule: Schedule, plan: PlannedRun, now: float, *, retry_of: int = 0
    ) -> DueRun:
        """Build a planned run; `retry_of` is the id of the run to retry, or 0 for a new run.

        A digest has what arrived up to `now`. The next one begins there if the run is opened with the same
        `now`.
        """
        skip, text, notice = self._skip_run(schedule, plan), "", ""
        if skip is None:
            text = await self._compose_text(schedule, now, retry_of)
            notice = await self._limit_notice(schedule)
            skip = SkipReason.BUDGET if notice else None if text else self._empty_digest_reason(schedule)
        account = self._core.account(schedule.account)
        maker = person_of(schedule.platform, schedule.maker)
        profile = account.profile_at(schedule.chat, schedule.topic, maker)
        return DueRun(
            schedule,
            plan.due,
            plan.following,
            text,
            self._core.new_id(),
            model=profile.get("model") if skip is not SkipReason.ACCOUNT else "",
            missed=plan.missed,
            skip=skip,
            notice=await self._missed_runs_notice(schedule, plan) if skip is SkipReason.MISSED else notice,
        )

    def _empty_digest_reason(self, schedule: Schedule) -> SkipReason:
        """Return why a digest has no messages."""
        is_recorded = self._core.record.is_recorded(schedule.account, schedule.chat)
        return SkipReason.QUIET if is_recorded else SkipReason.UNRECORDED

    def _skip_run(self, schedule: Schedule, plan: PlannedRun) -> SkipReason | None:
        if self._core.accounts.get(schedule.account) is None:
            return SkipReason.ACCOUNT
        if not self._core.account(schedule.account).has_access(schedule.origin):
            return SkipReason.ACCESS
        return SkipReason.MISSED if plan.late else None

    async def _limit_notice(self, schedule: Schedule) -> str:
        """Return the notice of an exhausted limit, or "" if there is none; a fixed message uses no tokens."""
        problem = "" if schedule.kind is ScheduleKind.MESSAGE else await self._exhausted_limit(schedule)
        if not problem:
            return ""
        texts = self._core.account(schedule.account).texts_at(schedule.address, schedule.person)
        return texts("schedule_budget", number=schedule.id, spoken=schedule.spoken, problem=problem)

    async def _exhausted_limit(self, schedule: Schedule) -> str:
        """Return the notice of an exhausted token limit, or "" if there is none."""
        account, origin = self._core.account(schedule.account), schedule.origin
        role = account.policy.role_of(origin)
        texts = account.texts_at(schedule.address, schedule.person)
        limits = self._core.usage.limits_for(origin, role, texts, is_scheduled=True)
        return await self._db.transact(limits.find_refusal, self._clock.now())

    async def _missed_runs_notice(self, schedule: Schedule, plan: PlannedRun) -> str:
        zone = await _find_zone_or_utc(schedule.zone)
        shown = f"{to_wall_time(plan.due, zone):%Y-%m-%d %H:%M} {zone}"
        return self._core.account(schedule.account).texts_at(schedule.address, schedule.person)(
            "schedule_missed", number=schedule.id, spoken=schedule.spoken, at=shown, count=plan.missed + 1
        )

    async def _compose_text(self, schedule: Schedule, now: float, retry_of: int) -> str:
        """Compose a run's text or prompt; "" for a digest without messages."""
        account = self._core.account(schedule.account)
        texts = account.texts_at(schedule.address, schedule.person)
        if schedule.kind is ScheduleKind.MESSAGE:
            return schedule.text
        if schedule.kind is ScheduleKind.PROMPT:
            return texts("schedule_prompt", spoken=schedule.spoken, text=schedule.text)
        found = await self._db.transact(
            self._core.record.list_arrived,
            schedule.account,
            schedule.chat,
            await self._digest_start(schedule, now, retry_of),
            now,
            MOST_MESSAGES,
            schedule.topic,
        )
        zone = await _find_zone_or_utc(schedule.zone)
        blocked = BlockedPeople(
            lambda sender: account.policy.role_of(replace(schedule.origin, sender=sender)) is Role.BLOCKED,
            texts("quotation_blocked"),
        )
        readable = blocked.filter_messages(found)
        lines, omitted = format_messages(readable, schedule.platform, zone, MOST_CHARACTERS)
        if not lines:
            return ""
        quoted = "\n".join(lines)
        return texts(
            "schedule_digest",
            spoken=schedule.spoken,
            text=schedule.text,
            zone=zone,
            count=len(lines),
            left=omitted,
            said=quoted,
        ).strip()

    async def _digest_start(self, schedule: Schedule, now: float, retry_of: int) -> float:
        """Return the time of the last digest that was delivered or empty."""
        for one in await self._db.transact(list_scheduled_runs, schedule.id, limit=FIRINGS_READ):
            if one.id != retry_of and (one.delivered or one.skipped == SkipReason.QUIET):
                return max(one.at, schedule.digested_at)
        return schedule.digested_at or min(schedule.made_at, now - FIRST_DIGEST)


async def _find_zone_or_utc(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name, or UTC if it is missing on this system."""
    try:
        return await find_zone(name)
    except ScheduleRefused:
        return await find_zone("UTC")
