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
from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.e2e.test_slack import PERSON
from tests.e2e.test_slack import answered as slack_answered
from tests.e2e.test_slack import config_text as slack_config
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


TOOL = 'tools: [{name: whose_run, group: own, use: "tests.harness.run_context_tool:whose_run"}]'


async def test_only_approvers_decide_about_calls(tmp_path: Path, llmock: LLMock) -> None:
    """Ann's calls need Ben: neither Ann nor Eve, an admin, decides about them, by click or command."""
    rules = f"""
{TOOL}
guardrails: {{enabled: true, provider: {{ask: [whose_run]}}}}
profiles: [{{person: "telegram:{ANN}", approvers: "telegram:{BEN}"}}]
"""
    async with group(tmp_path, llmock, rules) as team:
        llmock.call_tool("whose_run", {}).reply("Told.")
        team.mentions("go", ANN)
        await team.stands("whose_run")
        question = answers(team.emulator, team.chat)[-1].id
        for person in (ANN, EVE):
            pressed = team.emulator.people.presses(team.chat, question, "choice:0", user=person)
            world = team.emulator.world
            await until(lambda: pressed in world.answered, 20.0, lambda: "not answered")  # noqa: B023
            assert "Only the people listed" in str(world.answered[pressed])
        team.mentions("/approve", EVE)
        await team.stands("Only")
        assert len(llmock.requests) == 1, "nothing was approved"
        team.emulator.people.presses(team.chat, question, "choice:0", user=BEN)
        await team.stands("Told.")
        llmock.call_tool("whose_run", {}).reply("Told Ben.")
        team.mentions("go", BEN)
        await until(lambda: len(llmock.requests) == 3, 20.0, lambda: "not asked")
        await team.stands("whose_run")
        team.mentions("/approve", EVE)
        await team.stands("Told Ben.")


async def test_others_steer_a_run_where_they_may(tmp_path: Path, llmock: LLMock) -> None:
    async with group(tmp_path, llmock, f"{TOOL}\nprofiles: [{{platform: telegram, busy: steer}}]") as team:

        async def play(words: str, person: int, *, joins: bool) -> None:
            """Somebody writes while the model works for Ann."""
            before = len(llmock.requests)
            llmock.slow_first_token(3.0, times=1).call_tool("whose_run", {}).reply(f"For Ann: {words}")
            team.mentions("start", ANN)
            await until(lambda: team.service.dispatcher.run_count, 20.0, lambda: "nothing runs")
            team.mentions(words, person)
            await until(lambda: len(llmock.requests) >= before + 2, 20.0, lambda: "no second call")
            assert (words in str(team.requests()[before + 1])) is joins, words
            if not joins:
                llmock.reply(f"For another: {words}")
                await team.stands(f"For another: {words}")
            await until(lambda: not team.service.dispatcher.run_count, 20.0, lambda: "still runs")

        await play("by the way", BEN, joins=False)
        await team.sets("steer admins telegram:1004")
        await play("again by the way", BEN, joins=False)
        await play("the boss says", EVE, joins=True)
        await team.sets("steer members")
        await play("now by the way", BEN, joins=True)


async def test_a_chat_has_a_limit_of_its_own_and_another_after_a_reload(
    tmp_path: Path, llmock: LLMock
) -> None:
    async with group(tmp_path, llmock) as team:
        llmock.reply("One.").reply("Two.").reply("Three.")
        await team.sets("messages_per_hour 1")
        team.mentions("one", ANN)
        await team.stands("One.")
        team.mentions("two", BEN)
        await team.stands("This chat has reached its hourly message limit (1).")
        await team.sets("messages_per_hour 0")
        team.mentions("two", BEN)
        await team.stands("Two.")
        config = tmp_path / "config.yaml"
        profiles = f'profiles: [{{person: "telegram:{ANN}", tokens_per_day: 1}}]\n'
        config.write_text(config.read_text() + profiles)
        team.mentions("/reload", EVE)
        await until(lambda: team.service.core.config.profiles, 20.0, lambda: f"{team.texts()}")
        team.mentions("three", ANN)
        await team.stands("Your daily token limit (1) is used up.")
        team.mentions("/budget telegram:1001 off", EVE)
        await team.stands("no token limit")
        team.mentions("three", ANN)
        await team.stands("Three.")


async def test_a_channel_on_slack_needs_no_mention_where_it_is_set(tmp_path: Path) -> None:
    """Who wrote is looked up although nobody records the channel, since groups of people are."""
    async with SlackEmulator.serve() as emulator:
        config = slack_config(emulator) + "profiles: [{account: slack, mention: false}]\n"
        async with running(tmp_path, config) as service:
            await until(lambda: service.accounts.state("slack").identity, 20.0, lambda: "not connected")
            team = emulator.people.make_channel("team")
            asked = emulator.people.says(
                "[tokens=40] [every=0.05] one", user=PERSON, name="Ada", channel=team
            )
            [seen] = await slack_answered(emulator, team, lambda texts: "word40" in "".join(texts))
            assert seen["thread_ts"] == asked.ts
            [view] = await service.db.transact(list_conversations, "slack")
            [turn] = await service.db.transact(list_turns, view.id)
            assert [message.sender.name for message in turn.messages] == ["Ada"]
            emulator.people.says("two", user="U0000002", channel=team, thread=asked.ts)
            await slack_answered(emulator, team, lambda texts: texts[-1] == "two")
            assert len(await service.db.transact(list_conversations, "slack")) == 1
