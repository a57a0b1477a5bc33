"""Skills and MCP servers from a chat, through the real runtime: listed, switched, asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.config.extensions_file import FILE_NAME, PATH_VARIABLE
from tests.harness.mcp import PATIENT, ours
from tests.harness.people import PlatformUser, on_platform
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]
CONFIG = """
config_version: 1
models: [{{name: scripted, use: "roebot_testing.agent.model:ScriptedChatModel"}}]
title: {{enabled: false}}
memory: {{enabled: false}}
server: {{port: 0}}
channels:
  {entry}
access: {{default: allow, owners: ["telegram:1001"]}}
"""
NOTE = (
    "[This message asks for the skill thread-summary. Follow /mnt/skills/public/thread-summary/SKILL.md; read"
)


async def hears(person: PlatformUser, text: str, *expected: str) -> str:
    """What the bot says to this once it holds all that is expected."""
    before = len(person.texts())
    person.writes(text)

    def found() -> list[str]:
        return [said for said in person.texts()[before:] if all(part in said for part in expected)]

    await until(found, 60.0, lambda: f"{text}: {person.texts()[before:]}")
    return found()[-1]


async def test_they_are_listed_switched_and_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / FILE_NAME
    server = {**ours(), "start_seconds": PATIENT}
    file.write_text(json.dumps({"mcpServers": {"test": server}}))
    monkeypatch.setenv(PATH_VARIABLE, str(file))
    async with on_platform("telegram") as person:
        config = CONFIG.format(entry=person.entry)
        async with running(tmp_path / "home", config) as service:
            await until(lambda: service.accounts.state("telegram").identity, 20.0, lambda: "not connected")
            while "/thread_summary" not in await hears(person, "/skills", ""):
                pass  # the runtime is still starting
            await hears(person, "/thread_summary of today", NOTE, "of today")
            await hears(
                person,
                "/skill thread-summary off",
                "thread-summary will be off starting with the next answer",
            )
            await hears(person, "/thread_summary of today", "thread-summary is switched off")
            await hears(person, "/thread_sumary", "There is no /thread_sumary command")
            await hears(person, "/skill thread_summary on", "is on. To use it, send /thread_summary")
            while "is ready" not in (said := await hears(person, "/mcp", "test is ")):
                assert "is starting" in said
            assert "add, " in said
            await hears(person, "/mcp test off", "The MCP server test is off")
            await hears(person, "/mcp", "test is off.")
    stored = json.loads(file.read_text())
    assert stored["skills"] == {"thread-summary": {"enabled": True}}
    assert stored["mcpServers"] == {"test": {**server, "enabled": False}}
