"""What was said in a reply thread reaches the agent, though Telegram tells only of the message replied to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import ChatKind, InboundMessage, Origin, Quotation, QuotationKind, Sender
from bot.platforms.telegram import reply_threads
from bot.platforms.telegram.reply_threads import ReplyThreads

from .conftest import Running

ADA, BEN, EVE = 7, 8, 9


def quoted(message: InboundMessage) -> list[tuple[QuotationKind, str, str]]:
    return [(one.kind, one.author, one.text) for one in message.quotations]


async def test_an_alert_a_reply_and_a_question(running: Running) -> None:
    """Whether the question replies to the alert or to the colleague, the agent has both."""
    people = running.emulator.people
    chat = people.make_group("Operations", supergroup=True)
    alert = people.posts("disk full", name="Alerts", buttons={"Graph": "https://g.example.com"}, chat=chat)
    reply = people.says("since noon", user=BEN, name="Ben", chat=chat, reply_to=alert.id)
    people.says("@roebot_bot what is this?", user=ADA, chat=chat, reply_to=alert.id)
    [*_, to_alert] = await running.shelf.until(3)
    card = "disk full\n[Graph](https://g.example.com)"
    assert quoted(to_alert) == [
        (QuotationKind.REPLY, "Alerts", card),
        (QuotationKind.REPLY, "Ben", "since noon"),
    ]
    later = people.says("and still", user=EVE, name="Eve", chat=chat, reply_to=reply.id)
    people.says("@roebot_bot really?", user=ADA, chat=chat, reply_to=later.id)
    [*_, to_colleague] = await running.shelf.until(5)
    assert quoted(to_colleague) == [(QuotationKind.REPLY, "Eve", "and still")], "the rest was told before"


async def test_a_question_to_a_colleague_comes_with_the_start_of_the_thread(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    alert = people.posts("disk full", name="Alerts", chat=chat)
    reply = people.says("since noon", user=BEN, name="Ben", chat=chat, reply_to=alert.id)
    people.edits(chat, reply.id, "since eleven")
    people.says("something else", user=EVE, chat=chat)
    people.says("@roebot_bot what is this?", user=ADA, chat=chat, reply_to=reply.id)
    [*_, question] = await running.shelf.until(4)
    assert quoted(question) == [
        (QuotationKind.REPLY, "Ben", "since eleven"),
        (QuotationKind.THREAD_START, "Alerts", "disk full"),
    ]


async def test_a_question_in_a_topic_comes_with_what_was_said_there(running: Running) -> None:
    people = running.emulator.people
    forum = people.make_group("Operations", forum=True)
    topic, other = people.make_topic(forum, "Disks", user=BEN), people.make_topic(forum, "Lunch", user=BEN)
    people.posts("disk full", name="Alerts", chat=forum, topic=topic)
    people.says("noodles", user=EVE, chat=forum, topic=other)
    people.says("since noon", user=BEN, chat=forum, topic=topic)
    people.says("@roebot_bot what is this?", user=ADA, chat=forum, topic=topic)
    people.says("@roebot_bot and now?", user=ADA, chat=forum, topic=topic)
    [*_, question, another] = await running.shelf.until(7)
    started = (QuotationKind.THREAD_START, "Person 8", 'Person 8 created the topic "Disks"')
    assert quoted(question) == [
        started,
        (QuotationKind.REPLY, "Alerts", "disk full"),
        (QuotationKind.REPLY, "Person 8", "since noon"),
    ]
    assert quoted(another) == [started]


async def test_an_alert_that_mentions_the_bot_is_part_of_the_thread(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    alert = people.posts("@roebot_bot disk full", name="Alerts", chat=chat)
    reply = people.says("since noon", user=BEN, name="Ben", chat=chat, reply_to=alert.id)
    people.says("@roebot_bot what is this?", user=ADA, chat=chat, reply_to=reply.id)
    [*_, question] = await running.shelf.until(3)
    assert [text for _, _, text in quoted(question)] == ["since noon", "disk full"]


async def test_who_gets_no_answer_uses_up_no_context(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    alert = people.posts("disk full", name="Alerts", chat=chat)
    running.shelf.strangers.add(str(EVE))
    stranger = people.says("@roebot_bot hi", user=EVE, name="Eve", chat=chat, reply_to=alert.id)
    people.says("@roebot_bot what is this?", user=ADA, chat=chat, reply_to=stranger.id)
    people.says("@roebot_bot and now?", user=ADA, chat=chat, reply_to=stranger.id)
    [*_, question, another] = await running.shelf.until(4)
    assert [text for _, _, text in quoted(question)] == ["@roebot_bot hi", "disk full"]
    assert [text for _, _, text in quoted(another)] == ["@roebot_bot hi"]


async def test_a_recorded_chat_has_its_record(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations")
    running.shelf.recorded.add(str(chat))
    alert = people.posts("disk full", name="Alerts", chat=chat)
    reply = people.says("since noon", user=BEN, name="Ben", chat=chat, reply_to=alert.id)
    people.says("@roebot_bot what is this?", user=ADA, chat=chat, reply_to=reply.id)
    [*_, question] = await running.shelf.until(3)
    assert quoted(question) == [(QuotationKind.REPLY, "Ben", "since noon")]


async def test_nothing_is_remembered_of_private_chats_and_other_groups(running: Running) -> None:
    people = running.emulator.people
    first, second = people.make_group("One", supergroup=True), people.make_group("Two", supergroup=True)
    people.says("secret", user=BEN, chat=first)
    root = people.says("hello", user=BEN, chat=second)
    reply = people.says("hi", user=EVE, name="Eve", chat=second, reply_to=root.id)
    people.says("@roebot_bot well?", user=ADA, chat=second, reply_to=reply.id)
    [*_, question] = await running.shelf.until(4)
    assert [text for _, _, text in quoted(question)] == ["hi", "hello"]


def message(number: int, reply_to: int = 1, *, text: str = "x", addressed: bool = False) -> InboundMessage:
    sender = Sender("8", "Ben")
    replied = str(reply_to) if reply_to else ""
    origin = Origin("tg", "telegram", "-5", ChatKind.GROUP, str(number), sender, reply_to=replied)
    return InboundMessage(str(number), origin, text, float(number), addressed=addressed)


def test_the_same_message_finds_the_same_again() -> None:
    """A message that could not be stored is delivered and converted again."""
    threads = ReplyThreads()
    for one in (message(1, 0), message(2, 1), message(3, 2)):
        threads.remember(one, is_told=one.addressed)
    asked = message(4, 3, addressed=True)
    first = threads.find_earlier(asked)
    threads.remember(asked, is_told=True)
    assert [one.sent_at for one in first] == [1.0, 2.0]
    assert threads.find_earlier(asked) == first


def test_what_is_remembered_is_bounded() -> None:
    threads = ReplyThreads()
    for number in range(1, 3 * reply_threads.MAX_MESSAGES):
        threads.remember(message(number, number - 1, text="long " * 1000), is_told=False)
    found = threads.find_earlier(message(1000, 2))
    assert len(found) == reply_threads.MAX_EARLIER
    assert all(len(one.text) <= reply_threads.MAX_CHARACTERS for one in found)
    for number in range(2000, 2000 + 2 * reply_threads.MAX_THREADS):
        threads.remember(message(number, 0), is_told=False)
    assert threads.find_earlier(message(9000, 2)) == []


def test_what_is_old_is_told_no_more() -> None:
    threads = ReplyThreads()
    threads.remember(message(1, 0), is_told=False)
    threads.remember(message(2, 1), is_told=False)
    later = replace(message(3, 2), sent_at=1.5 + reply_threads.MAX_AGE)
    assert [one.sent_at for one in threads.find_earlier(replace(later, origin=message(3, 1).origin))] == [2.0]
    threads.remember(later, is_told=False)
    assert [one.sent_at for one in threads.find_earlier(message(4, 1))] == [2.0, later.sent_at]


@pytest.mark.guard(
    "Telegram: an erased person is removed from threads in memory",
    "bot/platforms/telegram/adapter.py",
    "self._session.inbound.forget_person(person)",
    "pass",
    against="undeleted words",
)
async def test_what_an_erased_person_said_does_not_come_back(running: Running) -> None:
    people = running.emulator.people
    chat = people.make_group("Operations", supergroup=True)
    alert = people.posts("disk full", name="Alerts", chat=chat)
    secret = people.says("my secret", user=BEN, name="Ben", chat=chat, reply_to=alert.id)
    last = people.says("since noon", user=EVE, name="Eve", chat=chat, reply_to=secret.id)
    await running.shelf.until(3)
    running.adapter.forget_person(str(BEN))
    people.says("@roebot_bot what is this?", user=ADA, chat=chat, reply_to=last.id)
    [*_, question] = await running.shelf.until(4)
    assert [text for _, _, text in quoted(question)] == ["since noon", "disk full"]


def test_a_forward_of_what_an_erased_person_said_is_forgotten_too() -> None:
    threads = ReplyThreads()
    forward = Quotation(QuotationKind.FORWARD, "my secret", "Eve", "9")
    threads.remember(replace(message(1, 0), text="", quotations=(forward,)), is_told=False)
    threads.remember(message(2, 1), is_told=False)
    threads.forget_person("9")
    assert [one.sent_at for one in threads.find_earlier(message(3, 1))] == [2.0]
