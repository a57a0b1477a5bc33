"""Configured on-call schedules, with their latest plans in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from bot.access import Role
from bot.chat_zones import find_zone
from bot.config import Config
from bot.config.oncall import OnCallSchedule
from bot.domain import Mention, MentionKind
from bot.features.oncall.calendars import load_calendar
from bot.features.oncall.pagerduty import load_pagerduty
from bot.features.oncall.plan import Plan, ScheduleUnavailable, Shift
from bot.features.oncall.rota import plan_rota
from bot.wiring import Core, OnCall

log = structlog.get_logger(__name__)
RETRY_AFTER: Final = 60.0
"""Seconds after which a schedule that couldn't be read is read again."""
READ_SECONDS: Final = 30.0
CHECK_EVERY: Final = 15.0
"""Seconds between two checks for schedules that are due."""


@dataclass(slots=True)
class Reading:
    """The last plan of a schedule, None if there never was one, and the time when it was read (s).

    `problem` says why the last attempt failed ("": it succeeded).
    """

    config: OnCallSchedule
    plan: Plan | None = None
    read_at: float = 0.0
    next_at: float = 0.0
    problem: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def find_periods(self, now: float) -> tuple[Shift, Shift, Shift] | None:
        """Return the previous, the current and the next period, or None if they are unknown."""
        return self.plan.find_periods(now) if self.plan else None


async def load_plan(
    config: Config, schedule: OnCallSchedule, home: Path, now: float, *, seconds: float = READ_SECONDS
) -> Plan:
    """Read a schedule within a time limit. Files are in the data directory `home`.

    Raises ScheduleUnavailable.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _load_plan(config, schedule, home, now)
    except TimeoutError:
        raise ScheduleUnavailable(f"reading it takes longer than {seconds:g} s") from None


async def _load_plan(config: Config, schedule: OnCallSchedule, home: Path, now: float) -> Plan:
    name = schedule.timezone or config.schedules.timezone
    if schedule.pagerduty is not None:
        return await load_pagerduty(schedule.pagerduty, now)
    if schedule.ical is not None:
        return await load_calendar(schedule.ical, home, name, now, config.oncall.find_person)
    zone = await find_zone(name)
    if zone is None or schedule.rota is None:
        raise ScheduleUnavailable(f"the time zone {name} is missing on this machine")
    return plan_rota(schedule.rota, zone, now)


class OnCallSchedules(OnCall):
    """Answers who is on call. A schedule that can't be read keeps its last plan."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._readings: dict[str, Reading] = {}

    @property
    def names(self) -> Sequence[str]:
        """Return the names of the schedules."""
        return [*self._core.config.oncall.schedules]

    async def run(self) -> None:
        """Keep the plans current until cancelled."""
        while True:
            await self.refresh()
            await self._core.clock.sleep(CHECK_EVERY)

    async def refresh(self) -> None:
        """Read the schedules that are due."""
        await asyncio.gather(*(self._refresh(name, self._take_reading(name)) for name in self.names))

    async def find_reading(self, name: str) -> Reading:
        """Return the latest reading; waits only for the first. Raises KeyError for an unknown schedule."""
        reading = self._take_reading(name)
        if not reading.next_at:
            await self._refresh(name, reading)
        return reading

    async def find_mentions(self, schedule: str, account: str, at: float) -> Sequence[Mention]:
        """Return the people whom a message mentions; see `OnCall`."""
        config, ids = self._core.config.oncall, self._list_ids(account)
        is_known = schedule in config.schedules
        found = (await self.find_reading(schedule)).find_periods(at) if is_known else None
        holders = found[1].holders if found else ()
        keys = {config.find_person(one.name, one.email) or one.name: None for one in holders}
        people = [Mention(MentionKind.PERSON, key, ids.get(key, "")) for key in keys]
        return people if any(one.id for one in people) else [*people, *self._list_admins(account)]

    def list_people(self, account: str) -> Sequence[Mention]:
        """Return the people who have an id on an account, and its admins and owners."""
        people = [Mention(MentionKind.PERSON, name, id_) for name, id_ in self._list_ids(account).items()]
        return [*people, *self._list_admins(account)]

    async def _refresh(self, name: str, reading: Reading) -> None:
        """Read a schedule if it is due; callers share one attempt."""
        async with reading.lock:
            config, now = self._core.config, self._core.clock.now()
            if now < reading.next_at:
                return
            try:
                reading.plan = await load_plan(config, reading.config, self._core.home, now)
            except ScheduleUnavailable as error:
                if str(error) != reading.problem:
                    log.warning("oncall_unavailable", schedule=name, detail=str(error))
                reading.problem, reading.next_at = str(error), now + RETRY_AFTER
            else:
                reading.problem, reading.read_at = "", now
                reading.next_at = now + config.oncall.refresh_minutes * 60.0

    def _take_reading(self, name: str) -> Reading:
        schedule = self._core.config.oncall.schedules[name]
        if name not in self._readings or self._readings[name].config != schedule:
            self._readings[name] = Reading(schedule)
        return self._readings[name]

    def _list_ids(self, account: str) -> dict[str, str]:
        """Return the ids of people on an account by their names in the configuration."""
        people, scopes = self._core.config.oncall.people, (account, self._core.account(account).platform)
        ids = {name: {one.scope: one.id for one in entries} for name, entries in people.items()}
        return {
            name: next(of[one] for one in scopes if one in of)
            for name, of in ids.items()
            if {*of} & {*scopes}
        }

    def _list_admins(self, account: str) -> list[Mention]:
        """Return the admins and owners, by the names that the configuration has for them."""
        view = self._core.account(account)
        granted = [entry for entry, role in self._core.people.items() if role >= Role.ADMIN]
        names = {id_: name for name, id_ in self._list_ids(account).items()}
        found = (*view.rules.admins, *view.rules.owners, *granted)
        ids = {one.id: None for one in found if not one.kind and one.scope in (account, view.platform)}
        return [Mention(MentionKind.PERSON, names.get(id_, id_), id_) for id_ in ids]
