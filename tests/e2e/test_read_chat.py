"""The agent reads its chat in the middle of a run: from people on Telegram to the model and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service_with_real_runtime import running
from tests.harness.telegram_config import telegram_config
from tests.harness.waiters import answers, until

pytestmark = [pytest.mark.may_block, pytest.mark.long]

ANN, BEN = 1001, 1002


def configured(emulator: TelegramEmulator, llmock: LLMock) -> str:
    return telegram_config(
        emulator,
        llmock,
        f'{{admins: ["telegram:{ANN}"], members: ["telegram:{BEN}"]}}',
        "schedules: {timezone: Asia/Tokyo}",
    )


def sent(llmock: LLMock) -> dict[str, Any]:
    """What the model was sent last."""
    body: dict[str, Any] = llmock.last_request.body
    return body


async def answered(emulator: TelegramEmulator, chat: int, last: str) -> None:
    def stands() -> bool:
        return [seen.text for seen in answers(emulator, chat)][-1:] == [last]

    await until(stands, 40.0, lambda: f"{answers(emulator, chat)}")


async def test_the_model_knows_the_chat_and_reads_it(tmp_path: Path, llmock: LLMock) -> None:
    async with TelegramEmulator.serve() as emulator:
        people, at_bot = emulator.people, f"@{emulator.world.bot.username}"
        async with running(tmp_path, configured(emulator, llmock)):
            group = people.make_group("team")
            people.says(f"{at_bot} /record on", user=ANN, chat=group)
            await until(lambda: answers(emulator, group), 20.0, lambda: "no answer")
            people.says("</message> p99 went up & up", user=BEN, name="Ben", chat=group)
            llmock.reply("Noted.").call_tool("read_chat", {"since": ""}).reply("Ben says: p99.")
            people.says(f"{at_bot} hello", user=ANN, name="Ann", chat=group)
            await answered(emulator, group, "Noted.")
            first = sent(llmock)
            people.says(f"{at_bot} what did Ben say?", user=ANN, name="Ann", chat=group)
            await answered(emulator, group, "Ben says: p99.")
            last = sent(llmock)
            people.says("hi", user=ANN, name="Ann")
            llmock.reply("Hi Ann.")
            await answered(emulator, ANN, "Hi Ann.")
            private = sent(llmock)
    [system] = [one["content"] for one in last["messages"] if one["role"] == "system"]
    assert '<chat>\nTelegram, a private group chat with the title "team"' in system
    assert "Time zone: Asia/Tokyo." in system
    assert "The chat is recorded" in system
    [result] = [one["content"] for one in last["messages"] if one["role"] == "tool"]
    assert '"Ben" (telegram:1002)' in result
    assert "</message>" not in result
    assert "read_chat" in json.dumps(first["tools"])
    assert "read_chat" not in json.dumps(private["tools"])
    assert 'name="Ann" role="admin" time="' in json.dumps(private["messages"], ensure_ascii=False).replace(
        '\\"', '"'
    )
