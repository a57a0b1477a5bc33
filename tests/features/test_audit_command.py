"""`/audit` shows what people did with other commands."""

from __future__ import annotations

import re

from bot.domain import ChatKind
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_people_commands import MEMBER, knocks, says, team

__all__ = ["team"]


class TestAudit:
    async def test_admins_read_it_in_private(self, team: Bench) -> None:
        async with team.running():
            assert await says(team, "/audit") == "No audit events found."
            await says(team, "/accounts")
            await says(team, "/accounts", MEMBER)
            shown = await says(team, "/audit")
            assert "`recording:9 (P9) used /accounts`" in shown
            assert "`recording:7 (P7) was refused /accounts`" in shown
            only = await says(team, f"/audit {MEMBER}")
            assert "recording:7" in only
            assert "recording:9" not in only
            there = await says(team, "/audit", chat="g1", kind=ChatKind.GROUP)
            assert there == "I can only show the audit log in private chats. Please ask me there."

    async def test_what_people_write_calls_nobody(self, team: Bench) -> None:
        async with team.running():
            await says(team, "/skill <@U1>`[x](http://evil)")
            shown = (await says(team, "/audit")).splitlines()[-1]
            assert re.sub("`[^`]*`", "", shown).split() == ["-", *shown.split()[1:4]]

    async def test_audit_finds_the_events_about_a_person_by_id(self, team: Bench) -> None:
        async with team.running():
            await says(team, f"/pair {await knocks(team)}")
            assert "granted the role member to rec:30`" in await says(team, "/audit 30")
