"""The real adapter, with its real SDK, against the emulator over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.platforms.telegram.adapter import TelegramAdapter
from roebot_testing.clock import QuickClock
from roebot_testing.emulators.telegram import TelegramEmulator
from roebot_testing.inbox import RecordingInbox as Shelf
from roebot_testing.running import RunningAdapter, eventually
from tests.harness.platforms import both_loops
from tests.harness.platforms import telegram_account as account

__all__ = ["QuickClock", "Shelf", "account", "eventually"]
pytest_asyncio_loop_factories = both_loops


class JumpingClock:
    """A clock that jumps ahead by what somebody wants to sleep."""

    def __init__(self) -> None:
        self.at = 1_700_000_000.0
        self.asked: list[float] = []

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        self.at += seconds
        await asyncio.sleep(0)


class Running(RunningAdapter[TelegramAdapter]):
    """A started adapter and what it told."""

    def __init__(
        self, adapter: TelegramAdapter, emulator: TelegramEmulator, shelf: Shelf, clock: Any
    ) -> None:
        super().__init__(adapter, shelf, clock)
        self.emulator = emulator


def private(user: int = 7, reply_to: int = 0) -> ReplyAddress:
    return ReplyAddress("tg", str(user), ChatKind.PRIVATE, reply_to=str(reply_to or ""))


def group(chat: int, topic: int = 0, reply_to: int = 0) -> ReplyAddress:
    return ReplyAddress("tg", str(chat), ChatKind.GROUP, str(topic or ""), str(reply_to or ""))


def says(text: str, address: ReplyAddress | None = None) -> OutboundMessage:
    return OutboundMessage("1:0", address or private(), text)


@pytest.fixture
async def emulator() -> AsyncIterator[TelegramEmulator]:
    async with TelegramEmulator.serve(limits=False) as running:
        yield running


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def running(emulator: TelegramEmulator, shelf: Shelf) -> AsyncIterator[Running]:
    started = Running(TelegramAdapter("tg", account(emulator)), emulator, shelf, QuickClock())
    await started.start()
    yield started
    await started.stop()
