"""The real adapter, with its real SDK, against the emulator over real HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
import uvloop

from bot.clock import SystemClock
from bot.config import DiscordAccount
from bot.domain import (
    AccountState,
    ChatKind,
    InboundChange,
    InboundEvent,
    InboundMessage,
    Live,
    OutboundMessage,
    ReplyAddress,
)
from bot.platforms.base import AdapterContext
from bot.platforms.discord.adapter import DiscordAdapter
from bot.testing.emulators.discord import DiscordEmulator
from bot.testing.emulators.discord.people import PERSON


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test runs on both loops: the service has uvloop, and it has differed before."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Shelf:
    """An inbox in memory: stores each event once, with the cursor, as the contract says."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.changes: list[InboundChange] = []
        self.cursors: list[str] = []
        self.migrations: list[tuple[str, str]] = []
        self.duplicates = 0
        self._known: set[str] = set()
        self._changed = asyncio.Condition()

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> None:
        for event in events:
            if event.event_id in self._known:
                self.duplicates += 1
                continue
            self._known.add(event.event_id)
            if isinstance(event, InboundChange):
                self.changes.append(event)
            else:
                self.messages.append(event)
        self.cursors.append(cursor)
        async with self._changed:
            self._changed.notify_all()

    async def cursor(self) -> str:
        return self.cursors[-1] if self.cursors else ""

    async def migrate_chat(self, old: str, new: str) -> None:
        self.migrations.append((old, new))

    async def until(self, count: int) -> list[InboundMessage]:
        """Wait for that many messages."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= count)
        return self.messages

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]


class QuickClock(SystemClock):
    """Real time with short waits: what was asked for is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await asyncio.sleep(min(seconds, 0.01))


class Running:
    """A started adapter and what it told."""

    def __init__(self, adapter: DiscordAdapter, emulator: DiscordEmulator, shelf: Shelf, clock: Any) -> None:
        self.adapter = adapter
        self.emulator = emulator
        self.shelf = shelf
        self.clock = clock
        self.states: list[AccountState] = []
        self.context = AdapterContext(shelf, self.states.append, clock)
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.task = asyncio.create_task(self.adapter.start(self.context))
        await eventually(lambda: self.state.live is Live.LIVE or self.ended)

    async def stop(self) -> None:
        await self.adapter.stop()
        if self.task is not None:
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await self.task

    @property
    def ended(self) -> bool:
        return self.task is not None and self.task.done()

    @property
    def state(self) -> AccountState:
        return self.states[-1] if self.states else AccountState(Live.STOPPED)


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until something is so; ten seconds at most."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def account(emulator: DiscordEmulator, **changes: Any) -> DiscordAccount:
    """The configuration entry of the emulated bot."""
    given = {"name": "dc", "platform": "discord", "bot_token": emulator.token, "base_url": emulator.url}
    return DiscordAccount.model_validate({**given, **changes})


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
