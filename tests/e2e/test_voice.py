"""A voice message from Telegram to the model: transcribed once, read in the turn, in the record."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from bot.features.record.record_store import list_recorded
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.service_with_real_runtime import running
from tests.harness.strict_providers.transcription import OGG, StrictTranscription
from tests.harness.telegram_config import telegram_config
from tests.harness.waiters import answers, until

pytestmark = pytest.mark.may_block

ANN, BEN = 1001, 1002
SAID = "Please move the review to Friday."


def configured(emulator: TelegramEmulator, llmock: LLMock, more: str = "") -> str:
    return telegram_config(
        emulator, llmock, f'{{admins: ["telegram:{ANN}"], members: ["telegram:{BEN}"]}}', more
    )


def read(llmock: LLMock) -> list[str]:
    """What the model read last: the messages of people and results of tools."""
    body: dict[str, Any] = llmock.last_request.body
    roles = ("user", "tool")
    return [
        json.dumps(one["content"], ensure_ascii=False) for one in body["messages"] if one["role"] in roles
    ]


async def answered(emulator: TelegramEmulator, chat: int, last: str) -> None:
    def stands() -> bool:
        return [seen.text for seen in answers(emulator, chat)][-1:] == [last]

    await until(stands, 40.0, lambda: f"{answers(emulator, chat)}")


async def test_the_model_reads_what_was_said_and_the_record_has_it(tmp_path: Path, llmock: LLMock) -> None:
    service = StrictTranscription(deque([SAID]))
    async with TelegramEmulator.serve() as emulator, service.serve() as base:
        people, at_bot = emulator.people, f"@{emulator.world.bot.username}"
        transcriber = (
            "transcriber: {use: 'agent.transcription.openai:OpenAITranscriber', "
            f"base_url: '{base}', api_key: sk-test, model: whisper-1}}"
        )
        async with running(tmp_path, configured(emulator, llmock, transcriber)) as started:
            group = people.make_group("team")
            people.says(f"{at_bot} /record on", user=ANN, chat=group)
            await until(lambda: answers(emulator, group), 20.0, lambda: "no answer")
            [told, *_] = answers(emulator, group)
            llmock.reply("Moved.").call_tool("read_chat", {"since": ""}).reply("Ben asked for Friday.")
            people.says(media="voice", data=OGG, user=BEN, name="Ben", chat=group, reply_to=told.id)
            await answered(emulator, group, "Moved.")
            heard = read(llmock)[-1]
            people.says(f"{at_bot} what did Ben want?", user=ANN, name="Ann", chat=group)
            await answered(emulator, group, "Ben asked for Friday.")
            found = read(llmock)[-1]
            recorded = await started.db.transact(list_recorded, "tele", str(group), 0.0, 1e12)
    assert '<quotation kind=\\"transcript\\" files=\\"voice_' in heard
    assert f"\\n{SAID}\\n</quotation>" in heard
    assert f'(transcript \\"{SAID}' in found.replace('\\\\\\"', '\\"')
    assert SAID in [quotation.text for one in recorded for quotation in one.quotations]
    assert (len(service.sent), service.rejections) == (1, [])
    assert service.sent[0].content == OGG


async def test_without_a_transcriber_the_model_is_told(tmp_path: Path, llmock: LLMock) -> None:
    async with TelegramEmulator.serve() as emulator, running(tmp_path, configured(emulator, llmock)):
        llmock.reply("I can't hear it.")
        emulator.people.says(media="voice", data=OGG, user=ANN, name="Ann")
        await answered(emulator, ANN, "I can't hear it.")
        [heard] = read(llmock)
    assert "No transcript of the voice message" in heard
    assert "no transcriber is configured" in heard
