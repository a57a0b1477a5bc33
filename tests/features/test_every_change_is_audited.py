"""Every route that changes something leaves an audit event; a changing route without a line here fails."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.skills import library
from agent.skills.install import InstalledSkill
from agent.skills.sources import SkillOrigin
from bot.domain import Sender
from tests.component.server.test_retry import answered
from tests.features.access_table import LANGGRAPH, MANAGEMENT, SERVICE, doors
from tests.harness.credentials import SERVICE_TOKEN
from tests.platforms.web.people import CHATS, knock, signed_in
from tests.platforms.web.serving import World, world

pytestmark = pytest.mark.may_block
CHANGING = {"POST", "PUT", "PATCH", "DELETE"}
Step = tuple[str, str, Mapping[str, Any], str]
"""A route, the path to call, arguments of the call, and the action of the event."""

PLACE = {"account": "tg", "chat": "-1"}
STEPS: tuple[Step, ...] = (
    ("PUT /api/turns/{turn}/rating", "/api/turns/{turn}/rating", {"json": {"value": 1}}, "rating"),
    (
        "PATCH /api/conversations/{conversation}",
        "/api/conversations/{conversation}",
        {"json": {"title": "Tea"}},
        "command",
    ),
    (
        "PUT /api/conversations/{conversation}/model",
        "/api/conversations/{conversation}/model",
        {"json": {"name": "default"}},
        "command",
    ),
    (
        "PUT /api/conversations/{conversation}/agent",
        "/api/conversations/{conversation}/agent",
        {"json": {"name": ""}},
        "command",
    ),
    ("POST /api/turns/{turn}/retry", "/api/turns/{turn}/retry", {}, "retry"),
    ("PUT /api/access/{entry}", "/api/access/telegram:5", {"json": {"role": "member"}}, "give"),
    ("DELETE /api/access/{entry}", "/api/access/telegram:5", {}, "take"),
    ("POST /api/access/pair", "/api/access/pair", {"json": {"code": "AAAA-AAAA"}}, "give"),
    ("POST /api/access/waiting/{entry}", "/api/access/waiting/tg:31", {"json": {"role": "member"}}, "give"),
    ("DELETE /api/access/waiting/{entry}", "/api/access/waiting/tg:32", {}, "dismiss"),
    ("POST /api/channels/{account}/restart", "/api/channels/terminal/restart", {}, "restart"),
    (
        "PUT /api/profiles/{setting}",
        "/api/profiles/mention",
        {"params": PLACE, "json": {"values": ["off"]}},
        "chat settings",
    ),
    ("DELETE /api/profiles/{setting}", "/api/profiles/mention", {"params": PLACE}, "chat settings"),
    ("POST /api/profiles/undo", "/api/profiles/undo", {"params": PLACE}, "chat settings"),
    ("PUT /api/session/language", "/api/session/language", {"json": {"language": "zh"}}, "command"),
    ("POST /api/session/links", "/api/session/links", {}, "page link"),
    (
        "POST /api/tokens",
        "/api/tokens",
        {"json": {"name": "ci", "scope": "turns", "expires_days": 1}},
        "API token created",
    ),
    ("DELETE /api/tokens/{name}", "/api/tokens/ci", {}, "API token revoked"),
    ("POST /api/schedules", "/api/schedules", {"json": "schedule"}, "schedule"),
    ("PATCH /api/schedules/{schedule}", "/api/schedules/1", {"json": {"text": "b"}}, "schedule"),
    ("POST /api/schedules/{schedule}/pause", "/api/schedules/1/pause", {}, "schedule"),
    ("POST /api/schedules/{schedule}/resume", "/api/schedules/1/resume", {}, "schedule"),
    ("POST /api/schedules/{schedule}/trigger", "/api/schedules/1/trigger", {}, "schedule triggered"),
    ("DELETE /api/schedules/{schedule}", "/api/schedules/1", {}, "schedule deleted"),
    ("POST /api/conversations/{conversation}/stop", "/api/conversations/{conversation}/stop", {}, "command"),
    ("POST /api/memory/facts", "/api/memory/facts", {"json": {"content": "a"}}, "memory changed"),
    (
        "PATCH /api/memory/facts/{fact}",
        "/api/memory/facts/{fact}",
        {"json": {"content": "b"}},
        "memory changed",
    ),
    ("DELETE /api/memory/facts/{fact}", "/api/memory/facts/{fact}", {}, "memory changed"),
    ("DELETE /api/memory", "/api/memory", {}, "memory changed"),
    ("POST /api/agents", "/api/agents", {"json": {"name": "Poet", "description": "x"}}, "agents changed"),
    ("PUT /api/agents/{name}", "/api/agents/poet", {"json": {"description": "y"}}, "agents changed"),
    ("DELETE /api/agents/{name}", "/api/agents/poet", {}, "agents changed"),
    ("PUT /api/mcp/config", "/api/mcp/config", {"json": "server"}, "mcp changed"),
    ("PUT /api/mcp/servers/{name}", "/api/mcp/servers/one", {"json": {"enabled": False}}, "mcp changed"),
    ("POST /api/mcp/servers", "/api/mcp/servers", {"json": "second"}, "mcp changed"),
    ("PATCH /api/mcp/servers/{name}", "/api/mcp/servers/two", {"json": {"server": {}}}, "mcp changed"),
    ("DELETE /api/mcp/servers/{name}", "/api/mcp/servers/two", {}, "mcp changed"),
    ("POST /api/mcp/sign-ins/erase", "/api/mcp/sign-ins/erase", {"json": {"person": "web:x"}}, "mcp changed"),
    ("PUT /api/skills/{name}", "/api/skills/data-analysis", {"json": {"enabled": False}}, "skills changed"),
    ("POST /api/skills/install", "/api/skills/install", {"files": "skill"}, "skills changed"),
    ("DELETE /api/skills/{name}", "/api/skills/rhyme", {}, "skills changed"),
    ("POST /api/skills/{name}/restore", "/api/skills/rhyme/restore", {"json": {}}, "skills changed"),
    (
        "POST /api/threads/{thread_id}/uploads",
        "/api/threads/{thread}/uploads",
        {"files": {"files": ("a.txt", b"a", "text/plain")}},
        "threads changed",
    ),
    (
        "DELETE /api/threads/{thread_id}/uploads/{filename}",
        "/api/threads/{thread}/uploads/a.txt",
        {},
        "threads changed",
    ),
    ("DELETE /api/threads/{thread_id}", "/api/threads/{thread}", {}, "threads changed"),
    (
        "DELETE /api/conversations/{conversation}",
        "/api/conversations/{conversation}",
        {},
        "conversation deleted",
    ),
    ("DELETE /api/people/{person}/data", "/api/people/telegram:5/data", {}, "data erased"),
)
ELSEWHERE = {
    "POST /api/skills/{name}/upgrade": "test_an_upgrade_of_a_skill_is_recorded",
    "POST /api/session": "test_who_signs_in_and_out_is_recorded",
    "DELETE /api/session": "test_who_signs_in_and_out_is_recorded",
    "POST /api/events/sources/{source}/replay": "tests/bot/features/events/test_source_commands.py",
    "POST /api/events/sources/{source}/test": "tests/bot/features/events/test_receiver.py",
    "POST /api/settings/apply": "tests/bot/features/settings/test_routes.py",
    "POST /api/settings/restore": "tests/bot/features/settings/test_routes.py",
    "POST /api/turns/{turn}/edit": "tests/component/server/test_turn_changes.py",
    "POST /api/turns/{turn}/parts/{part}/choice": "tests/component/server/test_button_clicks.py",
}
"""Changes that other tests show to be recorded."""
NO_CHANGE = {
    "POST /api/threads/{thread_id}/uploads/{filename}/transcript": "reads what was uploaded",
    "POST /api/skills/check": "looks through a skill without installing it",
    "POST /webhooks/{account}": "what people write",
    "POST /events/{source}": "what another system reports, kept in the ledger",
    "PUT /events/{source}": "what another system reports, kept in the ledger",
    "POST /api/conversations": "a chat of one's own",
    "POST /api/conversations/{conversation}/messages": "what people write",
    "POST /api/schedules/preview": "shows what would happen",
    "POST /api/settings/preview": "shows what would happen",
    "POST /api/settings/check": "tries what would happen",
    "POST /api/mcp/servers/check": "tries what would happen; recorded as a check",
    "POST /api/memory/reload": "reads the file again",
    "POST /api/models/{name}/probe": "sends a test prompt",
    "POST /api/mcp/sign-ins/complete": "recorded by the page of the sign-in, the only one with its secret",
    "POST /api/threads/{thread_id}/suggestions": "suggests messages",
}


def test_every_changing_route_has_a_line() -> None:
    known = {*doors(SERVICE), *doors(MANAGEMENT)}
    changing = {door for door in known if door.split()[0] in CHANGING}
    assert changing == {*(step[0] for step in STEPS), *ELSEWHERE, *NO_CHANGE}


def archive() -> bytes:
    """A skill to install."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as packed:
        packed.writestr("rhyme/SKILL.md", "---\nname: rhyme\ndescription: Rhymes.\n---\nRhyme.\n")
    return data.getvalue()


async def actions(service: World) -> list[str]:
    entries = (await service.http.get("/api/audit", params={"limit": 200})).json()["entries"]
    return [one["action"] for one in entries]


async def prepare(service: World) -> dict[str, Any]:
    """What the steps refer to: ids for their paths, and bodies that need one."""
    turn = await answered(service.http, "hello")
    shown = (await service.http.get(f"/api/conversations/{turn['conversation']}")).json()
    await service.http.post("/api/memory/facts", json={"content": "first"})
    for person, code in (("30", "AAAA-AAAA"), ("31", "BBBB-BBBB"), ("32", "CCCC-CCCC")):
        await knock(service, "tg", Sender(person), code)
    conversation = turn["conversation"]
    return {
        "turn": turn["id"],
        "conversation": conversation,
        "thread": shown["thread_id"],
        "fact": (await service.http.get("/api/memory")).json()["facts"][0]["id"],
        "schedule": {"conversation": conversation, "when": "daily 9:00", "text": "a"},
        "server": {"mcp_servers": {"one": {"command": "true"}}},
        "second": {"name": "two", "server": {"command": "true"}},
        "skill": {"file": ("rhyme.skill", archive(), "application/zip")},
    }


async def call(service: World, step: Step, known: Mapping[str, Any]) -> httpx.Response:
    door, path, given, _ = step
    filled = {key: known[value] if isinstance(value, str) else value for key, value in given.items()}
    return await service.http.request(door.split()[0], path.format_map(known), **filled)


async def test_every_change_leaves_an_event(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service:
        known = await prepare(service)
        for step in STEPS:
            before = await actions(service)
            answer = await call(service, step, known)
            assert answer.is_success, (step[0], answer.status_code, answer.text)
            added: list[str] = []
            async with asyncio.timeout(20):
                # A command is recorded when it is carried out.
                while step[3] not in added:
                    after = await actions(service)
                    added = after[: len(after) - len(before)]


async def test_an_upgrade_of_a_skill_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    upgraded = InstalledSkill("rhyme", "Rhymes.", origin=SkillOrigin("git", commit="0" * 40))
    monkeypatch.setattr(library, "update_skill", lambda *_, **__: upgraded)
    async with world(tmp_path) as service:
        assert (await service.http.post("/api/skills/check", files={"file": ("a.zip", archive())})).is_success
        assert "skills changed" not in await actions(service)
        answer = await service.http.post("/api/skills/rhyme/upgrade", json={})
        assert answer.json()["message"] == 'The skill "rhyme" is updated to commit 000000000000.'
        assert (await actions(service))[0] == "skills changed"


async def test_a_check_of_a_server_is_no_change(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        body = {"name": "two", "server": {"command": "true"}}
        answer = await service.http.post("/api/mcp/servers/check", json=body)
        assert answer.is_success, answer.text
        assert (await actions(service))[0] == "mcp checked"
        assert "mcp changed" not in await actions(service)


async def test_a_raw_call_is_recorded_as_use_of_the_runtime(tmp_path: Path) -> None:
    async with world(tmp_path) as service:
        for door in ("POST /threads", "POST /threads/search", "POST /runs/crons"):
            method, path = door.split()
            assert door in doors(LANGGRAPH)
            await service.http.request(method, f"/api/langgraph{path}", json={})
            assert (await actions(service))[0] == "read", door


async def test_who_signs_in_and_out_is_recorded(tmp_path: Path) -> None:
    async with world(tmp_path, extra=CHATS) as service, signed_in(service) as ann:
        assert (await actions(service))[0] == "signed in"
        assert (await ann.delete("/api/session")).status_code == 204
        assert (await actions(service))[0] == "signed out"
        before = await actions(service)
        async with httpx.AsyncClient(verify=False, base_url=service.url) as owner:
            answer = await owner.post("/api/session", json={"token": SERVICE_TOKEN})
            assert answer.status_code == 204, answer.text
            assert await actions(service) == ["signed in", *before]
