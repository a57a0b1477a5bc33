"""Edits by people, and what is forwarded together. Telegram tells bots of no deletion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.bus.admission import ALBUM_HOLD
from bot.domain import ChatKind, InboundChange, Mention, MentionKind
from bot.platforms.telegram.formatted_text import TelegramIdentity
from bot.platforms.telegram.inbound import TelegramInbound

from .conftest import Running, eventually

WIRE = Path(__file__).parent / "wire"
US = TelegramIdentity(123456, "roebot_bot")
FORWARDED = {
    "forward_origin": {
        "type": "user",
        "sender_user": {"id": 9, "is_bot": False, "first_name": "Eve"},
        "date": 1,
    }
}


def edited(**changes: Any) -> dict[str, Any]:
    update: dict[str, Any] = json.loads((WIRE / "edited_text.json").read_text())
    update["edited_message"] |= changes
    return update


def test_an_edit_says_what_the_message_says_now() -> None:
    change = TelegramInbound("tg", US).convert(edited())
    assert isinstance(change, InboundChange)
    assert (change.event_id, change.text, change.at) == ("812345687", "hello there!", 1795300005.0)
    origin = change.origin
    assert (origin.account, origin.chat, origin.message_id) == ("tg", "5550001", "11")
    assert (origin.chat_kind, origin.sender.id, origin.sender.name) == (
        ChatKind.PRIVATE,
        "5550001",
        "Ada Byron",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"from": {"id": US.id, "is_bot": True, "first_name": "Roebot"}},
        {"from": None},
        {"chat": {"id": -1, "type": "of next year"}},
    ],
)
def test_what_is_no_edit_of_a_message(changes: dict[str, Any]) -> None:
    update = edited(**changes)
    update["edited_message"] = {key: value for key, value in update["edited_message"].items() if value}
    assert TelegramInbound("tg", US).convert(update) is None


def test_a_live_location_tells_of_its_end_only() -> None:
    """It may move every few seconds for days, and no turn reads where it was meanwhile."""
    place = {"latitude": 52.5, "longitude": 13.4}
    inbound = TelegramInbound("tg", US)
    update = edited(location={**place, "live_period": 3600})
    del update["edited_message"]["text"]
    assert inbound.convert(update) is None
    update["edited_message"]["location"] = place
    change = inbound.convert(update)
    assert isinstance(change, InboundChange) and change.quotations
    assert "52.5" in change.quotations[0].text


async def test_edits_come_after_their_messages(running: Running) -> None:
    people = running.emulator.people
    place = people.make_group("Team")
    said = people.says("@roebot_bot one", chat=place)
    people.edits(place, said.id, "@roebot_bot two")
    people.says("@roebot_bot three", chat=place)
    await running.shelf.until(2)
    assert running.shelf.texts == ["one", "three"]
    [change] = running.shelf.changes
    assert (change.text, change.origin.chat, change.origin.message_id) == ("two", str(place), str(said.id))
    assert running.adapter.counts.edits == 1


async def test_an_edited_caption_too(running: Running) -> None:
    said = running.emulator.people.says("look", user=7, media="photo")
    await running.shelf.until(1)
    running.emulator.people.edits(7, said.id, "look here")
    await eventually(lambda: running.shelf.changes)
    [change], [message] = running.shelf.changes, running.shelf.messages
    assert (change.text, change.attachments) == ("look here", message.attachments)
    assert len(message.attachments) == 1


def test_an_edit_tells_of_files_and_of_who_is_mentioned_now() -> None:
    """The update has the whole new version of the message (core.telegram.org/bots/api#update)."""
    ben = {"id": 8, "is_bot": False, "first_name": "Ben"}
    update = edited(
        caption="for Ben",
        caption_entities=[{"type": "text_mention", "offset": 4, "length": 3, "user": ben}],
        document={"file_id": "f2", "file_unique_id": "u2", "file_name": "new.pdf", "file_size": 9},
    )
    del update["edited_message"]["text"]
    change = TelegramInbound("tg", US).convert(update)
    assert isinstance(change, InboundChange) and change.attachments is not None
    assert [(one.filename, one.size) for one in change.attachments] == [("new.pdf", 9)]
    assert change.mentions == (Mention(MentionKind.PERSON, "Ben", "8"),)


async def test_an_edit_that_comes_twice_is_one(running: Running) -> None:
    said = running.emulator.people.says("one", user=7)
    await running.shelf.until(1)
    running.emulator.queue.ignore_confirmations = 2
    running.emulator.people.edits(7, said.id, "two")
    await eventually(lambda: running.shelf.duplicates)
    assert [change.text for change in running.shelf.changes] == ["two"]


async def test_what_is_forwarded_belongs_together(running: Running) -> None:
    people = running.emulator.people
    people.says_many([{"text": str(number), "user": 7, "extra": FORWARDED} for number in range(3)])
    people.says("what do you think?", user=7)
    messages = await running.shelf.until(4)
    assert [bool(message.group_key) for message in messages] == [True, True, True, False]
    assert 0 < ALBUM_HOLD < 1
