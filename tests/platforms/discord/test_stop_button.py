"""A message that grows has a stop button; its final has none, whoever finishes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.domain import OutboundMessage, ReplyAddress
from bot.errors import DeliveryError
from bot.platforms.base import StreamsNatively
from bot.platforms.discord.adapter import DiscordAdapter
from bot.platforms.discord.components import STOP_LABEL
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.people import PERSON

from .conftest import QuickClock, Running, Shelf, account, eventually, group, private, says


def frame(text: str, address: ReplyAddress, key: str = "1:0", *, full: bool = False) -> OutboundMessage:
    return replace(says(text, address, key), final=False, full=full)


def seen(emulator: DiscordEmulator, chat: int | str) -> list[dict[str, Any]]:
    return [one for one in emulator.view(int(chat))["messages"] if one["from_bot"]]


def buttons(running: Running, address: ReplyAddress) -> list[list[str]]:
    return [one["buttons"] for one in seen(running.emulator, address.chat)]


async def test_it_is_there_while_the_message_grows(running: Running) -> None:
    assert isinstance(running.adapter, StreamsNatively)
    here = private(running.emulator)
    posted = await running.adapter.send(frame("one", here))
    assert (buttons(running, here), running.adapter.streaming(here, posted)) == ([[STOP_LABEL]], True)
    await running.adapter.edit(frame("one two", here), posted)
    assert buttons(running, here) == [[STOP_LABEL]]
    await running.adapter.edit(says("one two", here), posted)
    assert (buttons(running, here), running.adapter.streaming(here, posted)) == ([[]], False)


async def test_only_the_newest_part_has_it(running: Running) -> None:
    here = private(running.emulator)
    first = await running.adapter.send(frame("one", here))
    await running.adapter.edit(frame("one two", here, full=True), first)
    second = await running.adapter.send(frame("three", here, "1:1"))
    assert buttons(running, here) == [[], [STOP_LABEL]]
    streaming = running.adapter.streaming
    assert (streaming(here, first), streaming(here, second)) == (False, True)


async def test_the_final_puts_the_choices_in_its_place(running: Running) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(frame("Where", here))
    await running.adapter.edit(replace(says("Where to?", here), choices=("Berlin",)), posted)
    assert buttons(running, here) == [["Berlin"]]


async def test_a_message_that_is_gone_is_open_no_more(running: Running) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(frame("one", here))
    await running.adapter.delete(here, posted)
    assert not running.adapter.streaming(here, posted)


async def test_a_click_says_stop_for_who_clicked(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    here = group(chat)
    posted = await running.adapter.send(frame("one", here))
    running.emulator.people.presses(chat, int(posted), STOP_LABEL, user=PERSON + 1, name="Ben")
    [message] = await shelf.until(1)
    assert (message.text, message.clicked, message.addressed) == ("/stop", False, True)
    assert (message.origin.sender.id, message.origin.reply_to) == (str(PERSON + 1), posted)
    await eventually(lambda: running.emulator.transcript.calls["callback"] == 1)
    # What becomes of the run is not known yet, so the button stays until the final.
    assert [one["text"] for one in seen(running.emulator, chat)] == ["one"]
    assert buttons(running, here) == [[STOP_LABEL]]


async def test_a_click_in_a_thread_is_one_of_its_conversation(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    thread = running.emulator.people.make_thread(chat)
    posted = await running.adapter.send(frame("one", group(chat, thread)))
    running.emulator.people.presses(thread, int(posted), STOP_LABEL)
    [message] = await shelf.until(1)
    assert (message.origin.chat, message.origin.topic) == (str(chat), str(thread))


async def test_a_restart_leaves_a_button_that_works_and_can_be_taken_away(
    emulator: DiscordEmulator, shelf: Shelf
) -> None:
    first = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await first.start()
    here = private(emulator)
    posted = await first.adapter.send(frame("one", here))
    await first.stop()
    second = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await second.start()
    emulator.people.presses(int(here.chat), int(posted), STOP_LABEL)
    assert (await shelf.until(1))[0].text == "/stop"
    await second.adapter.edit(says("one", here), posted)
    assert buttons(second, here) == [[]]
    await second.stop()


async def test_a_click_that_was_stored_too_late_changes_nothing(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(frame("one", here))
    running.emulator.fault("error", method="callback", status=404)
    running.emulator.people.presses(int(here.chat), int(posted), STOP_LABEL)
    await shelf.until(1)
    running.emulator.people.says("goes on")
    assert [message.text for message in await shelf.until(2)] == ["/stop", "goes on"]
    assert buttons(running, here) == [[STOP_LABEL]]


async def test_a_button_that_was_taken_away_is_too_old(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    posted = await running.adapter.send(frame("one", here))
    await running.adapter.edit(says("one", here), posted)
    running.emulator.people.presses(int(here.chat), int(posted), "stop")
    await eventually(lambda: len(seen(running.emulator, here.chat)) == 2)
    assert "too old" in seen(running.emulator, here.chat)[1]["text"]
    assert shelf.messages == []


async def test_a_final_of_the_same_text_that_stands_already_loses_the_button(running: Running) -> None:
    here = private(running.emulator)
    running.emulator.fault("drop", method="createMessage")
    with pytest.raises(DeliveryError):
        await running.adapter.send(frame("one", here))
    await running.adapter.send(says("one", here))
    assert buttons(running, here) == [[]]


async def test_a_message_of_an_earlier_connection_may_be_open(running: Running) -> None:
    address = private(running.emulator)
    posted = await running.adapter.send(frame("one", address))
    await running.adapter.edit(says("one", address), posted)
    assert not running.adapter.streaming(address, posted)
    await running.stop()
    assert running.adapter.streaming(address, posted)
    await running.start()
    assert running.adapter.streaming(address, posted)
