"""Under load every message is answered exactly once and in order; no timings here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from roebot_testing.emulators.remote import RemoteEmulator
from tests.benchmarks import stage
from tests.benchmarks.asking import Ask

pytestmark = [pytest.mark.soak, pytest.mark.alone, pytest.mark.may_block, pytest.mark.timeout(300)]

CHATS, EACH = 200, 5


async def said(emulator: RemoteEmulator, user: int) -> list[dict[str, Any]]:
    """The bot's messages in a private chat as they stand."""
    found = await emulator.do("view", chat=user)
    return [message for message in found["messages"] if message["from_bot"]]


async def test_two_hundred_chats_at_once_lose_repeat_and_reorder_nothing(tmp_path: Path) -> None:
    """Several messages of each chat come in one go; what waits is merged, and the model echoes it."""
    async with stage.service(tmp_path / "home", stage.SCRIPTED, 0.001) as side:
        asks = [
            Ask(1000 + chat, f"[delay=0.5] m{number}c{chat}.", words=(f"m{number}c{chat}.",))
            for number in range(EACH)
            for chat in range(CHATS)
        ]
        await side.watch.at_once(asks, 120)
        await asyncio.sleep(1)
        for chat in range(CHATS):
            words = " ".join(message["text"] for message in await said(side.emulator, 1000 + chat)).split()
            assert words == [f"m{number}c{chat}." for number in range(EACH)]
        assert (await side.emulator.do("counters"))["pending_updates"] == 0


async def test_streams_under_true_limits_meet_no_429(tmp_path: Path) -> None:
    """More chats than the account's budget allows frames for."""
    async with stage.service(tmp_path / "home", stage.SCRIPTED, 1.0) as side:
        asks = [Ask(3000 + chat, f"[tokens=30] [every=0.2] {chat}", _words(30)) for chat in range(40)]
        await side.watch.at_once(asks, 60)
        await asyncio.sleep(2)
        counters = await side.emulator.do("counters")
        assert counters["limited"] == 0, counters
        for ask in asks:
            assert [message["text"] for message in await said(side.emulator, ask.user)] == [ask.answer]


async def test_commands_are_answered_while_chats_stream(tmp_path: Path) -> None:
    async with stage.service(tmp_path / "home", stage.SCRIPTED, 0.001) as side:
        chats = [Ask(6000 + chat, f"[tokens=20] [every=0.1] {chat}", _words(20)) for chat in range(100)]
        commands = [Ask(7000 + number % 50, "/whoami") for number in range(500)]
        await side.watch.ask(chats)
        await side.watch.at_once(commands, 60)
        await side.watch.until_answered(chats, 60)
        for user in range(7000, 7050):
            assert len(await said(side.emulator, user)) == 10


def _words(count: int) -> str:
    return " ".join(f"word{number}" for number in range(1, count + 1))
