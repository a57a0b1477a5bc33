"""What a group sees: alerts of apps, replies, forwards, recordings, and senders who have no name."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest

from bot.content import inline_text
from bot.dispatch.run.message_lines import format_messages
from bot.domain import InboundMessage, QuotationKind
from bot.features.record.record_store import list_recorded, record_message
from bot.platforms.telegram.formatted_text import TelegramIdentity
from bot.platforms.telegram.inbound import TelegramInbound
from bot.store import Database

from .conftest import Running, eventually

US = TelegramIdentity(123456, "roebot_bot")
GRAPH = "https://grafana.example.com/d/checkout"
ADA, BEN = 7, 8


def read(message: InboundMessage) -> str:
    """Return what the agent reads of a message."""
    quoted = [part for one in message.quotations for part in (one.author, inline_text(one), *one.files)]
    return "\n".join([message.origin.sender.name, message.text, *quoted])


async def ask_about_alert(running: Running) -> list[InboundMessage]:
    """An app posts an alert, Ben replies to it, and Ada asks about it in a reply."""
    people = running.emulator.people
    chat = people.make_group("Operations", supergroup=True)
    people.renames_person(ADA, "Ada Byron")
    alert = people.posts(
        name="Example Alerts",
        title="High error rate",
        fields={"Service": "checkout", "Errors": "12 %"},
        buttons={"Open graph": GRAPH, "Acknowledge": ""},
        chat=chat,
    )
    people.says("the deploy of 14:02, I think", user=BEN, name="Ben Voss", chat=chat, reply_to=alert.id)
    people.says("@roebot_bot what is this?", user=ADA, chat=chat, reply_to=alert.id)
    return await running.shelf.until(3)


async def test_a_question_about_an_alert_comes_with_the_alert(running: Running) -> None:
    [alert, reply, question] = await ask_about_alert(running)
    assert (alert.addressed, reply.addressed, question.addressed) == (False, False, True)
    assert alert.origin.sender.is_bot
    assert question.text == "what is this?"
    expected = (
        "Example Alerts",
        "High error rate",
        "Service: checkout",
        "Errors: 12 %",
        GRAPH,
        "Acknowledge",
    )
    for message in (alert, reply, question):
        assert [text for text in expected if text not in read(message)] == []
    assert "press:" not in read(question)


async def test_the_record_has_the_alert_and_the_reply(running: Running, database: Database) -> None:
    messages = await ask_about_alert(running)
    for message in messages:
        await database.transact(record_message, message, message.sent_at)
    origin = messages[0].origin
    recorded = await database.transact(list_recorded, "tg", origin.chat, 0.0, 1e12)
    lines, _ = format_messages(recorded, "telegram", UTC, 100_000)
    shown = "\n".join(lines)
    for text in (
        "Example Alerts",
        "High error rate",
        "Errors: 12 %",
        GRAPH,
        "the deploy of 14:02",
        "Ben Voss",
    ):
        assert text in shown


async def test_a_forwarded_alert_keeps_its_buttons_and_its_app(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    alert = people.posts("@roebot_bot /allow", name="Example Alerts", buttons={"Graph": GRAPH}, chat=chat)
    people.forwards_message(chat, alert.id, user=ADA)
    [_, forward] = await running.shelf.until(2)
    [quotation] = forward.quotations
    assert forward.text == ""
    assert (quotation.kind, quotation.author) == (QuotationKind.FORWARD, "Example Alerts")
    assert quotation.text == f"@roebot_bot /allow\n[Graph]({GRAPH})"


@pytest.mark.guard(
    "Telegram: a card of an app is not its own words",
    "bot/platforms/telegram/message_reading.py",
    "        if read_sender(message).is_bot:",
    "        if False:",
    against="forwarded commands",
)
async def test_the_mention_in_a_card_does_not_call_the_bot(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    people.posts(title="@roebot_bot /allow", fields={"@roebot_bot": "/stop"}, chat=chat)
    people.posts("see below", buttons={"@roebot_bot /allow": ""}, chat=chat)
    people.posts("@roebot_bot hello", chat=chat)
    messages = await running.shelf.until(3)
    assert [message.addressed for message in messages] == [False, False, True]
    assert [message.text for message in messages] == ["", "see below", "hello"]


async def test_an_edit_that_adds_the_mention_comes_with_the_message(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    alert = people.posts("disk full", name="Example Alerts", chat=chat)
    said = people.says("what is that?", user=ADA, chat=chat, reply_to=alert.id)
    people.edits(chat, said.id, "@roebot_bot what is that?")
    people.edits(chat, said.id, "never mind")
    await eventually(lambda: len(running.shelf.changes) == 2)
    [added, removed] = running.shelf.changes
    assert added.message is not None
    assert (added.message.text, added.message.addressed) == ("what is that?", True)
    assert added.message.event_id == added.event_id
    assert [one.text for one in added.message.quotations] == ["disk full"]
    assert removed.message is None


async def test_recordings_stickers_and_polls(running: Running) -> None:
    people = running.emulator.people
    voice = people.records_voice(user=ADA)
    people.sends_sticker("🎉", user=ADA)
    people.asks_in_poll("Lunch?", ["Noodles", "Canteen"], user=ADA)
    people.says("what did I say?", user=BEN, reply_to=voice.id)
    [recording, sticker, poll, _] = await running.shelf.until(4)
    assert recording.attachments[0].filename == f"voice_{voice.id}.ogg"
    assert [(one.kind, one.text) for one in sticker.quotations] == [(QuotationKind.STICKER, "🎉")]
    assert [one.text for one in poll.quotations] == ["Lunch?\n- Noodles\n- Canteen\nanonymous"]


@pytest.mark.guard(
    "Telegram: an anonymous admin is the group, not an account that all anonymous admins share",
    "bot/platforms/telegram/names.py",
    "        return Sender(str(number), _add_detail(chat_name(chat), signature), is_bot=is_elsewhere)",
    "        pass",
    against="mistaken identity",
)
async def test_an_anonymous_admin_is_the_group_and_no_person(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations", supergroup=True)
    people.says_anonymously("@roebot_bot hi", chat=chat, signature="Duty officer")
    people.says_as_channel("@roebot_bot hi", channel="Example News", number=-1005, chat=chat)
    [admin, channel] = [message.origin.sender for message in await running.shelf.until(2)]
    assert (admin.id, admin.name, admin.username) == (str(chat), "Operations (Duty officer)", "")
    assert (channel.id, channel.name, channel.username) == ("-1005", "Example News", "")
    assert not admin.is_bot
    assert channel.is_bot, "no rule for people or for the group covers it"


async def test_a_tag_is_no_part_of_a_members_name(running: Running) -> None:
    """`@Ada` mentions Ada, whatever her tag (core.telegram.org/bots/api#message, `sender_tag`)."""
    people = running.emulator.people
    chat = people.make_group("Operations", supergroup=True)
    people.says("one", user=ADA, name="Ada", chat=chat, extra={"sender_tag": "Release\nmanager"})
    [message] = await running.shelf.until(1)
    sender = message.origin.sender
    assert (sender.name, sender.tag, sender.shown_name) == ("Ada", "Release manager", "Ada (Release manager)")


async def test_a_new_name_is_read_with_the_next_message(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    people.says("one", user=ADA, name="Ada", chat=chat)
    people.renames_person(ADA, "Ada King")
    people.says("two", user=ADA, chat=chat)
    messages = await running.shelf.until(2)
    assert [message.origin.sender.name for message in messages] == ["Ada", "Ada King"]


async def test_a_guest_bot_names_who_called_it_and_a_pin_what_was_pinned(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    answer = people.posts("No storm", name="Weather", caller=BEN, chat=chat)
    people.pins(chat, answer.id, user=ADA)
    [guest, pin] = await running.shelf.until(2)
    assert "Person 8 summoned this bot" in read(guest)
    assert not pin.addressed
    assert [one.kind for one in pin.quotations] == [QuotationKind.NOTICE, QuotationKind.QUOTE]
    assert "Person 7 pinned a message" in read(pin) and "No storm" in read(pin)


def convert(**fields: Any) -> InboundMessage:
    ada = {"id": ADA, "is_bot": False, "first_name": "Ada"}
    chat = {"id": -5, "type": "group", "title": "Team"}
    message = {"message_id": 5, "from": ada, "chat": chat, "date": 1_700_000_000, **fields}
    found = TelegramInbound("tg", US).convert({"update_id": 1, "message": message})
    assert isinstance(found, InboundMessage)
    return found


@pytest.mark.parametrize("album", ["13900001", 13900001])
def test_the_id_of_an_album_may_be_a_number(album: Any) -> None:
    assert convert(photo=[{"file_id": "f"}], media_group_id=album).group_key == "13900001"


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"poll": 5}, "poll"),
        ({"poll": {"question": "x", "options": 5}}, "poll"),
        ({"location": {"latitude": "north"}}, "location"),
        ({"checklist": {"title": "x", "tasks": [5]}}, "checklist"),
        ({"contact": []}, "contact"),
        ({"reply_markup": {"inline_keyboard": [[5]]}}, "reply_markup"),
        ({"giveaway": {"winner_count": "many"}}, "giveaway"),
    ],
)
def test_damaged_content_leaves_the_words(fields: dict[str, Any], kind: str) -> None:
    found = convert(text="hello", **fields)
    assert found.text == "hello"
    assert [(one.kind, one.text) for one in found.quotations] == [(QuotationKind.UNSUPPORTED, kind)]


def test_damaged_files_and_notices_leave_the_message() -> None:
    assert convert(caption="look", photo=5).text == "look"
    [notice] = convert(video_chat_ended={"duration": "long"}).quotations
    assert notice.text == "Ada: video chat ended [unreadable]"
    assert convert(text="hello", entities=[{"type": "mention", "offset": "0"}, 5]).text == "hello"


def nested(depth: int) -> dict[str, Any]:
    """A rich message of lists within each other."""
    block: dict[str, Any] = {"type": "paragraph", "text": "deep"}
    for _ in range(depth):
        block = {"type": "list", "items": [{"label": "-", "blocks": [block]}]}
    return {"blocks": [block]}


def test_a_rich_message_of_a_person_is_their_own_words() -> None:
    mention = {"type": "mention", "text": "@roebot_bot", "username": "roebot_bot"}
    command = {"type": "bot_command", "text": "/status", "bot_command": "status"}
    blocks = [{"type": "paragraph", "text": [mention, " ", command, " now"]}]
    found = convert(rich_message={"blocks": blocks})
    assert (found.addressed, found.text, found.quotations) == (True, "/status now", ())


def test_the_command_of_another_bot_in_a_rich_message_does_not_hide_the_mention() -> None:
    mention = {"type": "mention", "text": "@roebot_bot", "username": "roebot_bot"}
    command = {"type": "bot_command", "text": "/new@ci_bot", "bot_command": "new"}
    found = convert(
        rich_message={"blocks": [{"type": "paragraph", "text": [command, " fails, ", mention, " why?"]}]}
    )
    assert (found.addressed, found.text) == (True, "`/new@ci_bot` fails, why?")


@pytest.mark.parametrize("depth", [10, 500])
def test_a_deep_rich_message_is_read_to_a_limit(depth: int) -> None:
    text = convert(rich_message=nested(depth)).text
    assert ("deep" in text) == (depth == 10)
    assert len(text) < 4000


def test_an_ephemeral_message_has_no_id_to_reply_to() -> None:
    replied = {
        "message_id": 4,
        "date": 1,
        "text": "hi",
        "from": {"id": 8, "is_bot": False, "first_name": "Ben"},
    }
    entities = [{"type": "bot_command", "offset": 0, "length": 7}]
    found = convert(message_id=0, text="/status", entities=entities, reply_to_message=replied)
    assert (found.addressed, found.text, found.origin.message_id) == (True, "/status", "")
