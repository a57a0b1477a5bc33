"""Configured on-call schedules, with their latest plans in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from bot.access import Role
from bot.chat_zones import find_zone
from bot.config import Config
from bot.config.access import AccessEntry
from bot.config.oncall import OnCallSchedule
from bot.domain import Mention, MentionKind
from bot.errors import DeliveryError
from bot.features.oncall.calendars import load_calendar
from bot.features.oncall.pagerduty import load_pagerduty
from bot.features.oncall.plan import AHEAD, PAST, Holder, Plan, ScheduleUnavailable, Shift, make_plan
from bot.features.oncall.rota import plan_rota
from bot.wiring import AccountRegistry, Core, OnCall

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
    config: Config,
    schedule: OnCallSchedule,
    home: Path,
    now: float,
    accounts: AccountRegistry | None = None,
    *,
    seconds: float = READ_SECONDS,
) -> Plan:
    """Read a schedule within a time limit. Files are in the data directory `home`.

    Without `accounts`, members of groups are unavailable. Raises ScheduleUnavailable.
    """
    try:
        async with asyncio.timeout(seconds):
            if schedule.members is not None:
                return await _load_members(schedule.members, accounts, now)
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


async def _load_members(group: AccessEntry, accounts: AccountRegistry | None, now: float) -> Plan:
    """Return a plan in which the members of a group are always on call."""
    if accounts is None:
        raise ScheduleUnavailable("groups can only be read by the running service")
    try:
        people = await accounts.list_members(group.scope, group.kind, group.id)
    except DeliveryError as error:
        raise ScheduleUnavailable(f"{group}: {error}") from None
    holders = [Holder(name or id_, entry=AccessEntry(group.scope, id_)) for id_, name in people.items()]
    return make_plan([Shift(tuple(holders))], now - PAST, now + AHEAD)


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
        people = await self.list_on_call(schedule, account, at)
        return people if any(one.id for one in people) else [*people, *self._list_admins(account)]

    async def list_on_call(self, schedule: str, account: str, at: float) -> Sequence[Mention]:
        """Return the people on call; see `OnCall`."""
        is_known = schedule in self._core.config.oncall.schedules
        found = (await self.find_reading(schedule)).find_periods(at) if is_known else None
        return self._mention(found[1].holders if found else (), account)

    def list_people(self, account: str) -> Sequence[Mention]:
        """Return the people who have an id on an account, and its admins and owners."""
        people = [Mention(MentionKind.PERSON, name, id_) for name, id_ in self._list_ids(account).items()]
        plans = [one.plan for one in self._readings.values() if one.plan and one.config.members]
        members = self._mention([one for plan in plans for one in plan.periods[0].holders], account)
        return [*people, *(one for one in members if one.id), *self._list_admins(account)]

    def _mention(self, holders: Iterable[Holder], account: str) -> list[Mention]:
        """Return mentions of people, each once, without an id where it is unknown."""
        config, ids = self._core.config.oncall, self._list_ids(account)
        scopes, found = (account, self._core.account(account).platform), dict[str, Mention]()
        for one in holders:
            key = config.find_person(one.name, one.email, one.entry)
            own = one.entry.id if one.entry and one.entry.scope in scopes else ""
            mention = Mention(MentionKind.PERSON, key or one.name, ids.get(key, "") or own)
            found.setdefault(key or str(one.entry or one.name), mention)
        return [*found.values()]

    async def _refresh(self, name: str, reading: Reading) -> None:
        """Read a schedule if it is due; callers share one attempt."""
        async with reading.lock:
            config, now = self._core.config, self._core.clock.now()
            if now < reading.next_at:
                return
            try:
                reading.plan = await load_plan(
                    config, reading.config, self._core.home, now, self._core.accounts
                )
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
