"""The real adapter, with its real SDK, against the emulator over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.platforms.discord.adapter import DiscordAdapter
from roebot_testing.clock import QuickClock
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.people import PERSON
from roebot_testing.inbox import RecordingInbox as Shelf
from roebot_testing.running import RunningAdapter, eventually
from tests.harness.platforms import both_loops
from tests.harness.platforms import discord_account as account

__all__ = ["QuickClock", "Shelf", "account", "eventually"]
pytest_asyncio_loop_factories = both_loops


class Running(RunningAdapter[DiscordAdapter]):
    """A started adapter and what it told."""

    def __init__(self, adapter: DiscordAdapter, emulator: DiscordEmulator, shelf: Shelf, clock: Any) -> None:
        super().__init__(adapter, shelf, clock)
        self.emulator = emulator


def private(emulator: DiscordEmulator, user: int = PERSON) -> ReplyAddress:
    return ReplyAddress("dc", str(emulator.people.dm(user)), ChatKind.PRIVATE)


def group(chat: int, topic: int = 0, reply_to: int = 0) -> ReplyAddress:
    return ReplyAddress("dc", str(chat), ChatKind.GROUP, str(topic or ""), str(reply_to or ""))


def says(text: str, address: ReplyAddress, key: str = "1:0") -> OutboundMessage:
    return OutboundMessage(key, address, text)


@pytest.fixture
async def emulator() -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator.serve(limits=False) as running:
        yield running


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def running(emulator: DiscordEmulator, shelf: Shelf) -> AsyncIterator[Running]:
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await started.start()
    yield started
    await started.stop()
