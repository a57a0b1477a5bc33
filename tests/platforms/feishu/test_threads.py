"""A topic is read when somebody turns to the bot in it."""

from __future__ import annotations

import pytest

from bot.domain import ChatDescription
from bot.errors import DeliveryCategory, DeliveryError
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.state import TENANT, FeishuMessage

from .conftest import ADA, BEN, Running, group


async def begun(running: Running, *texts: str) -> tuple[str, FeishuMessage]:
    """A group and the first message of a topic in it, which those texts of Ben's answer."""
    people = running.emulator.people
    people.group_messages = False
    place = people.make_group("team")
    root = people.says("lunch?", user=ADA, name="Ada", chat=place)
    for text in texts:
        people.says(text, user=BEN, name="Ben", chat=place, reply_to=root.id, in_thread=True)
    return place, root


async def asked(running: Running, place: str, root: FeishuMessage) -> str:
    """Somebody turns to the bot in the topic: the message's id."""
    running.emulator.people.says(
        "@Roebot what was it?", user=ADA, chat=place, reply_to=root.id, in_thread=True
    )
    [message] = await running.shelf.until(1)
    assert message.origin.topic == root.thread_id
    return message.origin.message_id


async def test_what_people_wrote_before_is_read_in_order(running: Running) -> None:
    place, root = await begun(running, "pizza", "or @Ada cooks")
    before = await asked(running, place, root)
    running.emulator.people.says("later", user=BEN, chat=place, reply_to=root.id, in_thread=True)
    running.emulator.people.says("elsewhere", user=BEN, chat=place)
    address = group(place, root.thread_id)
    found = await running.adapter.earlier(address, before, 10)
    assert [(one.sender.name, one.text) for one in found] == [
        ("Ada", "lunch?"),
        ("Ben", "pizza"),
        ("Ben", "or @Ada cooks"),
    ]
    assert {one.sender.id for one in found} == {ADA, BEN}
    assert found[0].sender.belongs == (f"team:{TENANT}",)
    assert found[0].sent_at == root.created / 1000
    assert [one.text for one in await running.adapter.earlier(address, before, 1)] == ["or @Ada cooks"]


async def test_a_long_topic_is_read_page_by_page(running: Running) -> None:
    place, root = await begun(running, *(f"word {number}" for number in range(120)))
    before = await asked(running, place, root)
    found = await running.adapter.earlier(group(place, root.thread_id), before, 100)
    assert [one.text for one in found] == [f"word {number}" for number in range(20, 120)]
    assert running.calls("message.list") == 3


async def test_its_own_words_and_what_was_taken_back_are_not_read(
    running: Running, emulator: FeishuEmulator
) -> None:
    place, root = await begun(running, "pizza", "secret")
    secret = next(one for one in emulator.world.messages.values() if one.text == "secret")
    emulator.people.recalls(secret.id)
    bot = emulator.world.bot
    where = emulator.world.answer_place(root, in_thread=True)
    emulator.world.add(emulator.world.chats[place], bot, "text", {"text": "from an app"}, **where)
    before = await asked(running, place, root)
    found = await running.adapter.earlier(group(place, root.thread_id), before, 10)
    assert [one.text for one in found] == ["lunch?", "pizza"]


async def test_a_message_that_is_not_in_the_topic_has_nothing_before_it(running: Running) -> None:
    place, root = await begun(running, "pizza")
    assert await running.adapter.earlier(group(place, root.thread_id), "om_unknown", 10) == []


async def test_a_refusal_is_one_of_ours(running: Running, emulator: FeishuEmulator) -> None:
    place, root = await begun(running, "pizza")
    before = await asked(running, place, root)
    told = "230027 Lack of necessary permissions"
    emulator.fault("error", method="message.list", status=400, description=told, times=-1)
    with pytest.raises(DeliveryError) as caught:
        await running.adapter.earlier(group(place, root.thread_id), before, 10)
    assert caught.value.category is DeliveryCategory.PERMISSION


async def test_a_group_is_described_once_an_hour(running: Running, emulator: FeishuEmulator) -> None:
    chat = emulator.people.make_group("Team")
    emulator.people.says(f"@{emulator.world.bot.name} hello", chat=chat)
    await running.shelf.until(1)
    found = await running.adapter.describe_chat(group(chat))
    assert (found.title, found.visibility) == ("Team", "private")
    assert found.people > 0
    asked = emulator.transcript.calls["chat.get"]
    assert await running.adapter.describe_chat(group(chat)) == found
    assert emulator.transcript.calls["chat.get"] == asked
    assert await running.adapter.describe_chat(group("oc_unknown")) == ChatDescription()
