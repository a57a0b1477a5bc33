"""Each content type of Telegram, from the update to what the model is sent: by itself if a person sends it to
the bot, else from the record of the chat.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from agent.shared.envelope import unescape_text
from bot.domain import InboundMessage
from bot.platforms.telegram.formatted_text import TelegramIdentity
from bot.platforms.telegram.inbound import TelegramInbound
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.emulators.telegram.state import TelegramChat
from roebot_testing.emulators.telegram.workspace import BOT_ID
from tests.corpus import Sample, load_samples
from tests.harness.service_with_real_runtime import running
from tests.harness.telegram_config import telegram_config
from tests.harness.waiters import answers, until

pytestmark = [pytest.mark.may_block, pytest.mark.long]

MIRA = 5550101
AT_ONCE = 8
"""Messages that are sent without waiting: fewer than a conversation's queue takes."""
SECONDS = 60.0
"""Longest wait until the model has read a group of messages."""


def convert(sample: Sample) -> InboundMessage | None:
    inbound = TelegramInbound("tele", TelegramIdentity(BOT_ID, "roebot_bot"))
    found = inbound.convert(dict(sample.event))
    return found if isinstance(found, InboundMessage) else None


def is_for_the_bot(sample: Sample) -> bool:
    """Return whether the agent answers a sample: a person means the bot, by no command."""
    found = convert(sample)
    if found is None or found.clicked or found.unsupported or found.origin.sender.is_bot:
        return False
    return found.addressed and not found.text.startswith("/")


def is_overheard(sample: Sample) -> bool:
    """Return whether a sample is a message that is meant for others, or a notice."""
    found = convert(sample)
    return found is not None and not found.addressed and "message" in sample.event


def configured(emulator: TelegramEmulator, llmock: LLMock) -> str:
    return telegram_config(emulator, llmock, f'{{default: allow, admins: ["telegram:{MIRA}"]}}')


def deliver(emulator: TelegramEmulator, message: dict[str, Any]) -> None:
    """Deliver a message whose chat exists in the emulator, so that the bot can answer there."""
    wire = message["chat"]
    title = wire.get("title", wire.get("first_name", ""))
    chat = emulator.world.chats.setdefault(wire["id"], TelegramChat(wire["id"], wire["type"], title))
    chat.is_forum = wire.get("is_forum", False)
    chat.topics[message.get("message_thread_id", 0)] = "topic"
    emulator.inject({"message": message})


def read_by_model(llmock: LLMock) -> str:
    """Return all that the model was sent."""
    return unescape_text("\n".join(_contents(llmock)))


def _contents(llmock: LLMock) -> Iterator[str]:
    for request in llmock.requests:
        for message in request.body["messages"]:
            content = message["content"] or ""
            parts = content if isinstance(content, list) else [{"text": content}]
            yield from (part.get("text", "") for part in parts)


async def until_read(llmock: LLMock, samples: Sequence[Sample]) -> None:
    """Wait until the model was sent everything that is to be read of these samples."""

    def missing() -> dict[str, list[str]]:
        read = read_by_model(llmock)
        lost = {one.name: [text for text in one.reads if text not in read] for one in samples}
        return {name: texts for name, texts in lost.items() if texts}

    await until(lambda: not missing(), SECONDS, lambda: f"{missing()}")


async def test_the_model_reads_what_a_person_sends(tmp_path: Path, llmock: LLMock) -> None:
    samples = [sample for sample in load_samples("telegram") if is_for_the_bot(sample)]
    assert len(samples) > 90
    async with (
        TelegramEmulator.serve(limits=False) as emulator,
        running(tmp_path, configured(emulator, llmock)),
    ):
        for start in range(0, len(samples), AT_ONCE):
            batch = samples[start : start + AT_ONCE]
            for sample in batch:
                llmock.reply("Noted.")
                deliver(emulator, sample.event["message"])
            await until_read(llmock, batch)


async def test_the_model_reads_in_the_record_what_others_saw(tmp_path: Path, llmock: LLMock) -> None:
    samples = [sample for sample in load_samples("telegram") if is_overheard(sample)]
    assert len(samples) > 50
    async with (
        TelegramEmulator.serve(limits=False) as emulator,
        running(tmp_path, configured(emulator, llmock)),
    ):
        group = emulator.people.make_group("Operations", supergroup=True)
        emulator.people.says("/record@roebot_bot on", user=MIRA, chat=group)
        await until(lambda: answers(emulator, group), SECONDS, lambda: "no answer")
        for number, sample in enumerate(samples, 1000):
            message = sample.event["message"]
            chat = {**message["chat"], "id": group, "type": "supergroup"}
            deliver(emulator, {**message, "chat": chat, "message_id": number, "date": int(time.time())})
        llmock.call_tool("read_chat", {"since": ""}).reply("Noted.")
        emulator.people.says("@roebot_bot what happened?", user=MIRA, chat=group)
        await until_read(llmock, samples)
