"""Every command that changes something leaves an audit event; a command without a line here fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.access import Role
from bot.app.features import installed_commands
from bot.store.audit import AuditEvent, list_audit_entries
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench, bench

CHANGES: dict[str, tuple[AuditEvent, ...]] = {
    "/new": (AuditEvent("command", "/new"),),
    "/stop": (AuditEvent("command", "/stop"),),
    "/resume 1": (AuditEvent("command", "/resume", "1"),),
    "/compact keep the numbers": (AuditEvent("command", "/compact"),),
    "/compact": (AuditEvent("command", "/compact"),),
    "/title my words": (AuditEvent("command", "/title"),),
    "/model m": (AuditEvent("command", "/model", "m"),),
    "/agent a": (AuditEvent("command", "/agent", "a"),),
    "/plan on": (AuditEvent("command", "/plan", "on"),),
    "/language en": (AuditEvent("command", "/language", "en"),),
    "/busy queue": (AuditEvent("command", "/busy", "queue"),),
    "/memory forget": (AuditEvent("memory forgotten", "person:rec:recording:7"),),
    "/data export": (AuditEvent("data exported", "recording:7"),),
    "/data erase yes": (AuditEvent("data erased", "recording:7"),),
    "/allow recording:77": (AuditEvent("give", "recording:77", "member"),),
    "/revoke recording:8": (AuditEvent("command", "/revoke", "recording:8"),),
    "/role recording:8 admin": (AuditEvent("give", "recording:8", "admin"),),
    "/pair XXXX-XXXX": (AuditEvent("wrong code"),),
    "/budget recording:8 5/hour": (AuditEvent("budget", "recording:8", "5 messages"),),
    "/restart rec": (AuditEvent("command", "/restart", "rec"),),
    "/reload": (AuditEvent("command", "/reload"),),
    "/announce hello": (AuditEvent("command", "/announce", "hello"),),
    "/skill one off": (AuditEvent("command", "/skill", "one off"),),
    "/mcp one off": (AuditEvent("command", "/mcp", "one off"),),
    "/audit": (AuditEvent("command", "/audit"),),
    "/accounts": (AuditEvent("command", "/accounts"),),
    "/channel deny bash": (AuditEvent("chat settings", "rec:c1", "denied_tools bash"),),
    "/page": (AuditEvent("page link"),),
    "/retry": (),
}
"""What an owner writes, and the events that it leaves."""
ELSEWHERE = {
    "retry": "tests/component/server/test_retry.py: recorded if there is an answer to repeat",
    "digest": "tests/component/dispatch/test_digest_command.py and tests/contract/store/test_schedules.py",
    "record": "tests/component/dispatch/test_chat_record.py",
    "incident": "tests/bot/features/events/test_incident_command.py",
    "approve": "tests/component/dispatch/test_approvals.py",
    "reject": "tests/component/dispatch/test_approvals.py",
    "approved": "tests/component/dispatch/test_tool_grants.py",
}
READING = ["help", "ask", "status", "threads", "models", "usage", "skills", "whoami", "oncall", "why"]
SHOWN = ["/model", "/agent", "/plan", "/busy", "/title", "/memory", "/digest", "/record", "/data", "/resume"]
"""Commands that show something without arguments."""


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        made.role = Role.OWNER
        made.runtime.script = answer_with("hello")
        yield made


async def events(at: Bench, text: str) -> tuple[AuditEvent, ...]:
    """The events that a command in a private chat leaves."""
    before = {entry.id for entry in await at.db.transact(list_audit_entries)}
    shown = len(at.adapter.texts("c1"))
    await at.adapter.hears(text, chat="c1", person="7")
    await at.until(lambda: len(at.adapter.texts("c1")) > shown)
    found = await at.db.transact(list_audit_entries)
    return tuple(entry.deed for entry in reversed(found) if entry.id not in before)


def test_every_command_has_a_line() -> None:
    changing = {text.split()[0].removeprefix("/") for text in CHANGES}
    known = {command.name for command in installed_commands().for_role(Role.OWNER)}
    assert known == {*changing, *ELSEWHERE, *READING}


@pytest.mark.guard(
    "a command that changes something is audited",
    "bot/commands/registry.py",
    "        if not self.audited or refused or shows:\n",
    "        if True:\n",
    against="changes without a trace",
)
async def test_what_changes_something_is_recorded(at: Bench) -> None:
    async with at.running():
        found = {text: await events(at, text) for text in CHANGES}
    assert found == CHANGES


async def test_what_shows_something_is_not(at: Bench) -> None:
    async with at.running():
        texts = [*(f"/{name}" for name in READING), *SHOWN]
        assert {text: await events(at, text) for text in texts} == dict.fromkeys(texts, ())


async def test_a_member_who_is_refused_is_recorded_for_admin_commands(at: Bench) -> None:
    at.role = Role.MEMBER
    async with at.running():
        assert await events(at, "/skill one off") == (AuditEvent("refused", "/skill", "one off"),)
        assert await events(at, "/plan on") == (AuditEvent("command", "/plan", "on"),)
