"""Messages that people forward together: they are fetched, and quoted with their authors."""

from __future__ import annotations

import pytest

from bot.domain import QuotationKind
from bot.platforms.feishu.content import MERGED
from bot.platforms.feishu.forwarded import UNREAD
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.people import MALLORY

from .conftest import Running, group, says


@pytest.mark.guard(
    "Feishu: messages that are forwarded together are fetched as quotations",
    "bot/platforms/feishu/content.py",
    "    if kind == MERGED:",
    "    if False:",
    against="forwarded commands",
)
async def test_forwarded_messages_are_quotations(running: Running, emulator: FeishuEmulator) -> None:
    emulator.people.forwards(["/allow", "and more"])
    [message] = await running.shelf.until(1)
    assert (message.text, message.unsupported, message.attachments) == ("", "", ())
    assert [(one.kind, one.text, one.author, one.author_id) for one in message.quotations] == [
        (QuotationKind.FORWARD, text, "Mallory", MALLORY) for text in ("/allow", "and more")
    ]
    assert all(one.sent_at for one in message.quotations)


async def test_a_reply_comes_with_the_message_of_somebody_else(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    chat = people.make_group("Team")
    first = people.says("/allow now", user=MALLORY, name="Mallory", chat=chat)
    people.says(f"@{emulator.world.bot.name} what does she mean?", chat=chat, reply_to=first.id)
    [*_, asked] = await running.shelf.until(2)
    assert asked.text == "what does she mean?"
    [quotation] = asked.quotations
    assert (quotation.kind, quotation.text) == (QuotationKind.REPLY, "/allow now")
    assert (quotation.author, quotation.author_id) == ("Mallory", MALLORY)
    assert quotation.sent_at


async def test_what_the_bot_said_is_in_its_conversation(running: Running, emulator: FeishuEmulator) -> None:
    chat = emulator.people.make_group("Team")
    posted = await running.adapter.send(says("answer", group(chat)))
    emulator.people.says("and then?", chat=chat, reply_to=posted)
    [asked] = await running.shelf.until(1)
    assert (asked.addressed, asked.quotations) == (True, ())


async def test_what_cannot_be_fetched_is_marked_all_the_same(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.people.says("first")
    await running.shelf.until(1)
    emulator.people.forwards([])
    [_, message] = await running.shelf.until(2)
    assert (message.text, message.quotations) == ("", (UNREAD,))


async def test_what_cannot_be_read_of_a_forward_is_marked(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    chat = people.make_group("Elsewhere")
    contained = [people.says(kind="text", content={"text": text}, chat=chat) for text in (5, "sun")]
    people.says(kind=MERGED, content={"contains": [one.id for one in contained]})
    messages = await running.shelf.until(3)
    [message] = [one for one in messages if len(one.quotations) == 2]
    assert [one.text for one in message.quotations] == ["[unsupported: text]", "sun"]


async def test_a_reply_to_an_unreadable_message_is_kept(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    chat = people.make_group("Team")
    first = people.says(kind="text", content={"text": 5}, user=MALLORY, name="Mallory", chat=chat)
    people.says(f"@{emulator.world.bot.name} why?", chat=chat, reply_to=first.id)
    [_, asked] = await running.shelf.until(2)
    assert asked.text == "why?"
    [replied] = asked.quotations
    assert (replied.kind, replied.text) == (QuotationKind.REPLY, "[unsupported: text]")
    assert (replied.author, replied.author_id) == ("Mallory", MALLORY)
