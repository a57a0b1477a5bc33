"""What people forward, quote or send through another bot: never their own words, and never a command."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import (
    ChatDescription,
    ChatKind,
    InboundChange,
    InboundMessage,
    Quotation,
    QuotationKind,
    ReplyAddress,
)
from bot.platforms.telegram.formatted_text import TelegramIdentity
from bot.platforms.telegram.inbound import TelegramInbound
from bot.platforms.unreadable import UNREADABLE

from .conftest import Running

US = TelegramIdentity(123456, "roebot_bot")
EVE = {"id": 9, "is_bot": False, "first_name": "Eve", "last_name": "Moss", "username": "eve"}
CHANNEL = {"id": -1001, "type": "channel", "title": "News", "username": "news"}
COMMAND = [{"type": "bot_command", "offset": 0, "length": 6}]


def converted(**more: Any) -> InboundMessage:
    """A message of Ada with these fields."""
    ada = {"id": 7, "is_bot": False, "first_name": "Ada"}
    chat = {"id": 7, "type": "private", "first_name": "Ada"}
    message = {"message_id": 5, "from": ada, "chat": chat, "date": 1_700_000_000, **more}
    found = TelegramInbound("tg", US).convert({"update_id": 1, "message": message})
    assert isinstance(found, InboundMessage)
    return found


@pytest.mark.guard(
    "Telegram: a forwarded text is not the forwarder's",
    "bot/platforms/telegram/message_reading.py",
    "    if is_by_others(message):",
    "    if False:",
    against="forwarded commands",
)
@pytest.mark.parametrize(
    ("origin", "author", "author_id"),
    [
        ({"type": "user", "sender_user": EVE}, "Eve Moss", "9"),
        ({"type": "hidden_user", "sender_user_name": "Somebody"}, "Somebody", ""),
        ({"type": "chat", "sender_chat": {"id": -5, "type": "group", "title": "Team"}}, "Team", "-5"),
        ({"type": "channel", "chat": CHANNEL, "message_id": 3}, "News", "-1001"),
        ({"type": "channel", "chat": CHANNEL, "author_signature": "Eve"}, "News (Eve)", "-1001"),
        ({"type": "of next year"}, "", ""),
    ],
)
def test_a_forward_names_its_author(origin: dict[str, Any], author: str, author_id: str) -> None:
    found = converted(text="/allow", entities=COMMAND, forward_origin={"date": 1, **origin})
    assert found.text == ""
    assert found.quotations == (Quotation(QuotationKind.FORWARD, "/allow", author, author_id, sent_at=1.0),)


def test_a_forwarded_file_belongs_to_the_quotation() -> None:
    document = {"file_id": "f", "file_name": "plan.pdf", "file_size": 3}
    origin = {"type": "user", "sender_user": EVE, "date": 1}
    found = converted(document=document, caption="/stop", forward_origin=origin)
    [quotation] = found.quotations
    assert (found.text, quotation.text, quotation.files) == ("", "/stop", ("plan.pdf",))
    assert [one.filename for one in found.attachments] == ["plan.pdf"]


def test_a_reply_quotes_a_part_of_what_it_answers() -> None:
    replied = {
        "message_id": 4,
        "from": EVE,
        "chat": {"id": 7, "type": "private"},
        "date": 1,
        "text": "a /allow",
    }
    quote = {"text": "/allow", "position": 2, "is_manual": True}
    found = converted(text="what is that?", reply_to_message=replied, quote=quote)
    assert (found.text, found.origin.reply_to) == ("what is that?", "4")
    assert found.quotations == (Quotation(QuotationKind.QUOTE, "/allow", "Eve Moss", "9", sent_at=1.0),)


REPLIED = {"message_id": 4, "from": EVE, "chat": {"id": 7, "type": "private"}, "date": 60}


@pytest.mark.parametrize(
    ("content", "text", "files"),
    [
        ({"text": "/allow\nnow"}, "/allow\nnow", ()),
        ({"document": {"file_id": "f", "file_name": "plan.pdf"}, "caption": "see"}, "see", ("plan.pdf",)),
        ({"voice": {"file_id": "f", "duration": 3}}, "[voice message]", ("voice_4.ogg",)),
    ],
)
def test_a_reply_to_somebody_else_comes_with_their_message(
    content: dict[str, Any], text: str, files: tuple[str, ...]
) -> None:
    found = converted(text="what does she mean?", reply_to_message={**REPLIED, **content})
    assert found.text == "what does she mean?"
    assert found.attachments == ()
    assert found.quotations == (Quotation(QuotationKind.REPLY, text, "Eve Moss", "9", files, 60.0),)
    assert found.quotations[0].message_id == str(REPLIED["message_id"])


def test_a_reply_to_a_forward_names_its_author() -> None:
    origin = {"type": "channel", "chat": CHANNEL, "date": 1}
    found = converted(text="true?", reply_to_message={**REPLIED, "text": "rain", "forward_origin": origin})
    assert [(one.text, one.author, one.author_id) for one in found.quotations] == [("rain", "News", "-1001")]


def test_what_the_bot_said_is_in_its_conversation() -> None:
    own = {"id": US.id, "is_bot": True, "first_name": "Roebot"}
    assert converted(text="why?", reply_to_message={**REPLIED, "from": own, "text": "no"}).quotations == ()


def test_a_topic_is_no_message_that_is_replied_to() -> None:
    first = {**REPLIED, "forum_topic_created": {"name": "plans"}}
    found = converted(text="hi", reply_to_message=first, is_topic_message=True, message_thread_id=4)
    assert found.origin.reply_to == ""
    started = 'Eve Moss created the topic "plans"'
    assert found.quotations == (
        Quotation(QuotationKind.THREAD_START, started, "Eve Moss", "9", sent_at=60.0),
    )


def test_a_reply_to_another_chat_quotes_it() -> None:
    external = {"origin": {"type": "channel", "chat": CHANNEL, "date": 1}, "chat": CHANNEL, "message_id": 3}
    found = converted(text="and?", external_reply=external, quote={"text": "rain", "position": 0})
    assert (found.text, found.origin.reply_to) == ("and?", "")
    assert found.quotations == (Quotation(QuotationKind.QUOTE, "rain", "News", "-1001", sent_at=1.0),)


@pytest.mark.guard(
    "Telegram: the result of an inline bot is that bot's",
    "bot/platforms/telegram/quotations.py",
    ' is not None or message.get("via_bot") is not None',
    " is not None",
    against="forwarded commands",
)
def test_the_result_of_an_inline_bot_is_that_bots() -> None:
    other = {"id": 55, "is_bot": True, "first_name": "Weather", "username": "weather_bot"}
    found = converted(text="/allow", entities=COMMAND, via_bot=other)
    assert found.text == ""
    assert found.quotations == (Quotation(QuotationKind.SHARED, "/allow", "Weather", "55"),)


@pytest.mark.guard(
    "Telegram: a changed forward does not become own words",
    "bot/platforms/telegram/inbound.py",
    "now = self._add_earlier(self._build_message(update, message, kind))",
    "now = self._build_message(update, {**message, 'forward_origin': None}, kind)",
    against="forwarded commands",
)
def test_a_changed_forward_does_not_become_the_forwarders_words() -> None:
    message = {
        "message_id": 5,
        "from": {"id": 7, "is_bot": False, "first_name": "Ada"},
        "chat": {"id": 7, "type": "private"},
        "date": 1,
        "edit_date": 2,
        "text": "/allow",
        "forward_origin": {"type": "user", "sender_user": EVE, "date": 1},
    }
    change = TelegramInbound("tg", US).convert({"update_id": 1, "edited_message": message})
    assert isinstance(change, InboundChange)
    assert change.text == ""
    assert change.quotations == (Quotation(QuotationKind.FORWARD, "/allow", "Eve Moss", "9", sent_at=1.0),)


async def test_a_forward_to_a_group_does_not_call_the_bot(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Team")
    people.forwards("@roebot_bot /allow", channel="News", user=7, chat=chat)
    said = people.says("@roebot_bot hi", user=7, chat=chat)
    people.quotes("@roebot_bot and this?", "hi", reply_to=said.id, user=8, chat=chat)
    [forward, _, quoting] = await running.shelf.until(3)
    assert (forward.addressed, forward.text, forward.origin.chat_kind) == (False, "", ChatKind.GROUP)
    assert (quoting.addressed, quoting.text) == (True, "and this?")
    assert [(one.kind, one.text, one.author_id) for one in quoting.quotations] == [
        (QuotationKind.QUOTE, "hi", "7")
    ]


async def test_a_group_is_described_by_its_last_message(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Team")
    people.says("hello", user=7, chat=chat)
    await running.shelf.until(1)
    address = ReplyAddress("tg", str(chat), ChatKind.GROUP)
    assert await running.adapter.describe_chat(address) == ChatDescription("Team", visibility="private")
    unknown = ReplyAddress("tg", "-77", ChatKind.GROUP)
    assert await running.adapter.describe_chat(unknown) == ChatDescription()


UNREADABLE_ORIGIN: dict[str, Any] = {"forward_origin": {"type": "user", "sender_user": "Eve"}}


@pytest.mark.parametrize(
    ("more", "text", "kind"),
    [
        ({"reply_to_message": "rain"}, "why?", QuotationKind.REPLY),
        ({"reply_to_message": {"message_id": "4", "text": "rain"}}, "why?", QuotationKind.REPLY),
        ({"reply_to_message": {"message_id": 4, "from": "Eve", "text": "rain"}}, "why?", QuotationKind.REPLY),
        ({"reply_to_message": {"message_id": 4, "from": EVE, "text": 5}}, "why?", QuotationKind.REPLY),
        ({"quote": {"text": ["rain"]}}, "why?", QuotationKind.REPLY),
        (UNREADABLE_ORIGIN, "", QuotationKind.FORWARD),
        ({"forward_origin": "Eve"}, "", QuotationKind.FORWARD),
        ({"via_bot": "Weather"}, "", QuotationKind.SHARED),
    ],
)
def test_what_cannot_be_read_of_a_quotation_leaves_the_message(
    more: dict[str, Any], text: str, kind: QuotationKind
) -> None:
    found = converted(text="why?", **more)
    assert found.text == text
    assert found.quotations == (Quotation(kind, UNREADABLE),)


def test_the_file_of_an_unreadable_forward_is_not_the_forwarders() -> None:
    document = {"file_id": "f", "file_name": "plan.pdf", "file_size": 3}
    found = converted(document=document, **UNREADABLE_ORIGIN)
    assert found.quotations == (Quotation(QuotationKind.FORWARD, UNREADABLE, files=("plan.pdf",)),)
