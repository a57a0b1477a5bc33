"""A thread is read when somebody turns to the bot in it."""

from __future__ import annotations

import pytest

from bot.domain import ChatDescription, PartialHistory
from bot.errors import DeliveryCategory, DeliveryError

from .conftest import Running, Shelf, group
from .test_message_edits import me


async def test_what_people_wrote_before_is_read_in_order(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    thread = people.make_thread(chat)
    people.says("lunch?", user=901, name="Ann", chat=thread)
    people.says("pizza", user=902, name="Ben", chat=thread)
    people.says("beep", user=903, name="Bot", chat=thread, is_bot=True)
    asked = people.says(f"{me(running)} what was it?", user=901, chat=thread)
    [message] = [one for one in await shelf.until(4) if one.addressed]
    assert message.origin.topic == str(thread)
    people.says("later", user=902, chat=thread)
    address = group(chat, thread)
    found = await running.adapter.earlier(address, str(asked.id), 10)
    said = [(one.sender.name, one.text, one.sender.is_bot) for one in found]
    assert said == [("Ann", "lunch?", False), ("Ben", "pizza", False), ("Bot", "beep", True)]
    assert found[0].link.startswith(f"{running.emulator.world.base}/channels/")
    assert not isinstance(found, PartialHistory)
    full = await running.adapter.earlier(address, str(asked.id), 2)
    assert [one.text for one in full] == ["pizza", "beep"]
    assert isinstance(full, PartialHistory)


async def test_a_thread_that_is_not_known_cannot_be_read(running: Running) -> None:
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.earlier(group(1, 2), "3", 10)
    assert caught.value.category is DeliveryCategory.NOT_FOUND


async def test_a_message_tells_whether_everybody_can_read_its_thread(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    places = (chat, people.make_thread(chat), people.make_thread(chat, private=True))
    for place in places:
        people.says(f"{me(running)} hello", chat=place)
    found = [one.origin for one in await shelf.until(3)]
    assert [one.chat for one in found] == [str(chat)] * 3
    assert [one.private_topic for one in found] == [False, False, True]


async def test_a_channel_is_described_with_its_server(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group("ops")
    running.emulator.people.says("hello", chat=chat)
    await shelf.until(1)
    found = await running.adapter.describe_chat(group(chat))
    assert found.title.startswith("#ops (")
    assert (found.people, found.visibility) == (0, "")
    assert not found.topics_only
    server = running.emulator.world.channels[chat].guild
    forum = running.emulator.people.make_channel(server.id if server else 0, "help", forum=True)
    post = running.emulator.people.make_thread(forum, "a post")
    running.emulator.people.says("hello", chat=post)
    await shelf.until(2)
    assert (await running.adapter.describe_chat(group(forum, post))).topics_only
    assert await running.adapter.describe_chat(group(1)) == ChatDescription()
