"""Whom a message mentions, and what is left of a schedule that can't be read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bot.access import Role
from bot.config import Config
from bot.config.oncall import OnCallConfig
from bot.features.oncall.on_call import CHECK_EVERY, RETRY_AFTER, OnCallSchedules, load_plan
from bot.features.oncall.plan import ScheduleUnavailable
from bot.store.audit import Actor
from bot.store.people import RoleGrant, grant_role
from bot.wiring import OnCall
from tests.bot.features.oncall.test_calendars import calendar, event, moment
from tests.component.dispatch.bench import Bench
from tests.unit.agent.tools.community.local_site import PUBLIC, site

MINUTE, DAY = 60.0, 86_400.0
NOW = moment("2026-01-05 12:00", "UTC")
ADMIN = ("9", "9")
"""The admin of the bench, as name and id."""


def config(people: dict[str, Any] | None = None, **schedules: Any) -> OnCallConfig:
    return OnCallConfig.model_validate({"people": people or {}, "schedules": schedules})


def rota(*people: str, **values: Any) -> dict[str, Any]:
    return {"rota": {"people": people, "start": "2026-01-05 09:00", "days": 1, **values}}


def write(home: Path, *shifts: str) -> None:
    (home / "team.ics").write_bytes(calendar(*shifts))


def shift(name: str, start: str, end: str) -> str:
    return event(name, f"DTSTART:{start}", f"DTEND:{end}", uid=f"{name} {start}")


async def mentioned(at: Bench, schedule: str = "team", account: str = "rec") -> list[tuple[str, str]]:
    """The names and ids that a message mentions."""
    assert at.core is not None
    found = await at.core.on_call.find_mentions(schedule, account, at.clock.now())
    return [(one.name, one.id) for one in found]


async def test_the_person_on_call_by_the_id_on_the_account(at: Bench) -> None:
    at.clock.set(NOW)
    at.others = {"other": "elsewhere"}
    ids = {"ada": ["elsewhere:5", "recording:7", "rec:8"], "Bo": "recording:6"}
    at.oncall = config(ids, team=rota("Ada", "Bo"))
    async with at.running():
        assert await mentioned(at) == [("ada", "8")], "an id on the account comes before the platform's"
        await at.clock.leap(DAY)
        assert await mentioned(at) == [("Bo", "6")]


async def test_a_person_without_an_id_is_text_and_admins_are_asked(at: Bench) -> None:
    at.clock.set(NOW)
    for ids in ({}, {"Ada": "elsewhere:5"}, {"Ada Long": "recording:7"}):
        at.oncall = config(ids, team=rota("Ada"))
        async with at.running():
            assert await mentioned(at) == [("Ada", ""), ADMIN]


async def test_of_several_people_one_with_an_id_is_enough(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config({"bo@example.org": "recording:7"}, team={"ical": {"file": "team.ics"}})
    people = ["ATTENDEE;CN=Ada:mailto:ada@example.org", "ATTENDEE;CN=Bo:mailto:Bo@Example.org"]
    write(at.home, event("on call", "DTSTART:20260105T000000Z", "DURATION:P1D", *people))
    async with at.running():
        assert await mentioned(at) == [("Ada", ""), ("bo@example.org", "7")]


async def test_members_of_a_group_by_their_own_ids(at: Bench) -> None:
    at.clock.set(NOW)
    at.groups["rec", "usergroup", "S1"] = {"7": "Ada", "8": "Ada", "5": ""}
    at.oncall = config({"Bo": "rec:5"}, team={"members": "rec:usergroup:S1"})
    async with at.running():
        assert at.core is not None
        assert await mentioned(at) == [("Ada", "7"), ("Ada", "8"), ("Bo", "5")]
        known = {one.id for one in at.core.on_call.list_people("rec")}
        assert {"7", "8", "5"} <= known
        assert await mentioned(at, account="other") == [("Ada", ""), ("Ada", ""), ("Bo", ""), ADMIN]
        at.groups["rec", "usergroup", "S1"] = {"8": "Ada"}
        await at.clock.leap(15 * MINUTE)
        await at.core.part(OnCallSchedules).refresh()
        assert await mentioned(at) == [("Ada", "8")]
        del at.groups["rec", "usergroup", "S1"]
        await at.clock.leap(15 * MINUTE)
        await at.core.part(OnCallSchedules).refresh()
        assert await mentioned(at) == [("Ada", "8")], "the last plan stays in effect"
        reading = await at.core.part(OnCallSchedules).find_reading("team")
        assert reading.problem == "rec:usergroup:S1: not_found: no such group"


async def test_nobody_and_unknown_are_the_admins(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config({"Root": "recording:9"}, team={"ical": {"file": "team.ics"}})
    async with at.running():
        assert await mentioned(at) == [("Root", "9")], "the file is missing"
        assert await mentioned(at, "another") == [("Root", "9")]
        write(at.home, shift("Ada", "20260106T000000Z", "20260107T000000Z"))
        await at.clock.leap(RETRY_AFTER)
        assert at.core is not None
        await at.core.part(OnCallSchedules).refresh()
        assert await mentioned(at) == [("Root", "9")], "a gap"


async def test_granted_admins_are_asked_too(at: Bench) -> None:
    async with at.running():
        assert at.core is not None
        for entry, role in (
            ("recording:4", Role.OWNER),
            ("recording:3", Role.MEMBER),
            ("other:2", Role.ADMIN),
        ):
            grant = RoleGrant(entry, role.name.lower(), "", "recording:9", 0.0)
            await at.db.transact(grant_role, grant, Actor(entry, "recording:9", "", "rec", "c1"), 0.0)
        await at.core.people.load_grants()
        assert sorted(await mentioned(at)) == [("4", "4"), ADMIN]


async def test_a_failure_keeps_the_last_plan(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config({"Ada": "recording:7"}, team={"ical": {"file": "team.ics"}})
    write(at.home, shift("Ada", "20260105T000000Z", "20260107T000000Z"))
    async with at.running():
        assert at.core is not None
        schedules = at.core.part(OnCallSchedules)
        working = asyncio.create_task(schedules.run())
        await at.quiet()
        (at.home / "team.ics").unlink()
        reading = await schedules.find_reading("team")
        await at.rest(15 * MINUTE - CHECK_EVERY, step=CHECK_EVERY)
        assert not reading.problem
        await at.until(lambda: reading.problem, step=CHECK_EVERY)
        assert reading.problem == "team.ics is not a file in the data directory"
        assert reading.read_at == NOW
        assert await mentioned(at) == [("Ada", "7")]
        write(at.home, shift("Bo", "20260105T000000Z", "20260107T000000Z"))
        await at.until(lambda: not reading.problem, step=CHECK_EVERY, most=RETRY_AFTER + 2 * CHECK_EVERY)
        assert await mentioned(at) == [("Bo", ""), ADMIN]
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def test_a_plan_that_is_too_old_is_unknown(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config({"Ada": "recording:7"}, team=rota("Ada", "Bo", days=7))
    async with at.running():
        assert await mentioned(at) == [("Ada", "7")]
        await at.clock.leap(70 * DAY)
        assert await mentioned(at) == [ADMIN]


async def test_a_changed_schedule_is_read_again_at_once(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config(team=rota("Ada"), gone=rota("Di"))
    async with at.running():
        assert await mentioned(at) == [("Ada", ""), ADMIN]
        assert await mentioned(at, "gone") == [("Di", ""), ADMIN]
        at.oncall = config(team=rota("Bo"))
        assert at.core is not None
        at.core.apply_config(at.config())
        assert await mentioned(at) == [("Bo", ""), ADMIN]
        assert await mentioned(at, "gone") == [ADMIN]


async def test_many_callers_share_one_reading(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config(team=rota("Ada"))
    async with at.running():
        assert at.core is not None
        schedules = at.core.part(OnCallSchedules)
        found = await asyncio.gather(*(schedules.find_reading("team") for _ in range(20)))
        assert all(one.plan is found[0].plan is not None for one in found)


async def test_a_reading_has_a_time_limit(tmp_path: Path) -> None:
    async def drips(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with site() as here:
        here.pages["/"] = drips
        schedule = config(team={"ical": {"url": here.url("/", host=PUBLIC)}}).schedules["team"]
        with pytest.raises(ScheduleUnavailable, match=r"takes longer than 0.2 s"):
            await load_plan(Config(), schedule, tmp_path, NOW, seconds=0.2)


async def test_without_the_feature_nobody_is_known() -> None:
    assert await OnCall().find_mentions("team", "rec", 0.0) == ()
    assert OnCall().list_people("rec") == ()
