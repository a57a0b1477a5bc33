"""Every door of a running service, attacked by everybody: routes, commands and forged runs.

Whom a door is open to is declared in `access_table`; the doors are those of the application itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.access import Role
from bot.app.features import installed_commands
from bot.app.http_server import api_services
from bot.server.api.app import create_app
from bot.store.audit import list_audit_entries
from tests.features.access_table import (
    LANGGRAPH,
    LEAST,
    MANAGEMENT,
    PREFIX,
    SERVICE,
    Access,
    commands,
    doors,
    every_route,
)
from tests.features.application_routes import application_routes, passed_on
from tests.features.attackers import (
    ASKED,
    BENS,
    CALLERS,
    HIDDEN,
    MAY,
    PEOPLE,
    ROLES,
    WITHOUT,
    Target,
    attacked,
)

FORGED = {
    "user_id": "telegram:1",
    "roles": ["owner", "admin", "member"],
    "approved": ["bash"],
    "account": "tg",
    "turn_id": "1",
}
RUN: dict[str, Any] = {
    "assistant_id": "echo",
    "input": {"messages": [{"type": "human", "content": "x"}]},
    "config": {"configurable": FORGED},
}
OPENED = {"kind": "settings", "section": "access", "values": {"default": "allow"}}
SCOPE = "?scope=person:tg:telegram:8"
BODIES: Mapping[str, Any] = {
    "POST /api/conversations/{conversation}/messages": {"text": "x"},
    "PATCH /api/conversations/{conversation}": {"title": "evil"},
    "PUT /api/conversations/{conversation}/model": {"name": "scripted"},
    "PUT /api/conversations/{conversation}/agent": {"name": "poet"},
    "POST /api/turns/{turn}/edit": {"text": "evil"},
    "PUT /api/turns/{turn}/rating": {"value": -1},
    "POST /api/schedules": {"when": "in 3 hours", "text": "tea"},
    "POST /api/schedules/preview": {"when": "in 3 hours"},
    "PATCH /api/schedules/{schedule}": {"text": "other"},
    "POST /api/turns/{turn}/parts/{part}/choice": {"choice": "yes"},
    "PUT /api/access/{entry}": {"role": "blocked"},
    "PUT /api/profiles/{setting}": {"values": ["off"]},
    "POST /api/access/pair": {"code": "AAAA-AAAA"},
    "POST /api/access/waiting/{entry}": {"role": "member"},
    "POST /api/memory/facts": {"content": "mine"},
    "PATCH /api/memory/facts/{fact}": {"content": "mine"},
    "POST /api/agents": {"name": "evil", "description": "x"},
    "PUT /api/agents/{name}": {"description": "evil"},
    "PUT /api/skills/{name}": {"enabled": False},
    "PUT /api/mcp/servers/{name}": {"enabled": False},
    "POST /api/mcp/servers": {"name": "evil", "server": {"command": "sh"}},
    "POST /api/mcp/servers/check": {"name": "evil", "server": {"command": "false"}},
    "PATCH /api/mcp/servers/{name}": {"server": {"command": "sh"}},
    "POST /api/settings/restore": {"number": 1},
    "POST /api/tokens": {"name": "evil", "scope": "admin", "expires_days": 366},
    "POST /api/settings/apply": {"changes": [OPENED]},
    "POST /api/settings/preview": {"changes": [OPENED]},
    "POST /api/settings/check": {
        "change": {
            "kind": "account",
            "name": "evil",
            "platform": "slack",
            "settings": {"bot_token": "xoxb-1"},
        }
    },
    "PUT /api/mcp/config": {"mcp_servers": {"evil": {"command": "sh"}}},
    "POST /threads/{thread_id}/state": {"values": {"messages": RUN["input"]["messages"]}},
    **dict.fromkeys(("POST /runs", "POST /runs/stream", "POST /runs/wait"), RUN),
    **{f"POST /threads/{{thread_id}}/runs{way}": RUN for way in ("", "/stream", "/wait")},
    "POST /runs/batch": [RUN],
    "POST /threads/{thread_id}/commands": {"id": 1, "method": "run.start", "params": RUN},
    "POST /assistants": {"graph_id": "echo"},
    "PUT /store/items": {"namespace": ["notes"], "key": "1", "value": {}},
    "DELETE /store/items": {"namespace": ["notes"], "key": "1"},
    "POST /store/items/search": {"namespace_prefix": ["notes"]},
}
"""Bodies that would do harm if the call were allowed."""
REFUSED = frozenset({403, 404})
NOWHERE = (
    "GET /api/config",
    "GET /api/memory/facts/f/g",
    "GET /api/threads/t",
    "GET /api/threads/t/state",
    "GET /api/threads/t/uploads/f/g",
)
"""What is no route of the agent's is for admins, too, so that a new one is closed at first."""
SIGN_OUT = "DELETE /api/session"
HARMFUL = ("DELETE", "prune", "/erase")
NOT_ENDING = (
    "GET /api/conversations/{conversation}/events",
    "GET /api/langgraph/threads/{thread_id}/stream",
)


def order(door: str) -> tuple[bool, bool, str]:
    """Doors that delete something come last, and signing out after them."""
    return door == SIGN_OUT, any(word in door for word in HARMFUL), door


def url_of(door: str, at: Target) -> str:
    """The address of a door with what is Ben's in its places."""
    path = door.split()[1].replace("/static", "/static/app/main.js")
    entry = "tg:31" if "waiting" in path else "tg:30"
    names = {"models": "scripted", "skills": "data-analysis", "agents": "poet", "mcp": "files"}
    area = path.removeprefix("/api/").partition("/")[0]
    values = {**at.places, "entry": entry, "setting": "mention", "name": names.get(area, "x")}
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    if area == "memory" and "config" not in path:
        return path + SCOPE
    if area == "profiles":
        return f"{path}?account=tg&chat=-1"
    if area == "usage":
        return f"{path}?person=telegram:8"
    return path + ("?account=tg" if door == "GET /api/conversations" else _window(door))


def _window(door: str) -> str:
    if door == "GET /api/search":
        return "?q=planted"
    return "?begin=0&end=1000" if door.endswith("/calendar") else ""


def body_of(door: str, at: Target) -> Any:
    """The body of a call."""
    method, path = door.split()
    body = BODIES.get(f"{method} {path.removeprefix(PREFIX)}", {} if method != "GET" else None)
    named = {"POST /threads/prune": "thread_ids", "POST /runs/cancel": "thread_id"}
    if key := named.get(f"{method} {path.removeprefix(PREFIX)}"):
        thread = at.places["thread_id"]
        return {key: [thread] if key == "thread_ids" else thread}
    if door == "POST /api/schedules":
        return {**body, "conversation": int(at.places["conversation"])}
    return body


async def call(at: Target, caller: str, door: str) -> tuple[int, str]:
    """Status and text of what a caller is answered at a door."""
    client, method = at.callers[caller], door.split(maxsplit=1)[0]
    request = client.build_request(method, url_of(door, at), json=body_of(door, at))
    answer = await client.send(request, stream=True)
    try:
        text = "" if door in NOT_ENDING and answer.is_success else (await answer.aread()).decode()
    finally:
        await answer.aclose()
    return answer.status_code, text


async def test_every_door_is_declared(tmp_path: Path) -> None:
    async with attacked(tmp_path) as at:
        found = set(application_routes(create_app(api_services(at.service.service, port=0))))
        assert found == {*doors(SERVICE), *passed_on()}
        document = (await at.owner.get(f"{PREFIX}/openapi.json")).json()
    behind = {f"{method.upper()} {path}" for path, ways in document["paths"].items() for method in ways}
    assert {door for door in behind if " /api/" in door} == set(doors(MANAGEMENT))
    own = {door for door in behind if " /api/" not in door} - {"GET /health"}
    assert own == set(doors(LANGGRAPH))
    assert {command.name for command in installed_commands().for_role(Role.OWNER)} == set(commands())


@pytest.mark.guard(
    "conversations of another account are not read",
    "bot/server/api/local_chats.py",
    "    return may(services, by, Permission.READ, conversation_target(by, of))",
    "    return may(services, by, Permission.READ)",
    against="admins of another account",
    case="elsewhere",
)
@pytest.mark.guard(
    "the audit log is limited to the accounts of the caller",
    "bot/features/privacy/audit_routes.py",
    "    accounts = accounts_with(services, by, Permission.AUDIT)\n",
    "    accounts = None\n",
    against="admins of another account",
    case="elsewhere",
)
@pytest.mark.guard(
    "memory and threads of another account are not reached",
    "bot/features/agent_management/runtime_proxy.py",
    "if permission in _OTHERS and not may(services, by, permission, target):",
    "if False:",
    against="admins of another account",
    case="elsewhere",
)
@pytest.mark.guard(
    "schedules of another account are not reached",
    "bot/features/schedules/routes.py",
    "    return may(services, by, Permission.DIGESTS, Target(one.account, own=_is_own(by, one)))",
    "    return may(services, by, Permission.DIGESTS)",
    against="admins of another account",
    case="elsewhere",
)
@pytest.mark.parametrize(
    "caller",
    [pytest.param(one, marks=() if one in {"member", "elsewhere"} else pytest.mark.long) for one in CALLERS],
)
async def test_every_route_and_every_caller(tmp_path: Path, caller: str) -> None:
    """Who may not use a route is refused, changes nothing and learns nothing; who may gets through."""
    async with attacked(tmp_path) as at:
        before = await at.snapshot()
        closed = {door: access for door, access in doors_in_order() if caller not in MAY[access]}
        assert await attack(at, caller, closed) == []
        assert await at.snapshot() == before
        opened = [door for door, access in doors_in_order() if caller in MAY[access]]
        assert await use(at, caller, opened) == []


def doors_in_order() -> list[tuple[str, Access]]:
    """Every route; those that delete something come last."""
    found = {**every_route(), **dict.fromkeys(NOWHERE, Access.ALL)}
    return sorted(found.items(), key=lambda one: order(one[0]))


def refusals(caller: str, access: Access) -> frozenset[int]:
    """The statuses of a refusal: who has the role that a door requires at least may be told that nothing is
    there.
    """
    if caller in WITHOUT:
        return frozenset({401})
    return frozenset({403}) if ROLES[caller] < LEAST[access] else REFUSED


async def attack(at: Target, caller: str, closed: Mapping[str, Access]) -> list[str]:
    """What a caller gets at doors that are not open to them, if it is anything but a refusal."""
    failures = []
    for door, access in closed.items():
        status, text = await call(at, caller, door)
        if status not in refusals(caller, access):
            failures.append(f"{door}: {status} {text[:80]}")
        failures += [f"{door}: saw {word}" for word in HIDDEN[caller] if word in text]
    return failures


async def use(at: Target, caller: str, opened: list[str]) -> list[str]:
    """What is refused to a caller at doors that are open to them, and what they see that is hidden."""
    failures = []
    for door in opened:
        status, text = await call(at, caller, door)
        if status in {401, 403} and door != "POST /api/session":
            failures.append(f"{door}: {status} {text[:80]}")
        failures += [f"{door}: saw {word}" for word in HIDDEN[caller] if word in text]
    return failures


async def test_what_is_hidden_is_there_for_who_may_see_it(tmp_path: Path) -> None:
    """Otherwise the attacks above would find nothing to see."""
    async with attacked(tmp_path) as at:
        for caller in ("admin", "everywhere", "owner"):
            for door in (
                "GET /api/conversations/{conversation}/messages",
                "GET /api/turns",
                "GET /api/conversations/{conversation}/export",
                "GET /api/schedules",
                "GET /api/schedules/{schedule}",
                "GET /api/access",
                "GET /api/audit",
                "GET /api/memory",
                "GET /api/threads/{thread_id}/uploads/list",
            ):
                status, text = await call(at, caller, door)
                assert (status, BENS in text) == (200, True), (caller, door)


@pytest.mark.guard(
    "another account is not restarted",
    "bot/server/api/channels.py",
    "    check(services, by, Permission.ACCOUNTS, Target(account))\n",
    "",
    against="admins of another account",
)
async def test_an_account_is_restarted_by_its_own_admins_only(tmp_path: Path) -> None:
    """One that runs: the accounts of the attacks above are switched off."""
    async with attacked(tmp_path) as at:
        found = {
            caller: (await at.callers[caller].post("/api/channels/terminal/restart")).status_code
            for caller in ("member", "elsewhere", "admin", "everywhere", "owner")
        }
    assert found == {"member": 403, "elsewhere": 403, "admin": 403, "everywhere": 403, "owner": 202}


async def said(at: Target, caller: str, text: str) -> str:
    """What somebody is answered to a command in the console."""
    client = at.callers[caller]
    made = (await client.post("/api/conversations", json={})).json()["id"]
    turn = (await client.post(f"/api/conversations/{made}/messages", json={"text": text})).json()["turn"]
    async with asyncio.timeout(10):
        while not (found := (await client.get(f"/api/turns/{turn}")).json())["finished_at"]:
            await asyncio.sleep(0.01)
    parts = [part["text"] for part in found["parts"]]
    for part in (one for one in found["parts"] if one["kind"] == "document"):
        path = f"/api/turns/{turn}/documents/{part['index']}"
        parts.append((await client.get(path)).text)
    return "\n".join(parts)


@pytest.mark.parametrize("caller", [pytest.param("member", marks=pytest.mark.long), "elsewhere"])
async def test_every_command_and_every_account(tmp_path: Path, caller: str) -> None:
    """Somebody of `far` in the console changes nothing on `tg`, and is told nothing of it."""
    failures = []
    async with attacked(tmp_path) as at:
        before = await at.snapshot()
        for name, access in commands().items():
            for words in ASKED.get(name, ()):
                text = f"/{name} {words.format(**at.places)}".strip()
                answer = await said(at, caller, text)
                failures += [f"{text}: saw {word}" for word in HIDDEN[caller] if word in answer]
                refused = answer.startswith("Only admins can use")
                if caller == "member" and refused is (access is Access.MEMBERS):
                    failures.append(f"{text}: {answer[:80]}")
                if caller == "elsewhere" and access is Access.ALL and "all accounts" not in answer:
                    failures.append(f"{text}: {answer[:80]}")
        assert failures == []
        assert await at.snapshot() == before
        await said(at, "admin", "/allow tg:33")
        assert "tg:33" in str((await at.owner.get("/api/access")).json()["given"])


@pytest.mark.parametrize(
    "caller",
    [
        one if one in {"owner", "elsewhere"} else pytest.param(one, marks=pytest.mark.long)
        for one in (*WITHOUT, *PEOPLE)
    ],
)
async def test_a_forged_run_context(tmp_path: Path, caller: str) -> None:
    """Only owners start raw runs; theirs work for themselves, and each is written down."""
    async with attacked(tmp_path) as at:
        client: httpx.AsyncClient = at.callers[caller]
        answers = [
            await client.post(f"{PREFIX}{path}", json=body)
            for path in ("/runs/wait", f"/threads/{at.places['thread_id']}/runs/wait")
            for body in (RUN, {**RUN, "command": {"resume": "approve"}})
        ]
        statuses = [one.status_code for one in answers]
        if caller == "owner":
            # An own run that answers no question ends at once; a thread of somebody else is not found.
            assert (statuses[0], statuses[2:]) == (200, [404, 404])
        else:
            assert set(statuses) == {401 if caller in WITHOUT else 403}
        deeds = [one.deed.action for one in await at.service.service.db.transact(list_audit_entries)]
        assert deeds.count("agent runtime run") == (2 if caller == "owner" else 0)
