"""Who may do what at which door, written down by hand; a door without a line here fails.

Commands are tried in the chat by somebody of each role, routes at a service with a token: without it, and by
somebody of each role who came by a link.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from bot.access import Role
from bot.app.http_server import api_services
from bot.commands.core_commands import build_registry
from bot.domain import ChatKind, InboundMessage, Origin, Sender
from bot.server.api.app import create_app
from bot.server.api.auth import least_role
from bot.store.audit import Actor
from bot.store.people import RoleGrant, grant_role
from bot.testing.runtime import answer_with
from tests.component.dispatch.bench import Bench, bench
from tests.platforms.web.people import CHATS, give, signed_in
from tests.platforms.web.serving import world

MEMBERS = (
    "help new status stop retry threads resume title models model agent plan busy memory usage digest record"
    " data skills approve reject approved whoami page"
)
ADMINS = "allow revoke role pair budget audit accounts restart reload announce skill mcp"
COMMANDS = {**dict.fromkeys(MEMBERS.split(), Role.MEMBER), **dict.fromkeys(ADMINS.split(), Role.ADMIN)}
ALONE = "usage data whoami page memory role pair budget audit accounts"
"""Answered in a group to who asked alone, where the platform can do that."""
PEOPLE = {Role.BLOCKED: "31", Role.STRANGER: "30", Role.MEMBER: "7", Role.ADMIN: "9", Role.OWNER: "1"}

ROUTES = {
    Role.BLOCKED: """
    GET /
    GET /favicon.ico
    GET /static
    GET /health
    GET /health/ready
    POST /api/session
    DELETE /api/session
    POST /webhooks/{account}
""",
    Role.MEMBER: """
    GET /api/session
    GET /api/openapi.json
    GET /api/commands
    GET /api/conversations
    POST /api/conversations
    GET /api/conversations/{conversation}
    GET /api/conversations/{conversation}/messages
    POST /api/conversations/{conversation}/messages
    GET /api/conversations/{conversation}/usage
    GET /api/conversations/{conversation}/events
    POST /api/conversations/{conversation}/stop
    GET /api/schedules
    POST /api/schedules
    POST /api/schedules/preview
    GET /api/schedules/calendar
    GET /api/schedules/{schedule}
    PATCH /api/schedules/{schedule}
    DELETE /api/schedules/{schedule}
    POST /api/schedules/{schedule}/pause
    POST /api/schedules/{schedule}/resume
    POST /api/schedules/{schedule}/trigger
    GET /api/schedules/{schedule}/runs
    GET /api/people/{person}/data
    DELETE /api/people/{person}/data
    GET /api/people/{person}/erasure
    GET /api/turns
    GET /api/turns/{turn}
    GET /api/turns/{turn}/documents/{part}
    POST /api/turns/{turn}/parts/{part}/choice
    POST /api/turns/{turn}/retry
    GET /api/usage
    GET /api/usage/days
""",
    Role.ADMIN: """
    GET /metrics
    GET /api/access
    PUT /api/access/{entry}
    DELETE /api/access/{entry}
    POST /api/access/pair
    POST /api/access/waiting/{entry}
    GET /api/audit
    GET /api/channels
    POST /api/channels/{account}/restart
""",
    Role.OWNER: """
    POST /api/session/links
""",
}
MANAGEMENT = {
    Role.MEMBER: """
    GET /api/models
    GET /api/skills
    GET /api/agents
    GET /api/memory
    DELETE /api/memory
    POST /api/memory/reload
    GET /api/memory/status
    POST /api/memory/facts
    PATCH /api/memory/facts/{fact}
    DELETE /api/memory/facts/{fact}
    POST /api/threads/{thread_id}/uploads
    GET /api/threads/{thread_id}/uploads/list
    DELETE /api/threads/{thread_id}/uploads/{filename}
    GET /api/threads/{thread_id}/artifacts/{path}
    POST /api/threads/{thread_id}/suggestions
""",
    Role.ADMIN: """
    GET /api/models/{name}
    POST /api/models/{name}/probe
    GET /api/skills/{name}
    PUT /api/skills/{name}
    POST /api/agents
    GET /api/agents/{name}
    PUT /api/agents/{name}
    DELETE /api/agents/{name}
    GET /api/mcp/config
    GET /api/mcp/servers
    PUT /api/mcp/servers/{name}
    GET /api/config/problems
    GET /api/memory/config
    POST /api/memory/erase
    DELETE /api/threads/{thread_id}
    POST /api/threads/{thread_id}/erase
""",
    Role.OWNER: """
    PUT /api/mcp/config
    POST /api/skills/install
""",
}
"""What is passed on to the agent's management routes, call by call."""
LANGGRAPH = {
    Role.OWNER: """
    GET /ok
    GET /info
    POST /assistants
    POST /assistants/search
    POST /assistants/count
    GET /assistants/{assistant_id}
    PATCH /assistants/{assistant_id}
    DELETE /assistants/{assistant_id}
    GET /assistants/{assistant_id}/graph
    GET /assistants/{assistant_id}/schemas
    POST /threads
    POST /threads/search
    POST /threads/count
    POST /threads/prune
    GET /threads/{thread_id}
    PATCH /threads/{thread_id}
    DELETE /threads/{thread_id}
    GET /threads/{thread_id}/state
    POST /threads/{thread_id}/state
    GET /threads/{thread_id}/state/{checkpoint_id}
    POST /threads/{thread_id}/state/checkpoint
    GET /threads/{thread_id}/history
    POST /threads/{thread_id}/history
    POST /threads/{thread_id}/copy
    POST /threads/{thread_id}/erase
    GET /threads/{thread_id}/runs
    POST /threads/{thread_id}/runs
    POST /threads/{thread_id}/runs/stream
    POST /threads/{thread_id}/runs/wait
    POST /threads/{thread_id}/runs/crons
    GET /threads/{thread_id}/runs/{run_id}
    DELETE /threads/{thread_id}/runs/{run_id}
    POST /threads/{thread_id}/runs/{run_id}/cancel
    GET /threads/{thread_id}/runs/{run_id}/join
    GET /threads/{thread_id}/runs/{run_id}/stream
    POST /runs
    POST /runs/stream
    POST /runs/wait
    POST /runs/batch
    POST /runs/cancel
    POST /runs/crons
    GET /runs/crons/{rest}
    POST /runs/crons/{rest}
    PATCH /runs/crons/{rest}
    DELETE /runs/crons/{rest}
    PUT /store/items
    GET /store/items
    DELETE /store/items
    POST /store/items/search
    POST /store/namespaces
    POST /storage/compact
"""
}
"""What is passed on to the agent's LangGraph API, below /api/langgraph."""
NOWHERE = (
    "GET /api/config",
    "GET /api/memory/facts/f/g",
    "GET /api/threads/t",
    "GET /api/threads/t/state",
    "GET /api/threads/t/uploads/f/g",
)
"""What is no route of the agent's is for admins, too, so that a new one is closed at first."""
PASSED_ON = ("/api/langgraph/{path:path}", "/api/{area}", "/api/{area}/{path:path}")
METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
REAL = {"/static": "/static/js/main.js", "{path:path}": "threads", "{area}": "models", "{": "", "}": ""}
TOKEN = "a-token-of-the-service"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        made.role, made.default = None, "pair"
        made.runtime.script = answer_with("hello")
        for role, by in ((Role.OWNER, "owner"), (Role.BLOCKED, "blocked")):
            one = RoleGrant(f"recording:{PEOPLE[role]}", by, "", "", 0.0)
            await made.db.run(grant_role, one, Actor(by, "web:owner", "", "web", ""), 0.0)
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
    assert {command.name for command in build_registry().for_role(Role.OWNER)} == set(COMMANDS)


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
                assert (said == f"Only admins can use `/{name}`.") is (role < needed), (name, said)
        assert at.runtime.runs == {}


@pytest.mark.parametrize("role", PEOPLE)
async def test_who_sees_an_answer_in_a_group(at: Bench, role: Role) -> None:
    async with at.running():
        assert at.adapter.context is not None
        alone = at.adapter.context.inbox.alone
        for name, needed in COMMANDS.items():
            for kind in ChatKind:
                origin = Origin("rec", "recording", "c1", kind, "1", Sender(PEOPLE[role]))
                wanted = kind is ChatKind.GROUP and (role < needed or name in ALONE.split())
                assert alone(InboundMessage("1", origin, f"/{name}", 0.0)) is wanted, name
        group = Origin("rec", "recording", "c1", ChatKind.GROUP, "1", Sender(PEOPLE[Role.OWNER]))
        for text, wanted in (("/memory forget", False), ("/nonsense", False), ("hello", False)):
            assert alone(InboundMessage("1", group, text, 0.0)) is wanted, text


def doors(app: FastAPI) -> Iterator[str]:
    """Every route as "METHOD path"."""
    for route in app.routes:
        included = getattr(route, "effective_route_contexts", None)
        for one in included() if included else [route]:
            for method in (getattr(one, "methods", None) or {"GET"}) - {"HEAD"}:
                yield f"{method} {one.path}"


def lines(tables: Mapping[Role, str]) -> dict[str, Role]:
    """The least role of every line."""
    return {
        line.strip(): role for role, table in tables.items() for line in table.split("\n") if line.strip()
    }


def routes() -> dict[str, Role]:
    """The least role of every route but those that pass calls on."""
    return lines(ROUTES)


def real(path: str) -> str:
    """A path with something in its places."""
    for part, value in REAL.items():
        path = path.replace(part, value)
    return path


async def test_routes_without_the_token(tmp_path: Path) -> None:
    passed = {f"{method} {path}" for method in METHODS for path in PASSED_ON}
    async with world(tmp_path, server=f", token: {TOKEN}") as service:
        found = set(doors(create_app(api_services(service.service, port=0))))
        assert found == {*routes(), *passed}
        async with httpx.AsyncClient(base_url=service.url) as nobody:
            for door in sorted(found):
                method, path = door.split()
                body = {} if method in ("POST", "PUT", "PATCH") else None
                answer = await nobody.request(method, real(path), json=body)
                is_open = routes().get(door) is Role.BLOCKED
                assert (answer.status_code == 401) is not is_open, door


async def test_every_call_that_is_passed_on_has_a_line(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        document = (await service.http.get("/api/langgraph/openapi.json")).json()
    found = {f"{method.upper()} {path}" for path, ways in document["paths"].items() for method in ways}
    management = {door for door in found if " /api/" in door}
    assert management == set(lines(MANAGEMENT))
    assert found - management == {*lines(LANGGRAPH), "GET /health"}


@pytest.mark.parametrize("role", [Role.MEMBER, Role.ADMIN, Role.OWNER])
async def test_routes_by_role(tmp_path: Path, role: Role) -> None:
    langgraph = {door.replace(" ", " /api/langgraph"): least for door, least in lines(LANGGRAPH).items()}
    expected = {**routes(), **lines(MANAGEMENT), **langgraph, **dict.fromkeys(NOWHERE, Role.ADMIN)}
    async with world(tmp_path, server=f", token: {TOKEN}", extra=CHATS) as service:
        for door, least in sorted(expected.items()):
            if door == "GET /api/conversations/{conversation}/events" and role > Role.MEMBER:
                continue  # it does not end
            method, path = door.split()
            body = {} if method in ("POST", "PUT", "PATCH") else None
            async with signed_in(service, role=role.name.lower()) as client:
                answer = await client.request(method, real(path), json=body)
            assert answer.status_code != 401, door
            refused = role < least or door == "POST /api/session/links"  # for who has the token
            assert (answer.status_code == 403) is refused, (door, answer.status_code, answer.text)


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
        for door in (door for door, least in routes().items() if least > Role.BLOCKED):
            method, path = door.split()
            body = {} if method in ("POST", "PUT", "PATCH") else None
            answer = await client.request(method, real(path), json=body)
            assert answer.status_code == 401, door
            assert "command page" in answer.text or door == "GET /api/session"


def test_a_route_that_says_nothing_is_for_admins() -> None:
    assert least_role(lambda: None) is Role.ADMIN
