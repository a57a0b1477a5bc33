"""What people and other apps send besides words, from their action to the message of the domain."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import (
    AttachmentKind,
    ChatKind,
    InboundChange,
    InboundMessage,
    Mention,
    MentionKind,
    Quotation,
    QuotationKind,
)
from bot.errors import DeliveryError
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.people import MALLORY

from .conftest import ADA, BEN, Running, eventually, group

ALERT: dict[str, Any] = {
    "schema": "2.0",
    "header": {"title": {"tag": "plain_text", "content": "[critical] Checkout errors"}},
    "body": {
        "elements": [
            {"tag": "markdown", "content": "Error rate **7.4 %** in `eu-west`, <at id=ou_elsewhere></at>"},
            {
                "tag": "div",
                "fields": [{"text": {"tag": "lark_md", "content": "**Since**\n09:12"}}],
            },
            {
                "tag": "button",
                "text": {"tag": "plain_text", "content": "Runbook"},
                "behaviors": [{"type": "open_url", "default_url": "https://wiki.example.com/chk-3"}],
            },
        ]
    },
}
ALERT_TEXT = (
    "[critical] Checkout errors\nError rate **7.4 %** in `eu-west`, @somebody\n**Since** 09:12\n"
    "[Runbook](https://wiki.example.com/chk-3)"
)


async def last(running: Running, count: int = 1) -> InboundMessage:
    """Return the newest of that many messages; events of several chats come side by side."""
    return max(await running.shelf.until(count), key=lambda one: one.event_id)


def quoted(message: InboundMessage) -> list[tuple[QuotationKind, str, str]]:
    return [(one.kind, one.text, one.author) for one in message.quotations]


async def test_an_alert_and_its_answers_are_read_in_their_topic(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    people.says("the import?", user=BEN, name="Ben", chat=place, reply_to=alert.id, in_thread=True)
    asked = people.says("@Roebot what is this?", name="Ada", chat=place, reply_to=alert.id, in_thread=True)
    message = await last(running, 2)
    assert (message.text, message.origin.sender.name, message.addressed) == ("what is this?", "Ada", True)
    found = await running.adapter.earlier(group(place, asked.thread_id), asked.id, 10)
    assert [(one.sender.name, one.sender.is_bot, one.text) for one in found] == [
        ("Alert Bot", True, ""),
        ("Ben", False, "the import?"),
    ]
    assert [one.text for one in found[0].quotations] == [ALERT_TEXT]
    [newest] = await running.adapter.earlier(group(place, asked.thread_id), asked.id, 1)
    assert [(one.kind, one.text, one.author) for one in newest.quotations] == [
        (QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")
    ]


async def test_an_alert_and_its_answer_come_with_a_reply(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    place = people.make_group("team")
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    answer = people.says("the import?", user=BEN, name="Ben", chat=place, reply_to=alert.id)
    people.says("@Roebot what is this?", chat=place, reply_to=answer.id)
    message = await last(running, 2)
    assert (message.text, message.addressed) == ("what is this?", True)
    assert quoted(message) == [
        (QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot"),
        (QuotationKind.REPLY, "the import?", "Ben"),
    ]


async def test_the_start_comes_with_a_mention_where_the_history_is_refused(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    told = "230027 Lack of necessary permissions"
    emulator.fault("error", method="message.list", status=400, description=told, times=-1)
    found = []
    for number in range(2):
        alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
        inside: dict[str, Any] = {"chat": place, "reply_to": alert.id, "in_thread": True}
        asked = people.says("@Roebot what is this?", **inside)
        found.append(await last(running, 2 * number + 1))
        with pytest.raises(DeliveryError):
            await running.adapter.earlier(group(place, asked.thread_id), asked.id, 10)
        people.says("@Roebot and?", **inside)
        found.append(await last(running, 2 * number + 2))
    start = [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]
    assert [quoted(one) for one in found] == [[], start, start, []]


@pytest.mark.parametrize("failing", ["fetch", "store"])
async def test_the_start_comes_with_the_next_mention_where_this_one_failed(
    running: Running, emulator: FeishuEmulator, failing: str
) -> None:
    people = emulator.people
    place = people.make_group("team")
    told = "230027 Lack of necessary permissions"
    emulator.fault("error", method="message.list", status=400, description=told, times=-1)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    inside: dict[str, Any] = {"chat": place, "reply_to": alert.id, "in_thread": True}
    asked = people.says("@Roebot what is this?", **inside)
    await running.shelf.until(1)
    with pytest.raises(DeliveryError):
        await running.adapter.earlier(group(place, asked.thread_id), asked.id, 10)
    if failing == "fetch":
        emulator.fault("error", method="message.get", status=400, description="230002 not now")
        people.says("@Roebot and?", **inside)
        await running.shelf.until(2)
    else:
        running.shelf.refuse = 1
        people.says("@Roebot and?", **inside)
        await eventually(lambda: running.shelf.refused == 1)
    people.says("@Roebot now?", **inside)
    await eventually(lambda: "now?" in running.shelf.texts)
    [message] = [one for one in running.shelf.messages if one.text == "now?"]
    assert quoted(message) == [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]


@pytest.mark.guard(
    "Feishu: a card that mentions the bot does not call it in the name of who passes it on",
    "bot/platforms/feishu/inbound.py",
    "(content.named and (is_app or _is_own_words(message)))",
    "content.named",
    against="forwarded commands",
)
async def test_a_card_that_mentions_the_bot_addresses_it_by_its_app_alone(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    people.app_says("@Roebot", app="Alert Bot", chat=place, card=ALERT)
    by_app = await last(running)
    assert (by_app.addressed, by_app.text, by_app.origin.sender.is_bot) == (True, "", True)
    assert quoted(by_app) == [(QuotationKind.CARD, ALERT_TEXT, "")]
    people.says("@Roebot", chat=place, kind="interactive", content=ALERT)
    passed_on = await last(running, 2)
    assert (passed_on.addressed, passed_on.text) == (False, "")
    assert quoted(passed_on) == [(QuotationKind.CARD, ALERT_TEXT, "")]


async def test_a_forward_within_a_forward_has_its_authors(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    place = people.make_group("Elsewhere")
    first = people.says("/allow all", user=MALLORY, name="Mallory", chat=place)
    inner = people.forwards_together([first.id], user=BEN, name="Ben", chat=place)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    people.forwards_together([inner.id, alert.id])
    message = await last(running, 3)
    assert (message.text, message.origin.chat_kind) == ("", ChatKind.PRIVATE)
    assert quoted(message) == [
        (QuotationKind.FORWARD, "[forwarded messages]", "Ben"),
        (QuotationKind.FORWARD, "/allow all", "Mallory"),
        (QuotationKind.FORWARD, ALERT_TEXT, "Alert Bot"),
    ]
    assert running.calls("message.get") == 2


async def test_nothing_that_is_slow_to_fetch_is_waited_for(
    running: Running, emulator: FeishuEmulator
) -> None:
    for method in ("message.get", "user.get", "chat.get"):
        emulator.fault("slow", method=method, seconds=600.0, times=-1)
    people = emulator.people
    place = people.make_group("team")
    people.forwards(["sun"])
    people.app_says("@Roebot hi", app="Alert Bot", chat=place)
    asked = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    people.says("@Roebot what is this?", chat=place, reply_to=asked.id)
    messages = await running.shelf.until(3)
    found = {one.text: [quotation.text for quotation in one.quotations] for one in messages}
    assert found == {
        "": ["[Merged and Forwarded Message]"],
        "hi": [],
        "what is this?": ["[message not available]"],
    }


async def test_a_mention_in_a_forward_does_not_call_the_bot(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("Elsewhere")
    said = people.says("@Roebot /allow", user=MALLORY, name="Mallory", chat=place)
    people.forwards_together([said.id], chat=people.make_group("team"))
    message = await last(running, 2)
    assert (message.addressed, message.text) == (False, "")
    assert quoted(message) == [(QuotationKind.FORWARD, "/allow", "Mallory")]


async def test_files_and_forwards_in_a_topic_are_read(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    place = people.make_group("team")
    root = people.says(kind="file", filename="plan.pdf", name="Ada", chat=place)
    inside = {"chat": place, "reply_to": root.id, "in_thread": True}
    people.forwards(["sun"], **inside)
    people.app_says("done", app="Deploy Bot", **inside)
    asked = people.says("@Roebot well?", **inside)
    await running.shelf.until(3)
    found = await running.adapter.earlier(group(place, asked.thread_id), asked.id, 10)
    assert [(one.sender.name, one.text, [*map(_text, one.quotations)]) for one in found] == [
        ("Ada", "[plan.pdf]", []),
        ("Ada", "", [(QuotationKind.FORWARD, "Mallory", "sun")]),
        ("Deploy Bot", "done", []),
    ]


def _text(quotation: Quotation) -> tuple[QuotationKind, str, str]:
    return quotation.kind, quotation.author, quotation.text


async def test_a_card_that_is_forwarded_alone_is_no_words(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    alert = people.app_says(app="Alert Bot", chat=people.make_group("team"), card=ALERT)
    people.forwards_one(alert.id)
    message = await last(running)
    assert message.is_quotation_only
    assert quoted(message) == [(QuotationKind.CARD, ALERT_TEXT, "")]


@pytest.mark.parametrize(
    ("kind", "said", "quotation"),
    [
        ("sticker", "", (QuotationKind.STICKER, "", "")),
        ("location", "Tower", (QuotationKind.LOCATION, "Tower\n52.52, 13.405", "")),
    ],
)
async def test_a_sticker_and_a_place(
    running: Running,
    emulator: FeishuEmulator,
    kind: str,
    said: str,
    quotation: tuple[QuotationKind, str, str],
) -> None:
    emulator.people.says(said, kind=kind)
    assert quoted(await last(running)) == [quotation]


async def test_a_voice_message_can_be_fetched(running: Running, emulator: FeishuEmulator) -> None:
    emulator.people.says(kind="audio", data=b"sound")
    [voice] = (await last(running)).attachments
    assert (voice.kind, voice.mime) == (AttachmentKind.VOICE, "audio/ogg")
    assert b"".join([part async for part in running.adapter.fetch(voice)]) == b"sound"


async def test_a_contact_and_a_group_have_names(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    emulator.world.person(BEN, "Ben")
    people.says(kind="share_user", content={"user_id": BEN})
    people.says(kind="share_chat", content={"chat_id": people.make_group("Payments")})
    messages = await running.shelf.until(2)
    assert [quoted(one) for one in messages] == [
        [(QuotationKind.CONTACT, "Ben", "")],
        [(QuotationKind.CONTACT, "Payments\ngroup", "")],
    ]


async def test_one_person_who_cannot_be_seen_hides_no_others(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.people.says(kind="share_user", content={"user_id": "ou_stranger"})
    emulator.people.says("hello", name="Ada")
    messages = await running.shelf.until(2)
    assert messages[0].unsupported == "share_user"
    assert messages[1].origin.sender.name == "Ada"


async def test_mentions_have_names_and_ids(running: Running, emulator: FeishuEmulator) -> None:
    emulator.world.person(BEN, "Ben")
    emulator.people.says("@Roebot ask @Ben and @all", chat=emulator.people.make_group("team"))
    message = await last(running)
    assert message.text == "ask @Ben and @all"
    assert message.mentions == (Mention(MentionKind.PERSON, "Ben", BEN),)


async def test_an_edit_that_adds_a_mention_brings_the_message(
    running: Running, emulator: FeishuEmulator
) -> None:
    place = emulator.people.make_group("team")
    said = emulator.people.says("the build is red", name="Ada", chat=place)
    emulator.people.edits(said.id, "the build is red again")
    emulator.people.edits(said.id, "@Roebot the build is red")
    await eventually(lambda: len(running.shelf.changes) == 2)
    first, second = running.shelf.changes
    assert isinstance(second, InboundChange)
    assert (first.message, first.quotations) == (None, None)
    assert second.message is not None
    assert (second.message.text, second.message.addressed) == ("the build is red", True)
    assert (second.message.origin.message_id, second.message.origin.sender.name) == (said.id, "Ada")


async def test_who_joins_and_what_a_group_is_called_are_notices(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    emulator.world.person(ADA, "Ada")
    place = people.make_group("team")
    people.joins(BEN, "Ben", chat=place, added_by=ADA)
    people.joins(MALLORY, "Mallory", chat=place)
    people.renames(place, "Release 4.2")
    messages = await running.shelf.until(3)
    assert [one.quotations[0].text for one in messages] == [
        "Ada added Ben to the group",
        "Mallory joined the group",
        'Ada renamed the group to "Release 4.2"',
    ]
    assert {one.quotations[0].kind for one in messages} == {QuotationKind.NOTICE}
    assert not any(one.addressed or one.text for one in messages)
    assert [one.origin.sender.id for one in messages] == [ADA, MALLORY, ADA]
