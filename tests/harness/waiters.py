"""What a person sees in a chat, judged from the emulator alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from bot.dispatch.reply.diff import REPEATED_MARK
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


def answers(emulator: TelegramEmulator, chat: int) -> list[Seen]:
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


def complete(emulator: TelegramEmulator, chat: int, text: str) -> list[Seen]:
    """The messages that hold exactly this answer, marked ones included."""
    wanted = {text.strip(), f"{REPEATED_MARK}\n\n{text.strip()}"}
    return [seen for seen in answers(emulator, chat) if seen.text.strip() in wanted]


def check_one_answer(emulator: TelegramEmulator, chat: int, text: str, *, unknown: bool) -> None:
    """Exactly one complete answer and nothing beside it; after an unknown outcome, at most one marked
    repeat.
    """
    seen = answers(emulator, chat)
    marked = [message for message in seen if message.text.startswith(REPEATED_MARK)]
    whole = complete(emulator, chat, text)
    if marked:
        assert unknown, f"a repeat without an unknown outcome: {seen}"
        assert len(marked) == 1, seen
        assert marked[0] in whole, seen
        # Beside the marked one stands at most what was posted when the process died.
        assert len(seen) <= 2, seen
    else:
        assert len(whole) == 1, seen
        assert seen == whole, seen


def count_429(emulator: TelegramEmulator) -> int:
    """How many calls the platform refused for their rate."""
    return int(emulator.counters()["limited"])
