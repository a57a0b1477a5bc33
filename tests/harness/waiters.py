"""What a person sees in a chat, judged from the emulator alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.machine import Deadline


@dataclass(frozen=True)
class Seen:
    """A message of the bot as it stands."""

    id: int
    text: str
    reply_to: int
    topic: int
    edits: int
    kind: str
    filename: str


def answers(emulator: TelegramEmulator | DiscordEmulator, chat: int) -> list[Seen]:
    """The bot's messages in a chat, in order."""
    found = emulator.view(chat)["messages"]
    return [
        Seen(m["message_id"], m["text"], m["reply_to"], m["topic"], m["edits"], m["kind"], m["filename"])
        for m in found
        if m["from_bot"]
    ]


async def until(condition: Callable[[], object], seconds: float, describe: Callable[[], str]) -> None:
    """Wait for something to be seen."""
    deadline = Deadline(seconds)
    while not condition():
        assert not deadline.passed, describe()
        await asyncio.sleep(0.02)


def count_429(emulator: TelegramEmulator) -> int:
    """How many calls the platform refused for their rate."""
    return int(emulator.counters()["limited"])
