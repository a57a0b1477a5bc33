"""A post of unknown outcome whose nonce Discord has forgotten: it is looked for in the channel."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.domain import ChatKind, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import DeliveryError
from bot.platforms.discord.adapter import DiscordAdapter
from bot.platforms.discord.earlier_posts import NONCE_SECONDS
from roebot_testing.emulators.discord import DiscordEmulator

from .conftest import QuickClock, Running, Shelf, account, group

LATER = 3600.0


class Times(QuickClock):
    """One time for the bot and for Discord, which a test puts forward."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = 0.0

    def now(self) -> float:
        return time.time() + self.shift


@pytest.fixture
async def times() -> Times:
    return Times()


@pytest.fixture
async def emulator(times: Times) -> AsyncIterator[DiscordEmulator]:
    async with DiscordEmulator.serve(limits=False, wall=times.now) as running:
        yield running


async def started(emulator: DiscordEmulator, times: Times) -> Running:
    running = Running(DiscordAdapter("dc", account(emulator)), emulator, Shelf(), times)
    await running.start()
    return running


def said(text: str, address: ReplyAddress, times: Times, key: str = "1:0") -> OutboundMessage:
    """A part of a turn that was accepted an instant ago."""
    return OutboundMessage(key, address, text, since=times.now())


def texts(emulator: DiscordEmulator, chat: int) -> list[str]:
    return [m["filename"] or m["text"] for m in emulator.view(chat)["messages"] if m["from_bot"]]


def reads(emulator: DiscordEmulator) -> int:
    return int(emulator.counters()["calls"].get("listMessages", 0))


async def lost(running: Running, message: OutboundMessage) -> None:
    """Discord posts a message, and the bot does not hear of it."""
    running.emulator.fault("drop", method="createMessage")
    with pytest.raises(DeliveryError):
        await running.adapter.send(message)


@pytest.mark.parametrize("private", [False, True])
async def test_found_by_the_next_life(emulator: DiscordEmulator, times: Times, private: bool) -> None:
    first = await started(emulator, times)
    chat = emulator.people.dm() if private else emulator.people.make_group()
    asked = emulator.people.says("go", chat=chat)
    kind = ChatKind.PRIVATE if private else ChatKind.GROUP
    here = ReplyAddress("dc", str(chat), kind, "", "" if private else str(asked.id))
    two = said("part two, so", here, times, "7:1")
    three = said("part three", here, times, "7:2")
    await first.adapter.send(said("part **one**", here, times, "7:0"))
    await lost(first, two)
    await first.stop()
    times.shift += LATER
    second = await started(emulator, times)
    number = await second.adapter.send(replace(two, text="part two, so far as it goes"))
    await second.adapter.send(three)
    assert texts(emulator, chat) == ["part **one**", "part two, so far as it goes", "part three"]
    assert number == str(emulator.view(chat)["messages"][-2]["message_id"])
    await second.stop()


async def test_found_by_a_late_repeat_in_the_same_life(emulator: DiscordEmulator, times: Times) -> None:
    running = await started(emulator, times)
    chat = emulator.people.make_group()
    once = said("once", group(chat, reply_to=emulator.people.says("go", chat=chat).id), times)
    await lost(running, once)
    times.shift += LATER
    await running.adapter.send(once)
    assert texts(emulator, chat) == ["once"]
    await running.stop()


async def test_a_file_is_found_too(emulator: DiscordEmulator, times: Times) -> None:
    running = await started(emulator, times)
    chat = emulator.people.make_group()
    here = group(chat, reply_to=emulator.people.says("go", chat=chat).id)
    file = OutboundFile("7:1", here, "report.md", "text/markdown", b"# Report", times.now())
    emulator.fault("drop", method="createMessage")
    with pytest.raises(DeliveryError):
        await running.adapter.send_file(file)
    times.shift += LATER
    await running.adapter.send_file(file)
    assert texts(emulator, chat) == ["report.md"]
    await running.stop()


@pytest.mark.parametrize("titles", [True, False])
@pytest.mark.parametrize("name", ["отчёт за март.csv", "季度报告.xlsx", "report (1).md", "файл"])
async def test_a_file_whose_name_the_server_changes_is_found_too(
    emulator: DiscordEmulator, times: Times, name: str, titles: bool
) -> None:
    emulator.world.titles = titles
    first = await started(emulator, times)
    chat = emulator.people.make_group()
    here = group(chat, reply_to=emulator.people.says("go", chat=chat).id)
    file = OutboundFile("7:1", here, name, "text/plain", b"12345", times.now())
    emulator.fault("drop", method="createMessage")
    with pytest.raises(DeliveryError):
        await first.adapter.send_file(file)
    await first.stop()
    times.shift += LATER
    second = await started(emulator, times)
    await second.adapter.send_file(file)
    await second.adapter.send_file(replace(file, key="7:2", filename="other.csv"))
    await second.adapter.send_file(replace(file, key="7:3", filename="другое.csv", data=b"123"))
    found = texts(emulator, chat)
    assert (len(found), found[1]) == (3, "other.csv")
    assert not titles or (found[0], found[2]) == (name, "другое.csv")
    await second.stop()


async def test_what_is_not_there_is_posted(emulator: DiscordEmulator, times: Times) -> None:
    """Other answers, other people's words and older messages are not taken for it."""
    first = await started(emulator, times)
    chat = emulator.people.make_group()
    before = group(chat, reply_to=emulator.people.says("go", chat=chat).id)
    await first.adapter.send(said("an answer", before, times, "6:0"))
    times.shift += LATER
    mine = said("an answer", group(chat, reply_to=emulator.people.says("again", chat=chat).id), times, "7:0")
    emulator.people.says("an answer", chat=chat)
    other = group(chat, reply_to=emulator.people.says("more", chat=chat).id)
    await first.adapter.send(said("an answer", other, times, "8:0"))
    await first.stop()
    times.shift += LATER
    second = await started(emulator, times)
    await second.adapter.send(mine)
    assert texts(emulator, chat) == ["an answer"] * 3
    await second.stop()


async def test_nothing_is_read_while_the_nonce_is_good(emulator: DiscordEmulator, times: Times) -> None:
    first = await started(emulator, times)
    chat = emulator.people.make_group()
    once = said("once", group(chat, reply_to=emulator.people.says("go", chat=chat).id), times)
    await lost(first, once)
    await first.stop()
    times.shift += NONCE_SECONDS / 2
    second = await started(emulator, times)
    before = reads(emulator)
    await second.adapter.send(once)
    assert texts(emulator, chat) == ["once"]
    assert reads(emulator) == before
    await second.stop()
