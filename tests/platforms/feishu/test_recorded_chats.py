"""What other apps posted comes to the record of a chat with the messages that answer it.

Feishu pushes no message of another app that does not mention the bot.
"""

from __future__ import annotations

from bot.domain import Quotation, QuotationKind
from roebot_testing.emulators.feishu import FeishuEmulator

from .conftest import ADA, BEN, Running
from .test_content import ALERT, ALERT_TEXT, quoted


async def test_a_reply_has_the_alert_above_it(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    place = people.make_group("team")
    running.shelf.recorded.add(place)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    answer = people.says("the import?", user=BEN, name="Ben", chat=place, reply_to=alert.id)
    people.says("no", name="Ada", chat=place, reply_to=answer.id)
    reply, further = await running.shelf.until(2)
    assert (reply.text, reply.addressed) == ("the import?", False)
    assert quoted(reply) == [(QuotationKind.REPLY, ALERT_TEXT, "Alert Bot")]
    assert [one.message_id for one in (*reply.quotations, *further.quotations)] == [alert.id, answer.id]
    assert running.calls("message.get") == 2
    assert quoted(further) == [(QuotationKind.REPLY, "the import?", "Ben")]


async def test_a_topic_has_the_alert_once(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    place = people.make_group("team")
    running.shelf.recorded.add(place)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    for text in ("the import?", "no"):
        people.says(text, user=BEN, name="Ben", chat=place, reply_to=alert.id, in_thread=True)
        await running.shelf.until(len(running.shelf.messages) + 1)
    start = [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]
    assert [quoted(one) for one in running.shelf.messages] == [start, []]


async def test_a_topic_that_begins_with_a_question_has_the_alert_too(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    running.shelf.recorded.add(place)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    for text in ("@Roebot what is this?", "no idea"):
        people.says(text, chat=place, reply_to=alert.id, in_thread=True)
        await running.shelf.until(len(running.shelf.messages) + 1)
    question, remark = running.shelf.messages
    assert (question.addressed, remark.addressed) == (True, False)
    assert quoted(question) == [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]
    assert quoted(remark) == []


async def test_a_topic_has_its_start_with_the_next_message_where_storing_failed(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    running.shelf.recorded.add(place)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    emulator.fault("error", method="message.get", status=400, description="230002 not now", times=2)
    people.says("the import?", user=BEN, chat=place, reply_to=alert.id, in_thread=True)
    [first] = await running.shelf.until(1)
    people.says("no", user=BEN, chat=place, reply_to=alert.id, in_thread=True)
    _, second = await running.shelf.until(2)
    assert first.quotations == ()
    assert quoted(second) == [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]


async def test_a_reply_that_is_not_recorded_leaves_the_start_to_the_next(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    running.shelf.recorded.add(place)
    running.shelf.blocked.add(BEN)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    for user in (BEN, ADA, ADA):
        people.says("the import?", user=user, chat=place, reply_to=alert.id, in_thread=True)
        await running.shelf.until(len(running.shelf.messages) + 1)
    start = [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]
    assert [quoted(one) for one in running.shelf.messages] == [start, start, []]


async def test_a_new_record_has_the_start_again(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    place = people.make_group("team")
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    for _ in range(2):
        running.shelf.recorded.add(place)
        people.says("the import?", chat=place, reply_to=alert.id, in_thread=True)
        *_, newest = await running.shelf.until(len(running.shelf.messages) + 1)
        assert quoted(newest) == [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]
        running.shelf.stop_recording(place)


async def test_a_start_that_a_conversation_has_is_recorded_later(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    running.adapter.session.people.note_history(place, readable=False)
    people.says("@Roebot what is this?", chat=place, reply_to=alert.id, in_thread=True)
    await running.shelf.until(1)
    running.shelf.recorded.add(place)
    people.says("no idea", chat=place, reply_to=alert.id, in_thread=True)
    question, remark = await running.shelf.until(2)
    start = [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]
    assert (quoted(question), quoted(remark)) == (start, start)


async def test_a_reply_to_what_cannot_be_read_is_kept(running: Running, emulator: FeishuEmulator) -> None:
    people = emulator.people
    place = people.make_group("team")
    running.shelf.recorded.add(place)
    first = people.says("secret", chat=place)
    emulator.fault("error", method="message.get", status=400, description="230002 not now", times=2)
    people.says("oh", chat=place, reply_to=first.id)
    *_, reply = await running.shelf.until(2)
    assert reply.quotations == (Quotation(QuotationKind.REPLY, "[message not available]"),)


async def test_a_start_that_the_app_may_not_read_is_asked_for_again_later(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    running.shelf.recorded.add(place)
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    refusal = "230027 Lack of necessary permissions"
    emulator.fault("error", method="message.get", status=400, description=refusal, times=1)
    for asked in (1, 1, 2):
        running.clock.ahead += 400.0 * (asked - 1)
        people.says("the import?", chat=place, reply_to=alert.id, in_thread=True)
        *_, newest = await running.shelf.until(len(running.shelf.messages) + 1)
        assert running.calls("message.get") == asked
    assert quoted(newest) == [(QuotationKind.THREAD_START, ALERT_TEXT, "Alert Bot")]


async def test_nothing_is_fetched_for_a_chat_that_nobody_records(
    running: Running, emulator: FeishuEmulator
) -> None:
    people = emulator.people
    place = people.make_group("team")
    alert = people.app_says(app="Alert Bot", chat=place, card=ALERT)
    people.says("the import?", user=BEN, chat=place, reply_to=alert.id, in_thread=True)
    [message] = await running.shelf.until(1)
    assert message.quotations == ()
