"""The real adapter, with its real SDK, against the emulator over real HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
import uvloop

from bot.clock import SystemClock
from bot.config.accounts import SlackAccount
from bot.domain import AccountState, ChatKind, InboundMessage, Live, OutboundMessage, ReplyAddress
from bot.platforms.base import AdapterContext
from bot.platforms.slack.adapter import SlackAdapter
from bot.testing.clock import ManualClock
from bot.testing.emulators.slack import SlackEmulator

PERSON = "U0000001"


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Every test runs on both loops: the service has uvloop, and it has differed before."""
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Shelf:
    """An inbox in memory: stores each event once, as the contract says; refuses while `broken`."""

    def __init__(self) -> None:
        self.messages: list[InboundMessage] = []
        self.duplicates = 0
        self.broken = 0
        self.refusals = 0
        self._known: set[str] = set()
        self._changed = asyncio.Condition()

    async def accept(self, messages: Sequence[InboundMessage], cursor: str = "") -> None:
        if self.broken:
            self.broken -= 1
            self.refusals += 1
            raise RuntimeError("the disk is full")
        for message in messages:
            if message.event_id in self._known:
                self.duplicates += 1
            else:
                self._known.add(message.event_id)
                self.messages.append(message)
        async with self._changed:
            self._changed.notify_all()

    async def cursor(self) -> str:
        return ""

    async def migrate_chat(self, old: str, new: str) -> None:
        raise AssertionError("chats of Slack keep their ids")

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
        # A long sleep is a stream's timer, which no test here waits for.
        await asyncio.sleep(min(seconds, 0.01) if seconds < 100 else seconds)


class Running:
    """A started adapter and what it told."""

    def __init__(
        self, emulator: SlackEmulator, shelf: Shelf | None = None, clock: Any = None, **changes: Any
    ) -> None:
        self.emulator = emulator
        self.shelf = shelf or Shelf()
        self.clock = clock or QuickClock()
        self.adapter = SlackAdapter("sl", account(emulator, **changes))
        self.states: list[AccountState] = []
        self.context = AdapterContext(self.shelf, self.states.append, self.clock)
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> Running:
        self.task = asyncio.create_task(self.adapter.start(self.context))
        await eventually(lambda: self.state.live is Live.LIVE or self.ended)
        return self

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

    async def asked(self, text: str = "go", **more: Any) -> ReplyAddress:
        """Somebody writes; where the answer goes."""
        count = len(self.shelf.messages)
        self.emulator.people.says(text, **more)
        return answer_to((await self.shelf.until(count + 1))[-1])

    def shown(self, channel: str = PERSON) -> list[dict[str, Any]]:
        """The bot's messages as people see them."""
        return [one for one in self.emulator.view(channel)["messages"] if one["from_bot"]]


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until something is so; ten seconds at most."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def account(emulator: SlackEmulator, **changes: Any) -> SlackAccount:
    """The configuration entry of the emulated app."""
    given = {
        "name": "sl",
        "platform": "slack",
        "bot_token": emulator.bot_token,
        "app_token": emulator.app_token,
        "base_url": emulator.url,
    }
    return SlackAccount.model_validate({**given, **changes})


def answer_to(message: InboundMessage) -> ReplyAddress:
    """The address that the store derives from a message."""
    origin = message.origin
    reply_to = origin.message_id if origin.chat_kind is ChatKind.GROUP else ""
    return ReplyAddress("sl", origin.chat, origin.chat_kind, origin.topic, reply_to)


def frame(text: str, address: ReplyAddress, key: str = "1:0") -> OutboundMessage:
    """A frame as the dispatcher makes it."""
    return OutboundMessage(key, address, text, final=False)


def final(text: str, address: ReplyAddress, key: str = "1:0") -> OutboundMessage:
    return OutboundMessage(key, address, text, final=True)


@pytest.fixture
async def emulator() -> AsyncIterator[SlackEmulator]:
    async with SlackEmulator.serve(limits=False) as running:
        yield running


@pytest.fixture
async def running(emulator: SlackEmulator) -> AsyncIterator[Running]:
    started = await Running(emulator).start()
    yield started
    await started.stop()


@pytest.fixture
async def by_hand(emulator: SlackEmulator) -> AsyncIterator[Running]:
    """An adapter whose clock moves only when the test says so."""
    started = await Running(emulator, clock=ManualClock(1_000_000.0)).start()
    yield started
    await started.stop()
