"""`/oncall` in a chat."""

from __future__ import annotations

from bot.features.oncall.on_call import OnCallSchedules
from bot.store.chats import set_time_zone
from tests.bot.features.oncall.test_calendars import event, moment
from tests.bot.features.oncall.test_on_call import DAY, NOW, config, rota, shift, write
from tests.component.dispatch.bench import Bench


async def says(at: Bench, text: str) -> list[str]:
    """The lines of the answer in a private chat."""
    shown = len(at.adapter.texts("c1"))
    await at.adapter.hears(text, chat="c1", person="7")
    await at.until(lambda: len(at.adapter.texts("c1")) > shown)
    return at.adapter.texts("c1")[-1].splitlines()


async def test_without_schedules(at: Bench) -> None:
    async with at.running():
        assert await says(at, "/oncall") == [
            "There are no on-call schedules. An admin can add them under `oncall` in the configuration."
        ]


async def test_all_schedules_or_one(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config(team=rota("Ada", "Bo"), night=rota("Cy"))
    async with at.running():
        zone = ["", "Times are in the time zone UTC."]
        team = "- **team**: `Ada` until 2026-01-06 09:00, then `Bo`"
        assert await says(at, "/oncall") == [team, "- **night**: `Cy`", *zone]
        assert await says(at, "/oncall Team") == [team, *zone]
        assert await says(at, "/oncall nobody") == [
            "There is no on-call schedule `nobody`. Schedules: `team`, `night`."
        ]


async def test_the_members_of_a_group(at: Bench) -> None:
    at.groups |= {("rec", "usergroup", "S1"): {"7": "Ada", "8": ""}, ("rec", "usergroup", "S2"): {}}
    at.oncall = config(a={"members": "rec:usergroup:S1"}, b={"members": "rec:usergroup:S2"})
    async with at.running():
        assert await says(at, "/oncall") == [
            "- **a**: `Ada`, `8`",
            "- **b**: nobody: the group has no members. Admins are mentioned instead.",
            "",
            "Times are in the time zone UTC.",
        ]


async def test_times_are_in_the_zone_of_the_reader(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config(team=rota("Ada", "Bo"))
    async with at.running():
        await at.db.transact(set_time_zone, "rec", "c1", "Asia/Tokyo")
        assert await says(at, "/oncall") == [
            "- **team**: `Ada` until 2026-01-06 18:00, then `Bo`",
            "",
            "Times are in the time zone Asia/Tokyo.",
        ]
        await at.db.transact(set_time_zone, "rec", "c1", "Nowhere/Land")
        assert (await says(at, "/oncall"))[-1] == "Times are in the time zone UTC."


async def test_gaps_with_their_neighbors(at: Bench) -> None:
    at.oncall = config(team={"ical": {"file": "team.ics"}})
    write(
        at.home,
        shift("Ada", "20260105T080000Z", "20260105T100000Z"),
        shift("Bo", "20260106T080000Z", "20260106T100000Z"),
    )
    expected = {
        "2026-01-05 09:00": "`Ada` until 2026-01-05 10:00; nobody is scheduled from then until "
        "2026-01-06 08:00",
        "2026-01-05 12:00": "the schedule has a gap from 2026-01-05 10:00 to 2026-01-06 08:00, between `Ada` "
        "and `Bo`. During the gap, admins are mentioned instead.",
        "2026-01-06 09:00": "`Bo` until 2026-01-06 10:00; nobody is scheduled after that",
        "2026-01-06 12:00": "unknown. Until this is resolved, admins are mentioned instead.",
    }
    async with at.running():
        for time, text in expected.items():
            at.clock.set(moment(time, "UTC"))
            assert (await says(at, "/oncall"))[0] == f"- **team**: {text}"


async def test_failures_and_the_age_of_the_plan(at: Bench) -> None:
    at.clock.set(NOW)
    at.oncall = config(team={"ical": {"file": "team.ics"}})
    problem = "  The schedule can't be read: `team.ics is not a file in the data directory`."
    async with at.running():
        assert (await says(at, "/oncall"))[:2] == [
            "- **team**: unknown. Until this is resolved, admins are mentioned instead.",
            problem,
        ]
        bad = event("`Di`", "DTSTART:20260105T080000Z", "RRULE:FREQ=SECONDLY")
        write(at.home, shift("Ada `x` @here", "20260105T080000Z", "20260108T100000Z"), bad)
        await at.clock.leap(DAY)
        assert at.core is not None
        schedules = at.core.part(OnCallSchedules)
        await schedules.refresh()
        shown = await says(at, "/oncall")
        assert shown[0].startswith("- **team**: `Ada 'x' @here` until 2026-01-08 10:00")
        assert shown[1] == (
            "  Part of the schedule can't be read: `'Di': repetitions like FREQ=SECONDLY are not supported`"
        )
        (at.home / "team.ics").unlink()
        await at.clock.leap(3_600)
        await schedules.refresh()
        assert (await says(at, "/oncall"))[1] == f"{problem} The information is 60 min old."


async def test_in_chinese(at: Bench) -> None:
    at.clock.set(NOW)
    at.locale = "zh"
    at.oncall = config(team=rota("Ada", "Bo"))
    async with at.running():
        assert await says(at, "/oncall") == [
            "- **team**: `Ada`，到 2026-01-06 09:00，之后是 `Bo`",
            "",
            "时间以 UTC 时区为准。",
        ]
