"""The real adapter against the emulator over real HTTP and WebSockets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.platforms.feishu import event_handler, lookups
from bot.platforms.feishu.adapter import FeishuAdapter
from roebot_testing.clock import QuickClock as PlainClock
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.inbox import RecordingInbox as Shelf
from roebot_testing.running import RunningAdapter, eventually
from tests.harness.platforms import both_loops
from tests.harness.platforms import feishu_account as account

__all__ = ["Shelf", "account", "eventually"]
ADA = "ou_ada0000000000000001"
BEN = "ou_ben0000000000000001"
pytest_asyncio_loop_factories = both_loops


@pytest.fixture(autouse=True)
def patient_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups are limited in real time; a busy machine must not lose their answers."""
    monkeypatch.setattr(lookups, "ASK_SECONDS", 5.0)
    monkeypatch.setattr(event_handler, "EVENT_SECONDS", 5.0)


class QuickClock(PlainClock):
    """Pings are not made so quick that a busy machine would miss their answers."""

    def __init__(self) -> None:
        super().__init__(lambda wait: 0.4 if wait >= 20.0 else min(wait, 0.01))


class Running(RunningAdapter[FeishuAdapter]):
    """A started adapter and what it told."""

    def __init__(self, adapter: FeishuAdapter, emulator: FeishuEmulator) -> None:
        super().__init__(adapter, Shelf(), QuickClock())
        self.emulator = emulator

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
