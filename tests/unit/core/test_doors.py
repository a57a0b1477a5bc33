"""Who may do what at which door, written down by hand; a door without a line here fails.

Commands are tried in the chat by somebody of each role, routes at a service with a token, without it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from bot.access import Role
from bot.api.app import create_app
from bot.api.compose import api_services
from bot.commands.builtin import builtin
from bot.store.audit import Actor
from bot.store.people import Given
from bot.testing.runtime import saying
from tests.platforms.web.serving import world
from tests.unit.dispatch.bench import Bench, bench

MEMBERS = (
    "help new status stop retry threads resume title models model agent plan busy memory usage skills approve"
    " reject whoami"
)
ADMINS = "allow revoke role pair audit accounts restart reload announce skill mcp"
COMMANDS = {**dict.fromkeys(MEMBERS.split(), Role.MEMBER), **dict.fromkeys(ADMINS.split(), Role.ADMIN)}
PEOPLE = {Role.BLOCKED: "31", Role.STRANGER: "30", Role.MEMBER: "7", Role.ADMIN: "9", Role.OWNER: "1"}

ANYBODY = """
    GET /
    GET /favicon.ico
    GET /static
    GET /health
    POST /api/session
    DELETE /api/session
    POST /webhooks/{account}
"""
WITH_TOKEN = """
    GET /health/ready
    GET /metrics
    GET /api/openapi.json
    GET /api/access
    PUT /api/access/{entry}
    DELETE /api/access/{entry}
    GET /api/audit
    GET /api/channels
    POST /api/channels/{account}/restart
    GET /api/commands
    GET /api/conversations
    POST /api/conversations
    GET /api/conversations/{conversation}
    GET /api/conversations/{conversation}/messages
    POST /api/conversations/{conversation}/messages
    GET /api/conversations/{conversation}/usage
    GET /api/conversations/{conversation}/events
    POST /api/conversations/{conversation}/stop
    GET /api/turns
    GET /api/turns/{turn}
    POST /api/turns/{turn}/retry
    GET /api/usage
"""
PASSED_ON = ("/api/langgraph/{path:path}", "/api/{area}", "/api/{area}/{path:path}")
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
REAL = {"/static": "/static/js/main.js", "{path:path}": "threads", "{area}": "models", "{": "", "}": ""}
TOKEN = "a-token-of-the-service"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        made.role, made.default = None, "pair"
        made.runtime.script = saying("hello")
        for role, by in ((Role.OWNER, "owner"), (Role.BLOCKED, "blocked")):
            one = Given(f"recording:{PEOPLE[role]}", by, "", "", 0.0)
            await made.store.give(one, Actor(by, "web:owner", "", "web", ""), 0.0)
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


def test_every_command_has_a_line() -> None:
    assert {command.name for command in builtin().for_role(Role.OWNER)} == set(COMMANDS)


@pytest.mark.parametrize("role", PEOPLE)
async def test_commands_by_role(at: Bench, role: Role) -> None:
    async with at.running():
        for name, needed in COMMANDS.items():
            said = await hears(at, PEOPLE[role], f"/{name}", answered=role >= Role.MEMBER)
            if role is Role.BLOCKED:
                assert said == "", name
            elif role is Role.STRANGER:
                assert "/pair" in said or said == "", name
            else:
                assert said, name
                assert (said == f"`/{name}` is for admins.") is (role < needed), (name, said)
        assert at.runtime.runs == {}


def doors(app: FastAPI) -> Iterator[str]:
    """Every route as "METHOD path"."""
    for route in app.routes:
        included = getattr(route, "effective_route_contexts", None)
        for one in included() if included else [route]:
            for method in (getattr(one, "methods", None) or {"GET"}) - {"HEAD"}:
                yield f"{method} {one.path}"


def listed(table: str) -> set[str]:
    return {line.strip() for line in table.splitlines() if line.strip()}


async def test_routes_without_the_token(tmp_path: Path) -> None:
    passed = {f"{method} {path}" for method in METHODS for path in PASSED_ON}
    async with world(tmp_path, server=f", token: {TOKEN}") as service:
        found = set(doors(create_app(api_services(service.service, port=0))))
        assert found == listed(ANYBODY) | listed(WITH_TOKEN) | passed
        async with httpx.AsyncClient(base_url=service.url) as nobody:
            for door in sorted(found):
                method, path = door.split()
                for part, real in REAL.items():
                    path = path.replace(part, real)
                body = {} if method in ("POST", "PUT", "PATCH") else None
                answer = await nobody.request(method, path, json=body)
                assert (answer.status_code == 401) is (door not in listed(ANYBODY)), door
