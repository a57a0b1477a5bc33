"""What the bot knows of a turn arrives at the agent's tools: from a person on Telegram to `RunContext`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from bot.app.service import BotService
from bot.store.conversations import list_conversations
from bot.store.read_models import list_turns
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.llmock_config import llmock_section
from tests.harness.service_with_real_runtime import running
from tests.harness.waiters import answers, until

pytestmark = pytest.mark.may_block

ANN, BEN = 1001, 1002


@asynccontextmanager
async def world(
    tmp_path: Path, llmock: LLMock, account: str, access: str
) -> AsyncIterator[tuple[TelegramEmulator, BotService]]:
    """A service on Telegram whose agent has one tool."""
    async with TelegramEmulator.serve() as emulator:
        text = f"""
config_version: 1
{llmock_section(llmock, memory=True)}
tools: [{{name: whose_run, group: own, use: "tests.harness.run_context_tool:whose_run"}}]
server: {{port: 0}}
channels:
  tele: {{platform: telegram, bot_token: "{emulator.token}", base_url: "{emulator.url}", {account}}}
access: {{{access}}}
"""
        async with running(tmp_path, text) as service:
            yield emulator, service


def told(llmock: LLMock) -> dict[str, Any]:
    """What the tool told the model."""
    body: Any = llmock.last_request.body
    [result] = [message for message in body["messages"][-2:] if message["role"] == "tool"]
    found: dict[str, Any] = json.loads(result["content"])
    return found


def today() -> str:
    """The date in the zone of the schedules."""
    return datetime.now(UTC).date().isoformat()


async def answered(emulator: TelegramEmulator, chat: int, last: str) -> None:
    def stands() -> bool:
        return [seen.text for seen in answers(emulator, chat)][-1:] == [last]

    await until(stands, 40.0, lambda: f"{answers(emulator, chat)}")


@pytest.mark.parametrize(
    ("account", "access", "roles", "locale"),
    [
        ("locale: en", "default: allow", ["member"], "en"),
        pytest.param("locale: zh", f'members: ["telegram:{ANN}"]', ["member"], "zh", marks=pytest.mark.long),
        pytest.param(
            "locale: en", f'admins: ["telegram:{ANN}"]', ["admin", "member"], "en", marks=pytest.mark.long
        ),
        pytest.param(
            f'locale: zh, access: {{owners: ["telegram:{ANN}"]}}',
            "",
            ["owner", "admin", "member"],
            "zh",
            marks=pytest.mark.long,
        ),
    ],
)
async def test_a_private_chat(
    tmp_path: Path, llmock: LLMock, account: str, access: str, roles: list[str], locale: str
) -> None:
    began = today()
    async with world(tmp_path, llmock, account, access) as (emulator, service):
        llmock.call_tool("whose_run", {}).reply("Told.")
        emulator.people.says("who am I?", user=ANN)
        await answered(emulator, ANN, "Told.")
        [turn] = await service.db.transact(list_turns, 1)
        [view] = await service.db.transact(list_conversations, "tele")
    found = told(llmock)
    assert found.pop("local_day") in {began, today()}
    assert found == {
        "thread_id": view.thread_id,
        "run_id": turn.run_id,
        "user_id": f"telegram:{ANN}",
        "roles": roles,
        "account": "tele",
        "platform": "telegram",
        "chat": str(ANN),
        "chat_kind": "private",
        "turn_id": str(turn.id),
        "approved": [],
        "denied_tools": [],
        "locale": locale,
    }


@pytest.mark.long
async def test_a_turn_of_several_has_the_roles_that_all_of_them_have(tmp_path: Path, llmock: LLMock) -> None:
    access = f'owners: ["telegram:{ANN}"], members: ["telegram:{BEN}"]'
    async with world(tmp_path, llmock, "isolation: chat", access) as (emulator, service):
        group, at_bot = emulator.people.make_group("team"), f"@{emulator.world.bot.username}"
        llmock.call_tool("whose_run", {}).reply("Told one.")
        emulator.people.says(f"{at_bot} one", user=ANN, chat=group)
        await answered(emulator, group, "Told one.")
        assert told(llmock)["roles"] == ["owner", "admin", "member"]
        llmock.slow_first_token(3.0, times=1).reply("Two.").call_tool("whose_run", {}).reply("Told three.")
        emulator.people.says(f"{at_bot} two", user=ANN, chat=group)
        await until(lambda: service.dispatcher.run_count, 20.0, lambda: "nothing runs")
        emulator.people.says(f"{at_bot} three", user=BEN, chat=group)
        emulator.people.says(f"{at_bot} and this", user=ANN, chat=group)
        await answered(emulator, group, "Told three.")
        found = told(llmock)
    assert (found["user_id"], found["roles"], found["chat_kind"]) == (
        f"telegram:{ANN}",
        ["member"],
        "group",
    )
