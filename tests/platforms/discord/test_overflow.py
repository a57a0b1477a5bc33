"""More than may wait, and channels that nobody told of: nothing is lost, nothing grows without bound."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from bot.domain import InboundEvent
from bot.platforms.discord import receiver
from bot.platforms.discord.adapter import DiscordAdapter
from roebot_testing.emulators.discord import DiscordEmulator

from .conftest import QuickClock, Running, Shelf, account, eventually


class Gated(Shelf):
    """An inbox that takes nothing until it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        await self.open.wait()
        return await super().accept(events, cursor)


async def test_what_does_not_fit_is_read_from_the_channels(
    emulator: DiscordEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver, "QUEUE", 5)
    shelf = Gated()
    shelf.open.set()
    chat = emulator.people.make_group()
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await started.start()
    emulator.people.says("hello")
    emulator.people.says("first", chat=chat)
    await shelf.until(2)
    shelf.open.clear()
    for number in range(30):
        emulator.people.says(f"g{number}", chat=chat)
        emulator.people.says(f"p{number}")
    await eventually(lambda: started.adapter.counts.events >= 60)
    shelf.open.set()
    await shelf.until(62)
    assert [text for text in shelf.texts if text.startswith("g")] == [f"g{n}" for n in range(30)]
    assert [text for text in shelf.texts if text.startswith("p")] == [f"p{n}" for n in range(30)]
    assert emulator.transcript.calls["listMessages"] > 0
    await started.stop()


async def test_a_channel_that_nobody_told_of_is_asked_for(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    chat = emulator.people.make_group()
    thread = emulator.people.make_thread(chat, by_bot=True)
    emulator.inject("THREAD_DELETE", {"id": str(thread)})
    for number in range(3):
        emulator.people.says(f"in the thread {number}", chat=thread)
    await shelf.until(3)
    assert {message.origin.topic for message in shelf.messages} == {str(thread)}
    assert all(message.addressed for message in shelf.messages)
    assert emulator.transcript.calls["getChannel"] == 1


async def test_a_channel_that_cannot_be_asked_for_is_an_ordinary_one(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.inject("CHANNEL_DELETE", {"id": str(chat)})
    running.emulator.fault("error", method="getChannel", status=403)
    running.emulator.people.says(f"<@{running.emulator.world.bot.id}> hi", chat=chat)
    [message] = await shelf.until(1)
    assert (message.origin.chat, message.origin.topic, message.addressed) == (str(chat), "", True)
