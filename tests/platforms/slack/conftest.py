"""The real adapter, with its real SDK, against the emulator over real HTTP and WebSocket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from bot.domain import OutboundMessage, ReplyAddress
from bot.platforms.slack.adapter import SlackAdapter
from roebot_testing.clock import ManualClock
from roebot_testing.clock import QuickClock as PlainClock
from roebot_testing.conformance.bench import address_of as answer_to
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.inbox import RecordingInbox as Shelf
from roebot_testing.running import RunningAdapter, eventually
from tests.harness.platforms import both_loops
from tests.harness.platforms import slack_account as account

__all__ = ["Shelf", "account", "answer_to", "eventually"]
PERSON = "U0000001"
pytest_asyncio_loop_factories = both_loops


class QuickClock(PlainClock):
    """A long sleep is a stream's timer, which no test here waits for."""

    def __init__(self) -> None:
        super().__init__(lambda wait: min(wait, 0.01) if wait < 100 else wait)


class Running(RunningAdapter[SlackAdapter]):
    """A started adapter and what it told."""

    def __init__(
        self, emulator: SlackEmulator, shelf: Shelf | None = None, clock: Any = None, **changes: Any
    ) -> None:
        super().__init__(SlackAdapter("sl", account(emulator, **changes)), shelf, clock or QuickClock())
        self.emulator = emulator

    async def asked(self, text: str = "go", **more: Any) -> ReplyAddress:
        """Somebody writes; where the answer goes."""
        count = len(self.shelf.messages)
        self.emulator.people.says(text, **more)
        return answer_to((await self.shelf.until(count + 1))[-1])

    def shown(self, channel: str = PERSON) -> list[dict[str, Any]]:
        """The bot's messages as people see them."""
        return [one for one in self.emulator.view(channel)["messages"] if one["from_bot"]]


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
