"""Settings of chats and people, from a platform to the agent and its model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from bot.app.service import BotService
from bot.store.audit import list_audit_entries
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.llmock_config import llmock_section
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import answers, until

pytestmark = pytest.mark.may_block
ANN, BEN, EVE = 1001, 1002, 1003


class Group:
    """A group on Telegram with the bot, in which Eve is an admin."""

    def __init__(self, emulator: TelegramEmulator, llmock: LLMock, service: BotService) -> None:
        self.emulator, self.llmock, self.service = emulator, llmock, service
        self.chat = emulator.people.make_group("team")

    def texts(self) -> list[str]:
        return [seen.text for seen in answers(self.emulator, self.chat)]

    def writes(self, text: str, user: int = ANN) -> None:
        self.emulator.people.says(text, user=user, chat=self.chat)

    def mentions(self, text: str, user: int = ANN) -> None:
        self.writes(f"@{self.emulator.world.bot.username} {text}", user)

    async def stands(self, part: str) -> None:
        """Wait until the newest answer has this part."""
        await until(lambda: part in (self.texts() or [""])[-1], 40.0, lambda: f"{part}: {self.texts()}")

    async def sets(self, setting: str) -> None:
        self.mentions(f"/channel {setting}", EVE)
        await self.stands("Set ")

    def requests(self) -> list[Any]:
        return [one.body for one in self.llmock.requests]


@asynccontextmanager
async def group(tmp_path: Path, llmock: LLMock, more: str = "") -> AsyncIterator[Group]:
    async with TelegramEmulator.serve() as emulator:
        text = f"""
config_version: 1
{llmock_section(llmock)}
server: {{port: 0}}
channels:
  tele: {{platform: telegram, bot_token: "{emulator.token}", base_url: "{emulator.url}", isolation: chat}}
access: {{default: allow, admins: ["telegram:{EVE}"]}}
{more}
"""
        async with running(tmp_path, text) as service:
            yield Group(emulator, llmock, service)


async def test_a_group_needs_no_mention_where_it_is_set(tmp_path: Path, llmock: LLMock) -> None:
    async with group(tmp_path, llmock) as team:
        llmock.reply("With.").reply("Without.").reply("With again.")
        team.writes("nobody is asked")
        team.mentions("one")
        await team.stands("With.")
        await team.sets("mention off")
        team.writes("two")
        await team.stands("Without.")
        team.mentions("/channel mention default", EVE)
        await team.stands("Set ")
        team.writes("nobody again")
        team.mentions("three")
        await team.stands("With again.")
        told = str(team.requests()[-1])
        assert "nobody" not in told, "a group that is not recorded"
        audited = [one.deed.detail for one in await team.service.db.transact(list_audit_entries, limit=20)]
        assert "mention default" in audited, audited
