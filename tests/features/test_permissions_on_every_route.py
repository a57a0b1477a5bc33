"""Which role each door of `access_table` requires at least.

Commands are tried in the chat by somebody of each role, routes at a service with a token without it; what
each role may use is in `test_access_table`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from bot.access import Role
from bot.domain import ChatKind, InboundMessage, Origin, Sender
from bot.server.api.auth import least_role
from bot.store.audit import Actor
from bot.store.people import RoleGrant, grant_role
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench, bench
from tests.features.access_table import SERVICE, Access, commands, doors, least_roles
from tests.features.application_routes import passed_on, real_path
from tests.platforms.web.people import CHATS, give, signed_in
from tests.platforms.web.serving import world

ALONE = "usage data whoami page memory role pair budget audit accounts"
"""Answered in a group to who asked alone, where the platform can do that."""
PEOPLE = {Role.BLOCKED: "31", Role.STRANGER: "30", Role.MEMBER: "7", Role.ADMIN: "9", Role.OWNER: "1"}

TOKEN = "a-token-of-the-service"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        made.role, made.default = None, "pair"
        made.runtime.script = answer_with("hello")
        for role, by in ((Role.OWNER, "owner"), (Role.BLOCKED, "blocked")):
            one = RoleGrant(f"recording:{PEOPLE[role]}", by, "", "", 0.0)
            await made.db.transact(grant_role, one, Actor(by, "web:owner", "", "web", ""), 0.0)
        yield made


async def hears(at: Bench, person: str, text: str, *, answered: bool) -> str:
    """What somebody is answered in private, "" for nothing; who is surely answered is waited for."""
    chat = f"private-{person}"
    before = len(at.adapter.texts(chat))
    await at.adapter.hears(text, chat=chat, person=person)
    if answered:
        await at.until(lambda: len(at.adapter.texts(chat)) > before)
    else:
        await at.rest(1.0)
    said = at.adapter.texts(chat)
    return said[-1] if len(said) > before else ""


@pytest.mark.parametrize("role", PEOPLE)
async def test_commands_by_role(at: Bench, role: Role) -> None:
    async with at.running():
        for name, needed in least_roles(commands()).items():
            said = await hears(at, PEOPLE[role], f"/{name}", answered=role >= Role.MEMBER)
            if role is Role.BLOCKED:
                assert said == "", name
            elif role is Role.STRANGER:
                assert "/pair" in said or said == "", name
            else:
                assert said, name
                assert (said == f"Only admins can use `/{name}`.") is (role < needed), (name, said)
        assert at.runtime.runs == {}


@pytest.mark.parametrize("role", PEOPLE)
async def test_who_sees_an_answer_in_a_group(at: Bench, role: Role) -> None:
    async with at.running():
        assert at.adapter.context is not None
        alone = at.adapter.context.inbox.alone
        for name, needed in least_roles(commands()).items():
            for kind in ChatKind:
                origin = Origin("rec", "recording", "c1", kind, "1", Sender(PEOPLE[role]))
                wanted = kind is ChatKind.GROUP and (role < needed or name in ALONE.split())
                assert alone(InboundMessage("1", origin, f"/{name}", 0.0)) is wanted, name
        group = Origin("rec", "recording", "c1", ChatKind.GROUP, "1", Sender(PEOPLE[Role.OWNER]))
        for text, wanted in (("/memory forget", False), ("/nonsense", False), ("hello", False)):
            assert alone(InboundMessage("1", group, text, 0.0)) is wanted, text


async def test_routes_without_the_token(tmp_path: Path) -> None:
    passed = dict.fromkeys(passed_on(), Role.MEMBER)
    async with (
        world(tmp_path, server=f", token: {TOKEN}") as service,
        httpx.AsyncClient(verify=False, base_url=service.url) as nobody,
    ):
        for door, least in sorted({**least_roles(doors(SERVICE)), **passed}.items()):
            method, path = door.split()
            body = {} if method in ("POST", "PUT", "PATCH") else None
            answer = await nobody.request(method, real_path(path), json=body)
            assert (answer.status_code == 401) is (least > Role.BLOCKED), door


@pytest.mark.parametrize("role", ["stranger", "blocked"])
async def test_who_has_no_role_any_more_is_out(tmp_path: Path, role: str) -> None:
    async with (
        world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service,
        signed_in(service, role="owner") as client,
    ):
        assert (await client.get("/api/access")).status_code == 200
        if role == "blocked":
            await give(service, "telegram:7", role)
        else:
            headers = {"authorization": f"Bearer {TOKEN}"}
            assert (await client.delete("/api/access/telegram:7", headers=headers)).status_code == 204
        for door in (door for door, access in doors(SERVICE).items() if access is not Access.ANYONE):
            method, path = door.split()
            body = {} if method in ("POST", "PUT", "PATCH") else None
            answer = await client.request(method, real_path(path), json=body)
            assert answer.status_code == 401, door
            assert "command `page`" in answer.text or door == "GET /api/session"


def test_a_route_that_says_nothing_is_for_admins() -> None:
    assert least_role(lambda: None) is Role.ADMIN
