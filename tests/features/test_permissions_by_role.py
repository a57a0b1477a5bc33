"""What only some may do at doors that are open to every member, written down by hand: in commands, by
buttons, on the page, and when a schedule fires. A power without a line here fails.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from agent.shared.schemas import AgentInfo
from bot.access import Permission, Role
from bot.access.permissions import RULES
from bot.domain import ChatKind
from bot.runtime.interface import RunEnded, RunInterrupted
from bot.store.audit import Actor
from bot.store.people import RoleGrant, grant_role, revoke_role
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.adapters import Asking
from tests.component.dispatch.bench import Bench, bench
from tests.component.dispatch.test_approvals import CALL, FOREIGN
from tests.contract.store.inbound_messages import ANN, BEN
from tests.features.test_member_scope import chats
from tests.platforms.web.people import CHATS, signed_in
from tests.platforms.web.serving import world

LEAST = {
    Permission.DECIDE: Role.ADMIN,
    Permission.WITHDRAW: Role.ADMIN,
    Permission.RECORD: Role.ADMIN,
    Permission.GROUP_MEMORY: Role.ADMIN,
    Permission.AGENT: Role.ADMIN,
    Permission.DIGESTS: Role.ADMIN,
    Permission.DIGEST_ELSEWHERE: Role.ADMIN,
    Permission.USAGE: Role.ADMIN,
    Permission.READ: Role.ADMIN,
    Permission.HEALTH: Role.ADMIN,
}
ELSEWHERE = frozenset(Permission) - set(LEAST)
"""What whole commands and routes need (tests/features/test_access_table.py)."""
COMMANDS = {
    Permission.DECIDE: (
        ("/approve 1", "Only the person who asked"),
        ("/approve 1 here", "Only the person who asked"),
        ("/reject 1", "Only the person who asked"),
        ("/approve 1 always", "Only the person who asked"),
    ),
    Permission.RECORD: (
        ("/record on 7", "Only admins can turn recording"),
        ("/record off", "Only admins can turn recording"),
    ),
    Permission.GROUP_MEMORY: (
        ("/memory forget", "Only admins can erase what I remember"),
        ("/memory forget fact-1", "Only admins can erase what I remember"),
    ),
    Permission.AGENT: (("/agent helper", "The agent `fixed` answers here"),),
    Permission.DIGESTS: tuple(
        (f"/digest {verb} 1", "Schedule 1 belongs to someone else")
        for verb in ("pause", "resume", "now", "drop")
    ),
    Permission.DIGEST_ELSEWHERE: (("/digest to team in 1 hour tea", "Only admins can create schedules"),),
    Permission.WITHDRAW: (("/approved forget 1", "Only admins can revoke"),),
}
"""What is written in a group where Ben's work stands, and what one who may not do it is told."""
BUTTONS = ("approve", "approve here", "always approve", "reject")
PAGE = {
    Permission.READ: (
        "/api/conversations/{bens}",
        "/api/conversations/{bens}/messages",
        "/api/conversations/{bens}/usage",
        "/api/turns?conversation={bens}",
        "/api/memory?scope=person:tg:telegram:8",
    ),
    Permission.USAGE: ("/api/usage/breakdown?person=telegram:8",),
    Permission.DIGESTS: ("/api/schedules/{schedule}", "/api/schedules/{schedule}/runs"),
}
"""What one who may not see it is told does not exist."""
TOLD: Mapping[Role, str] = MappingProxyType({Role.MEMBER: "7", Role.ADMIN: "9", Role.OWNER: "1"})
FIRES = {Role.BLOCKED: False, Role.STRANGER: False, Role.MEMBER: True, Role.ADMIN: True, Role.OWNER: True}
HOUR = 3600.0


def script(run: ScriptedRun) -> None:
    """Ask before each deletion that was not approved for good."""
    if run.request.answers or "delete" in run.request.configurable.get("approved", ()):
        run.say("Done.")
        run.end()
    else:
        run.emit(RunInterrupted("i1", {**CALL, "remember": True}), RunEnded("interrupted"))


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        made.adapter = Asking(most_choices=4)
        made.runtime.script, made.runtime.own = script, [AgentInfo(name="helper")]
        made.role, made.default = None, "closed"
        await gives(made, "1", Role.OWNER)
        yield made


async def gives(at: Bench, person: str, role: Role) -> None:
    by = Actor(f"{person} {role}", "web:owner", "", "web", "")
    await at.db.transact(
        grant_role, RoleGrant(f"recording:{person}", role.name.lower(), "", "", 0.0), by, 0.0
    )


async def says(at: Bench, text: str, person: str, chat: str = "team") -> str:
    """What a group is answered to that, "" for nothing."""
    before = len(at.adapter.texts(chat))
    await at.adapter.hears(text, chat=chat, person=person, kind=ChatKind.GROUP)
    await at.rest(1.5)
    said = at.adapter.texts(chat)
    return said[-1] if len(said) > before else ""


async def refused(at: Bench, power: Permission, person: str) -> list[bool]:
    """Whether each command of a power is refused to somebody, with Ben's work standing in the group."""
    if power is Permission.AGENT:
        assert at.core is not None
        at.agent = "fixed"
        at.core.apply_config(at.config())
    if power is Permission.DIGESTS:
        drafted = await says(at, "/digest in 3 hours tea", "8")
        assert "is active." in await says(at, f"/digest ok {re.findall('ok ([0-9]+)', drafted)[0]}", "8")
    found = []
    for text, told in COMMANDS[power]:
        if power is Permission.DECIDE:
            assert "Approval needed" in await says(at, "go", "8", chat=text)
            number = re.findall(r"`/approve ([0-9]+)`", at.adapter.texts(text)[-1])[0]
            said = await says(at, text.replace("1", number, 1), person, chat=text)
        elif power is Permission.WITHDRAW:
            await says(at, "go", "8")
            await says(at, "/approve here", "8")
            said = await says(at, text, person)
        else:
            said = await says(at, text, person)
        assert said, text
        found.append(said.startswith(told))
    return found


def test_every_power_has_a_line_and_a_door() -> None:
    assert {*COMMANDS, *PAGE, Permission.HEALTH} == set(LEAST)
    assert {*LEAST, *ELSEWHERE} == set(Permission)
    assert all(RULES[power].least is role for power, role in LEAST.items())


@pytest.mark.parametrize("role", TOLD)
@pytest.mark.parametrize("power", COMMANDS)
async def test_in_commands(at: Bench, power: Permission, role: Role) -> None:
    async with at.running():
        found = await refused(at, power, TOLD[role])
    assert set(found) == {role < LEAST[power]}


@pytest.mark.parametrize("role", TOLD)
async def test_what_everybody_used_is_shown_in_private(at: Bench, role: Role) -> None:
    async with at.running():
        await at.adapter.hears("/usage", chat="private", person=TOLD[role])
        await at.rest(1.5)
    said = at.adapter.texts("private")[-1]
    assert ("**Everyone**" in said) is (role is Role.OWNER)
    assert ("**Everyone on the accounts you administer**" in said) is (role is Role.ADMIN)


@pytest.mark.parametrize("role", TOLD)
async def test_buttons_below_the_work_of_another(at: Bench, role: Role) -> None:
    async with at.running():
        for choice in BUTTONS:
            assert "Approval needed" in await says(at, "go", "8", chat=choice)
            question = [one for one in at.adapter.shown.values() if one.address.chat == choice][-1]
            at.adapter.told.clear()
            await at.adapter.presses(choice, question.id, chat=choice, person=TOLD[role], kind=ChatKind.GROUP)
            await at.rest(1.5)
            may = role >= LEAST[Permission.DECIDE]
            assert at.adapter.told == ([] if may else [(TOLD[role], FOREIGN)]), choice
            assert (at.adapter.texts(choice)[-1] == "Done.") is may, choice
            if choice == "always approve" and may:
                await says(at, "/approved forget 1", "1")
                await says(at, "/approved forget 2", "1")


async def test_always_is_not_for_who_asked_either(at: Bench) -> None:
    async with at.running():
        await says(at, "go", "7")
        assert (
            await says(at, "/approve always", "7") == "Only admins can approve a tool for the whole account."
        )


@pytest.mark.parametrize("role", FIRES)
async def test_a_schedule_fires_for_who_may_still_talk(at: Bench, role: Role) -> None:
    at.scheduling = True
    await gives(at, "40", Role.MEMBER)
    async with at.running():
        drafted = await says(at, "/digest in 1 hour say tea is ready", "40")
        await says(at, f"/digest ok {re.findall('ok ([0-9]+)', drafted)[0]}", "40")
    if role is Role.STRANGER:
        await at.db.transact(revoke_role, "recording:40", Actor("t", "web:owner", "", "web", ""), 0.0)
    else:
        await gives(at, "40", role)
    async with at.running():
        await at.rest(1.1 * HOUR, step=20.0)
        await at.rest(2.0)
    assert ("tea is ready" in at.adapter.texts("team")[-1].splitlines()) is FIRES[role]


@pytest.mark.parametrize("role", TOLD)
async def test_on_the_page(tmp_path: Path, role: Role) -> None:
    async with world(tmp_path, server=", token: a-token-of-the-service", extra=CHATS) as service:
        bens = (await chats(service))["telegram:8"]
        async with signed_in(service, BEN) as ben:
            body = {"when": "in 3 hours", "text": "tea", "conversation": bens}
            made = await ben.post("/api/schedules", json=body)
            assert made.status_code == 201, made.text
        at = {"bens": bens, "schedule": made.json()["id"]}
        async with signed_in(service, ANN, role.name.lower()) as client:
            for power, doors in PAGE.items():
                for door in doors:
                    answer = await client.get(door.format(**at))
                    wanted = 404 if role < LEAST[power] else 200
                    assert answer.status_code == wanted, (door, answer.text)
            health = (await client.get("/health/ready")).json()
            assert (health.get("database") is not None) is (role >= LEAST[Permission.HEALTH])
