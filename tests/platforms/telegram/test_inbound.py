"""Updates as Telegram sends them, and garbage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from telegram import Update

from bot.domain import AttachmentKind, ChatKind, InboundMessage, QuotationKind
from bot.platforms.payload import Malformed
from bot.platforms.telegram.adapter import TelegramAdapter
from bot.platforms.telegram.formatted_text import TelegramIdentity, read_text
from bot.platforms.telegram.inbound import ChatMigration, TelegramInbound
from roebot_testing.emulators.telegram import TelegramEmulator
from tests.corpus import load_samples
from tests.harness.profile import examples

from .conftest import QuickClock, Running, Shelf, account, eventually

WIRE = Path(__file__).parent / "wire"
UPDATES = {file.stem: json.loads(file.read_text()) for file in sorted(WIRE.glob("*.json"))}
US = TelegramIdentity(123456, "roebot_bot")


def convert(name: str, inbound: TelegramInbound | None = None) -> Any:
    return (inbound or TelegramInbound("tg", US)).convert(UPDATES[name])


@pytest.mark.parametrize("name", sorted(UPDATES))
def test_the_sdk_reads_the_fixtures_too(name: str) -> None:
    assert Update.de_json(UPDATES[name], None).update_id == UPDATES[name]["update_id"]


@pytest.mark.parametrize(
    ("name", "addressed", "text"),
    [
        ("private_text", True, "hello there"),
        ("private_command", True, "/status now"),
        ("group_mention", True, "👋 what is up? 😀"),
        ("group_chatter", False, "lunch, @grace_h?"),
        ("group_text_mention", True, "help me"),
        ("group_command_ours", True, "/new"),
        ("group_command_bare", True, "/help models"),
        ("group_command_other", False, "/start@other_bot"),
        ("supergroup_reply_to_bot", True, "and now?"),
        ("supergroup_reply_to_person", False, "I agree"),
        ("forum_topic_text", True, "plan"),
        ("forum_topic_chatter", False, "just talking"),
        ("album_first", True, "compare"),
        ("album_second", False, ""),
        ("document_with_caption", True, "summarize"),
    ],
)
def test_who_is_meant_and_what_is_said(name: str, addressed: bool, text: str) -> None:
    message = convert(name)
    assert (message.addressed, message.text) == (addressed, text)


@pytest.mark.parametrize(
    ("name", "chat", "topic", "reply_to"),
    [
        ("private_text", "5550001", "", ""),
        ("supergroup_reply_to_bot", "-1001987654321", "", "901"),
        ("supergroup_reply_to_person", "-1001987654321", "", "890"),
        ("forum_topic_text", "-1002222333344", "40", ""),
    ],
)
def test_where_it_was_said(name: str, chat: str, topic: str, reply_to: str) -> None:
    origin = convert(name).origin
    assert (origin.chat, origin.topic, origin.reply_to) == (chat, topic, reply_to)
    assert (origin.account, origin.platform) == ("tg", "telegram")


def test_the_whole_of_a_message() -> None:
    message = convert("group_mention")
    assert message.event_id == str(UPDATES["group_mention"]["update_id"])
    assert message.sent_at == 1795300000.0
    assert message.origin.chat_kind is ChatKind.GROUP
    sender = message.origin.sender
    assert (sender.id, sender.name, sender.username, sender.is_bot) == (
        "5550001",
        "Ada Byron",
        "ada_b",
        False,
    )


@pytest.mark.parametrize(
    ("name", "link"),
    [("private_text", ""), ("group_mention", ""), ("supergroup_reply_to_bot", "https://t.me/ops_room/902")],
)
def test_the_address_of_a_message(name: str, link: str) -> None:
    assert convert(name).link == link


def test_the_address_of_a_message_in_a_group_without_a_name() -> None:
    update = json.loads(json.dumps(UPDATES["supergroup_reply_to_bot"]))
    del update["message"]["chat"]["username"]
    assert TelegramInbound("tg", US).convert(update).link == "https://t.me/c/1987654321/902"


def test_an_album_is_meant_as_a_whole() -> None:
    inbound = TelegramInbound("tg", US)
    first, second = convert("album_first", inbound), convert("album_second", inbound)
    assert first.group_key == second.group_key == "13900001"
    assert second.addressed
    assert (first.attachments[0].ref, first.attachments[0].size) == ("AgAC1y", 121304)


def test_albums_are_not_remembered_for_ever() -> None:
    inbound = TelegramInbound("tg", US)
    for number in range(1000):
        update = json.loads(json.dumps(UPDATES["album_first"]))
        update["message"]["media_group_id"] = str(number)
        assert inbound.convert(update)
    assert len(inbound._albums) == 256


def test_a_document_and_its_name() -> None:
    [attachment] = convert("document_with_caption").attachments
    assert (attachment.kind, attachment.filename, attachment.mime, attachment.ref, attachment.size) == (
        AttachmentKind.FILE,
        "report.pdf",
        "application/pdf",
        "BQAC1",
        482133,
    )


def test_a_recording_is_a_file() -> None:
    message = convert("voice")
    [attachment] = message.attachments
    assert (attachment.kind, attachment.mime) == (AttachmentKind.VOICE, "audio/ogg")
    assert attachment.filename.startswith("voice_") and attachment.filename.endswith(".ogg")
    assert (message.text, message.quotations) == ("", ())


def test_a_sticker_is_its_emoji() -> None:
    message = convert("sticker")
    assert [one.kind for one in message.quotations] == [QuotationKind.STICKER]
    assert (message.text, message.attachments, message.unsupported) == ("", (), "")


@pytest.mark.parametrize("name", ["service_new_member", "linked_channel_post", "channel_post"])
def test_what_is_meant_for_nobody_is_heard_all_the_same(name: str) -> None:
    message = convert(name)
    assert not message.addressed
    assert message.text or message.quotations


def test_another_bot_may_address_this_one() -> None:
    message = convert("other_bot")
    assert message.addressed
    assert message.origin.sender.is_bot


def test_the_stop_button_of_a_draft_is_a_command() -> None:
    message = convert("stopped_generation")
    assert (message.text, message.addressed, message.event_id) == ("/stop", True, "812345694")
    assert (message.origin.chat, message.origin.sender.id) == ("5550001", "5550001")


@pytest.mark.parametrize("name", ["service_migrate_to", "service_migrate_from"])
def test_both_ends_of_a_migration_say_the_same(name: str) -> None:
    assert convert(name) == ChatMigration("-5123", "-1001987654321")


@pytest.mark.parametrize(
    ("text", "mention", "left"),
    [
        ("hello @roebot_bot how are you", (6, 11), "hello how are you"),
        ("@roebot_bot, please", (0, 11), "please"),
        ("thanks @roebot_bot", (7, 11), "thanks"),
        ("@roebot_bot", (0, 11), ""),
        ("(@roebot_bot)", (1, 11), "()"),
        ("a\n@roebot_bot b", (2, 11), "a\nb"),
    ],
)
def test_the_name_goes_and_the_sentence_stays(text: str, mention: tuple[int, int], left: str) -> None:
    entity = {"type": "mention", "offset": mention[0], "length": mention[1]}
    reading = read_text({"text": text, "entities": [entity]}, US)
    assert reading.named and reading.text == left


def test_a_command_after_the_name_is_one() -> None:
    entities = [
        {"type": "mention", "offset": 0, "length": 11},
        {"type": "bot_command", "offset": 12, "length": 7},
    ]
    reading = read_text({"text": "@roebot_bot /status", "entities": entities}, US)
    assert reading.command and reading.text == "/status"


def test_a_slash_in_mid_sentence_is_no_command() -> None:
    entities = [{"type": "bot_command", "offset": 4, "length": 4}]
    assert not read_text({"text": "use /etc for it", "entities": entities}, US).command


def test_a_half_surrogate_can_be_stored() -> None:
    update = json.loads(json.dumps(UPDATES["private_text"]))
    update["message"]["text"] = "bad \ud83d end"
    message = TelegramInbound("tg", US).convert(update)
    assert isinstance(message, InboundMessage)
    assert message.text.encode() == b"bad ? end"


EVENTS = [*UPDATES.values(), *(dict(sample.event) for sample in load_samples("telegram"))]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [path, *(place for key in value for place in _paths(value[key], (*path, key)))]
    if isinstance(value, list):
        return [path, *(place for index, item in enumerate(value) for place in _paths(item, (*path, index)))]
    return [path]


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A real update with some of its parts replaced by anything."""
    update = json.loads(json.dumps(draw(st.sampled_from(EVENTS))))
    for _ in range(draw(st.integers(1, 3))):
        places = [path for path in _paths(update) if path and path != ("update_id",)]
        path = draw(st.sampled_from(places))
        parent = update
        for step in path[:-1]:
            parent = parent[step]
        parent[path[-1]] = draw(JSON)
    return update


@settings(max_examples=examples(600), deadline=None)
@given(damaged())
def test_a_damaged_update_is_read_or_named_malformed_never_worse(update: dict[str, Any]) -> None:
    try:
        converted = TelegramInbound("tg", US).convert(update)
    except Malformed as error:
        assert len(str(error)) < 80
        return
    if isinstance(converted, InboundMessage):
        converted.text.encode()
        converted.origin.sender.name.encode()
        assert all(one.text.encode() or one.kind for one in converted.quotations)
        assert converted.event_id.lstrip("-").isdecimal()


async def test_poison_neither_blocks_nor_stops_what_follows(running: Running) -> None:
    emulator, poison = running.emulator, [{"message": 5}, {"message": {"chat": []}}, {"message": {}}, {}]
    for update in poison:
        emulator.people.says("before", user=7)
        emulator.inject(update)
    last = emulator.people.says("after", user=7)
    await running.shelf.until(len(poison) + 1)
    assert running.shelf.texts[-1] == "after"
    assert running.shelf.messages[-1].origin.message_id == str(last.id)
    assert running.adapter.counts.malformed == 3


async def test_updates_without_a_number_do_not_spin(running: Running) -> None:
    running.emulator.inject({"update_id": "seven", "message": {"text": "x"}})
    await eventually(lambda: running.adapter.counts.malformed)
    await eventually(lambda: running.clock.asked)
    running.emulator.queue.reset()
    running.emulator.people.says("fine", user=7)
    await running.shelf.until(1)


async def test_an_update_without_a_number_may_wait_for_the_first_poll(emulator: TelegramEmulator) -> None:
    emulator.inject({"update_id": "seven", "message": {"text": "x"}})
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), QuickClock())
    await running.start()
    await eventually(lambda: running.adapter.counts.malformed)
    await running.stop()


async def test_a_migration_comes_in_its_place(running: Running) -> None:
    people = running.emulator.people
    old = people.make_group("Team")
    people.says("@roebot_bot one", chat=old)
    new = people.migrates(old)
    people.says("@roebot_bot two", chat=new)
    await running.shelf.until(2)
    assert [message.origin.chat for message in running.shelf.messages] == [str(old), str(new)]
    assert set(running.shelf.migrations) == {(str(old), str(new))}


async def test_an_album_through_the_wire(running: Running) -> None:
    place = running.emulator.people.make_group("Team")
    running.emulator.people.sends_album(["@roebot_bot look", "", ""], chat=place)
    messages = await running.shelf.until(3)
    assert {message.group_key for message in messages} == {messages[0].group_key} != {""}
    assert [message.addressed for message in messages] == [True, True, True]
