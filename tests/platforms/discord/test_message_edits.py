"""Edits and deletions by people, in the order in which they happened."""

from __future__ import annotations

import pytest

from bot.domain import ChatKind, Mention, MentionKind, Quotation, QuotationKind
from bot.platforms.discord.cursor import read_cursor
from bot.platforms.discord.inbound import RECENT_EDIT
from roebot_testing.emulators.discord.people import PERSON

from .conftest import Running, Shelf, eventually, private, says


def me(running: Running) -> str:
    return f"<@{running.emulator.world.bot.id}>"


async def test_an_edit_says_what_the_message_says_now(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    said = people.says(f"{me(running)} first", chat=chat, name="Ada")
    people.edits(chat, said.id, f"{me(running)} second")
    people.says(f"{me(running)} third", chat=chat)
    await shelf.until(2)
    assert shelf.texts == ["first", "third"]
    [change] = shelf.changes
    assert (change.text, change.origin.chat, change.origin.message_id) == ("second", str(chat), str(said.id))
    assert (change.origin.sender.id, change.origin.chat_kind) == (str(PERSON), ChatKind.GROUP)
    assert change.at > 1_000_000_000
    assert running.adapter.counts.edits == 1


async def test_in_a_thread_it_has_the_chat_of_its_message(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    thread = people.make_thread(chat)
    said = people.says(f"{me(running)} first", chat=thread)
    people.deletes(thread, said.id)
    [message] = await shelf.until(1)
    await eventually(lambda: shelf.changes)
    [change] = shelf.changes
    assert (change.origin.chat, change.origin.topic) == (message.origin.chat, message.origin.topic)


async def test_a_deletion_names_the_message(running: Running, shelf: Shelf) -> None:
    said = running.emulator.people.says("first")
    running.emulator.people.deletes(running.emulator.people.dm(), said.id)
    await eventually(lambda: shelf.changes)
    [change] = shelf.changes
    assert (change.text, change.origin.message_id, change.origin.sender.id) == (None, str(said.id), "")
    assert change.origin.chat_kind is ChatKind.PRIVATE


async def test_many_deletions_at_once(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    said = [running.emulator.people.says(f"{me(running)} {n}", chat=chat) for n in range(3)]
    running.emulator.people.deletes_many(chat, [message.id for message in said])
    await eventually(lambda: len(shelf.changes) == 3)
    assert [change.origin.message_id for change in shelf.changes] == [str(message.id) for message in said]


async def test_two_edits_are_two_changes(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.dm()
    said = running.emulator.people.says("first")
    running.emulator.people.edits(chat, said.id, "second")
    running.emulator.people.edits(chat, said.id, "third")
    await eventually(lambda: len(shelf.changes) == 2)
    assert [change.text for change in shelf.changes] == ["second", "third"]


async def test_what_comes_twice_is_one_change(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.dm()
    said = running.emulator.people.says("first")
    running.emulator.people.edits(chat, said.id, "second")
    running.emulator.people.deletes(chat, said.id)
    await eventually(lambda: len(shelf.changes) == 2)
    running.emulator.redeliver(2)
    await eventually(lambda: shelf.duplicates == 2)


async def test_the_preview_of_a_link_changes_no_words(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.dm()
    said = running.emulator.people.says("see https://example.org/a")
    running.emulator.people.previews(chat, said.id)
    running.emulator.people.previews(chat, said.id)
    running.emulator.people.says("next")
    await shelf.until(2)
    [change] = shelf.changes
    assert (change.text, change.message) == ("see https://example.org/a", None)
    assert change.quotations == (Quotation(QuotationKind.PREVIEW, "[Example](https://example.org/)"),)
    assert shelf.duplicates == 1


async def test_an_edit_that_adds_a_mention_calls_the_bot(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    said = people.says("restart it", chat=chat)
    people.edits(chat, said.id, f"{me(running)} restart it")
    await eventually(lambda: shelf.changes)
    [change] = shelf.changes
    assert change.message is not None
    assert (change.message.event_id, change.message.text) == (str(said.id), "restart it")
    assert change.message.addressed


async def test_an_edit_tells_of_files_and_of_who_is_mentioned_now(running: Running, shelf: Shelf) -> None:
    people = running.emulator.people
    chat = people.make_group()
    said = people.says(f"{me(running)} look", chat=chat, data=b"x", filename="plan.txt")
    [message] = await shelf.until(1)
    people.says("hello", chat=chat, user=PERSON + 1, name="Ben")
    people.edits(chat, said.id, f"{me(running)} for <@{PERSON + 1}>")
    await eventually(lambda: shelf.changes)
    [change] = shelf.changes
    assert (change.text, change.attachments) == ("for @Ben", message.attachments)
    assert [one.filename for one in message.attachments] == ["plan.txt"]
    assert change.mentions == (Mention(MentionKind.PERSON, "Ben", str(PERSON + 1)),)


async def test_an_edit_may_remove_a_file_alone(running: Running, shelf: Shelf) -> None:
    """docs.discord.com/developers/resources/message#edit-message: `attachments` are those to keep."""
    people = running.emulator.people
    chat = people.dm()
    said = people.says("look", data=b"x", filename="plan.txt")
    people.edits(chat, said.id, "look here")
    people.updates(chat, said.id, attachments=[])
    await eventually(lambda: len(shelf.changes) == 2)
    files = [[one.filename for one in change.attachments or ()] for change in shelf.changes]
    assert (files, shelf.changes[1].attachments) == ([["plan.txt"], []], ())


@pytest.mark.guard(
    "Discord: a pin of a message that was edited long ago calls nobody",
    "bot/platforms/discord/inbound.py",
    "calls = edited and found.addressed and now - at <= RECENT_EDIT",
    "calls = edited and found.addressed",
    against="answers to edits",
)
async def test_a_pin_of_a_message_that_was_edited_long_ago_calls_nobody(
    running: Running, shelf: Shelf
) -> None:
    people = running.emulator.people
    chat = people.make_group()
    said = people.says("restart it", chat=chat)
    people.edits(chat, said.id, f"{me(running)} restart it")
    edited = said.edited_at
    for age in (RECENT_EDIT - 60, RECENT_EDIT + 60):
        said.edited_at = edited - age
        people.marks_pinned(chat, said.id)
    await eventually(lambda: len(shelf.changes) == 3)
    assert [one.message is not None for one in shelf.changes] == [True, True, False]


@pytest.mark.guard(
    "Discord: the preview of a link is no edit",
    "bot/platforms/discord/inbound.py",
    "at = parse_time(edited) if edited else found.sent_at",
    "at = parse_time(edited) if edited else now",
    against="answers to edits",
)
async def test_an_edit_comes_after_any_preview(running: Running, shelf: Shelf) -> None:
    """Discord tells no time of a preview; the clocks need not agree."""
    chat = running.emulator.people.dm()
    said = running.emulator.people.says("see https://example.org/a")
    running.emulator.people.previews(chat, said.id)
    await eventually(lambda: shelf.changes)
    assert [one.at for one in shelf.changes] == [shelf.messages[0].sent_at]


async def test_an_edit_without_the_bots_name_calls_nobody(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    said = running.emulator.people.says("one", chat=chat)
    running.emulator.people.edits(chat, said.id, "two")
    await eventually(lambda: shelf.changes)
    assert shelf.changes[0].message is None


async def test_the_bots_own_edits_are_none(running: Running, shelf: Shelf) -> None:
    here = private(running.emulator)
    answer = await running.adapter.send(says("mine", here))
    await running.adapter.edit(says("mine now", here), answer)
    running.emulator.people.says("next")
    await shelf.until(1)
    assert shelf.changes == []


async def test_a_change_moves_no_cursor(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.dm()
    said = running.emulator.people.says("first")
    last = running.emulator.people.says("last")
    running.emulator.people.edits(chat, said.id, "second")
    await eventually(lambda: shelf.changes)
    assert read_cursor(await shelf.cursor())[0].seen == last.id


async def test_malformed_changes_are_counted(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.dm()
    good = {"id": "5", "channel_id": str(chat)}
    running.emulator.inject("MESSAGE_DELETE", {"channel_id": str(chat)})
    running.emulator.inject("MESSAGE_DELETE_BULK", {**good, "ids": "7"})
    edit = {**good, "type": 0, "author": {"id": "9"}, "content": "x", "edited_timestamp": "yesterday"}
    running.emulator.inject("MESSAGE_UPDATE", edit)
    await eventually(lambda: running.adapter.counts.malformed == 3)
    assert shelf.changes == []
