"""A thread is read when somebody turns to the bot in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import ChatDescription, ReplyAddress
from bot.errors import DeliveryError
from bot.platforms.chat_descriptions import RETRY_SECONDS
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import Running


async def mentioned(running: Running, heard: int, text: str, **more: str) -> tuple[ReplyAddress, str]:
    """Somebody turns to the bot after so many messages: where the answer goes, and the message's id."""
    await running.shelf.until(heard)
    address = await running.asked(text, **more)
    return address, running.shelf.messages[-1].origin.message_id


async def test_what_people_wrote_before_is_read_in_order(running: Running) -> None:
    people = running.emulator.people
    channel = people.make_channel("team")
    root = people.says("lunch?", user="U0ANN", name="Ann", channel=channel)
    people.says("pizza", user="U0BEN", name="Ben", channel=channel, thread=root.ts)
    address, asked = await mentioned(
        running, 2, "@roebot what was it?", user="U0ANN", channel=channel, thread=root.ts
    )
    people.says("later", user="U0BEN", channel=channel, thread=root.ts)
    found = await running.adapter.earlier(address, asked, 10)
    assert [(one.sender.name, one.text) for one in found] == [("Ann", "lunch?"), ("Ben", "pizza")]
    assert found[0].link.endswith(f"/archives/{channel}/p{root.ts.replace('.', '')}")
    assert [one.text for one in await running.adapter.earlier(address, asked, 1)] == ["pizza"]


async def test_its_own_words_are_not_read(running: Running) -> None:
    people = running.emulator.people
    channel = people.make_channel("team")
    root = people.says("lunch?", user="U0ANN", channel=channel)
    people.says("from an app", user=running.emulator.world.bot.id, channel=channel, thread=root.ts)
    address, asked = await mentioned(
        running, 1, "@roebot hello", user="U0ANN", channel=channel, thread=root.ts
    )
    assert [one.text for one in await running.adapter.earlier(address, asked, 10)] == ["lunch?"]


async def test_a_message_that_begins_a_thread_has_nothing_before(running: Running) -> None:
    channel = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot hello", channel=channel)
    assert await running.adapter.earlier(address, address.topic, 10) == ()


async def test_a_refusal_is_one_of_ours(running: Running, emulator: SlackEmulator) -> None:
    channel = running.emulator.people.make_channel("team")
    root = running.emulator.people.says("lunch?", channel=channel)
    address, asked = await mentioned(running, 1, "@roebot hello", channel=channel, thread=root.ts)
    emulator.fault("error", method="conversations.replies", status=200, description="missing_scope", times=-1)
    with pytest.raises(DeliveryError):
        await running.adapter.earlier(address, asked, 10)


async def test_a_channel_is_described_once_an_hour(running: Running) -> None:
    people = running.emulator.people
    public, private = people.make_channel("team"), people.make_channel("ops", private=True)
    several = people.make_channel("mpdm-a--b-1", group=True)
    address = await running.asked("@roebot hello", channel=public)
    adapter = running.adapter
    found = await adapter.describe_chat(address)
    assert (found.title, found.visibility) == ("#team", "public")
    assert (await adapter.describe_chat(replace(address, chat=private))).visibility == "private"
    assert await adapter.describe_chat(replace(address, chat=several)) == ChatDescription()
    asked = running.emulator.transcript.calls["conversations.info"]
    assert await adapter.describe_chat(address) == found
    assert running.emulator.transcript.calls["conversations.info"] == asked


async def test_a_channel_without_an_answer_has_no_name(running: Running, emulator: SlackEmulator) -> None:
    channel = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot hello", channel=channel)
    emulator.fault("error", method="conversations.info", status=200, description="missing_scope", times=-1)
    assert await running.adapter.describe_chat(address) == ChatDescription()
    emulator.clear_faults()
    running.clock.ahead += RETRY_SECONDS
    assert (await running.adapter.describe_chat(address)).title == "#team"
