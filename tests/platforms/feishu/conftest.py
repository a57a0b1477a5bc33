"""The real adapter against the emulator over real HTTP and WebSockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
import uvloop

from bot.clock import SystemClock
from bot.config import FeishuAccount
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
from bot.errors import StoreError
from bot.platforms.base import AdapterContext
from bot.platforms.feishu.adapter import FeishuAdapter
from bot.testing.emulators.feishu import FeishuEmulator

ADA = "ou_ada0000000000000001"
BEN = "ou_ben0000000000000001"


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test runs on both loops: the service has uvloop, and it has differed before."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Shelf:
    """An inbox in memory: stores each event once, as the contract says. `failures` refuse so many stores."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.changes: list[InboundChange] = []
        self.duplicates = 0
        self.failures = 0
        self._known: set[str] = set()
        self._changed = asyncio.Condition()

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> None:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full")
        for event in events:
            if event.event_id in self._known:
                self.duplicates += 1
                continue
            self._known.add(event.event_id)
            if isinstance(event, InboundChange):
                self.changes.append(event)
            else:
                self.messages.append(event)
        async with self._changed:
            self._changed.notify_all()

    async def cursor(self) -> str:
        return ""

    async def migrate_chat(self, old: str, new: str) -> None:
        raise AssertionError("Feishu moves no chats")

    async def until(self, count: int) -> list[InboundMessage]:
        """Wait for that many messages."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.messages) >= count)
        return self.messages

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]


class QuickClock(SystemClock):
    """Real time with short waits: what was asked for is kept. `ahead` moves it forward."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[float] = []
        self.ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        # Pings are not made so quick that a busy machine would miss their answers.
        await asyncio.sleep(0.4 if seconds >= 20.0 else min(seconds, 0.01))


class Running:
    """A started adapter and what it told."""

    def __init__(self, adapter: FeishuAdapter, emulator: FeishuEmulator) -> None:
        self.adapter = adapter
        self.emulator = emulator
        self.shelf = Shelf()
        self.clock = QuickClock()
        self.states: list[AccountState] = []
        self.context = AdapterContext(self.shelf, self.states.append, self.clock)
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

    def settled(self) -> None:
        """Long enough after the start that a post is no possible repeat of an earlier process's."""
        self.clock.ahead += 60.0

    def private(self, reply_to: str = "") -> ReplyAddress:
        """The chat of Ada with the bot."""
        chat = self.emulator.people.private_chat(ADA)
        return ReplyAddress("fs", chat, ChatKind.PRIVATE, reply_to=reply_to)

    def shown(self, chat: str = "") -> list[dict[str, Any]]:
        """The bot's messages in a chat (Ada's), in order."""
        place = chat or self.emulator.people.private_chat(ADA)
        return [message for message in self.emulator.view(place)["messages"] if message["from_bot"]]

    def calls(self, name: str) -> int:
        """How often a method was called."""
        return int(self.emulator.counters()["calls"].get(name, 0))


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until something is so; ten seconds at most."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def account(emulator: FeishuEmulator, **changes: Any) -> FeishuAccount:
    """The configuration entry of the emulated app."""
    given = {
        "name": "fs",
        "platform": "feishu",
        "app_id": emulator.app_id,
        "app_secret": emulator.app_secret,
        "base_url": emulator.url,
    }
    return FeishuAccount.model_validate({**given, **changes})


def group(chat: str, topic: str = "", reply_to: str = "") -> ReplyAddress:
    return ReplyAddress("fs", chat, ChatKind.GROUP, topic, reply_to)


def says(text: str, address: ReplyAddress, *, key: str = "1:0", final: bool = True) -> OutboundMessage:
    return OutboundMessage(key, address, text, final)


@pytest.fixture
async def emulator() -> AsyncIterator[FeishuEmulator]:
    async with FeishuEmulator.serve(limits=False) as running:
        yield running


@pytest.fixture
async def running(emulator: FeishuEmulator) -> AsyncIterator[Running]:
    started = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await started.start()
    yield started
    await started.stop()
