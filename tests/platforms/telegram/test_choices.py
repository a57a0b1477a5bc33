"""A question's choices as buttons, and clicks as answers."""

from __future__ import annotations

import asyncio

import pytest

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.platforms.base import AsksChoice
from bot.platforms.payload import Malformed
from bot.platforms.telegram.inline_keyboard import MAX_CHOICES, STALE, inline_keyboard, pressed_label

from .conftest import Running, eventually, private

CHOICES = ("Yes, go on", "No")


def question(address: ReplyAddress, text: str = "Shall I?") -> OutboundMessage:
    return OutboundMessage("1:0", address, text, choices=CHOICES)


def buttons(running: Running, chat: int, message_id: str) -> list[str]:
    shown = running.emulator.world.chats[chat].messages[int(message_id)].markup or {}
    return [button["text"] for row in shown.get("inline_keyboard", []) for button in row]


async def test_a_question_has_buttons_and_a_click_is_the_answer(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    assert isinstance(running.adapter, AsksChoice)
    sent = await running.adapter.send(question(private()))
    assert buttons(running, 7, sent) == list(CHOICES)
    query = running.emulator.people.presses(7, int(sent), "choice:1", user=7)
    _, answer = await running.shelf.until(2)
    assert answer.text == "No"
    assert answer.addressed
    assert answer.origin.sender.id == "7"
    assert (answer.origin.chat, answer.origin.chat_kind) == ("7", ChatKind.PRIVATE)
    assert answer.origin.reply_to == sent
    await eventually(lambda: buttons(running, 7, sent) == ["✓ No"])
    assert running.emulator.world.answered[query] == "No"


async def test_an_edit_brings_the_buttons(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    sent = await running.adapter.send(OutboundMessage("1:0", private(), "Shall", final=False))
    assert buttons(running, 7, sent) == []
    await running.adapter.edit(question(private()), sent)
    assert buttons(running, 7, sent) == list(CHOICES)


async def test_a_click_in_a_group_belongs_to_the_question(running: Running) -> None:
    chat = running.emulator.people.make_group("Team")
    running.emulator.people.says("@roebot_bot ask", chat=chat, user=8)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(ReplyAddress("tg", str(chat), ChatKind.GROUP)))
    running.emulator.people.presses(chat, int(sent), "choice:0", user=9)
    _, answer = await running.shelf.until(2)
    assert answer.text == "Yes, go on"
    assert (answer.origin.chat, answer.origin.reply_to) == (str(chat), sent)
    assert answer.origin.sender.id == "9"


async def test_the_second_click_is_an_answer_of_its_own_or_stale(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(private()))
    running.emulator.people.presses(7, int(sent), "choice:0", user=7)
    await running.shelf.until(2)
    await eventually(lambda: buttons(running, 7, sent) == ["✓ Yes, go on"])
    again = running.emulator.people.presses(7, int(sent), "choice:1", user=7)
    await eventually(lambda: again in running.emulator.world.answered)
    assert running.emulator.world.answered[again] == STALE
    assert len(running.shelf.messages) == 2


@pytest.mark.parametrize("reason", ["Not yours.", "", "x" * 300])
async def test_a_click_that_is_refused_is_told_and_leaves_the_buttons(running: Running, reason: str) -> None:
    chat = running.emulator.people.make_group("Team")
    running.emulator.people.says("@roebot_bot ask", chat=chat, user=8)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(ReplyAddress("tg", str(chat), ChatKind.GROUP)))
    running.shelf.forbids = reason
    query = running.emulator.people.presses(chat, int(sent), "choice:0", user=9)
    await eventually(lambda: query in running.emulator.world.answered)
    assert running.emulator.world.answered[query] == reason[:200]
    assert buttons(running, chat, sent) == list(CHOICES)
    running.shelf.forbids = None
    running.emulator.people.presses(chat, int(sent), "choice:1", user=8)
    assert (await running.shelf.until(2))[1].text == "No"
    await eventually(lambda: buttons(running, chat, sent) == ["✓ No"])


async def test_a_click_that_comes_too_late_is_told_so_and_never_shown(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(private()))
    running.shelf.closed = "Answered already."
    first, second = (running.emulator.people.presses(7, int(sent), f"choice:{n}", user=7) for n in (0, 1))
    answered = running.emulator.world.answered
    await eventually(lambda: first in answered and second in answered)
    assert (answered[first], answered[second]) == ("Yes, go on", "Answered already.")
    await eventually(lambda: buttons(running, 7, sent) == ["✓ Yes, go on"])
    running.emulator.repeat(2)
    await eventually(lambda: running.shelf.duplicates == 1)
    running.emulator.people.says("next", user=7)
    assert [message.text for message in await running.shelf.until(3)] == ["go", "Yes, go on", "next"]
    assert buttons(running, 7, sent) == ["✓ Yes, go on"]
    assert answered[second] == "Answered already."


async def test_a_refusal_that_fails_does_no_harm(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(private()))
    running.shelf.forbids = "Not yours."
    running.emulator.fault("error", method="answerCallbackQuery", status=400, description="query is too old")
    running.emulator.people.presses(7, int(sent), "choice:0", user=7)
    running.emulator.people.says("goes on", user=7)
    assert (await running.shelf.until(2))[1].text == "goes on"
    assert buttons(running, 7, sent) == list(CHOICES)


@pytest.mark.parametrize("data", ["", "choice:9", "chosen", "other:0", "choice:"])
async def test_a_button_that_nobody_knows_is_answered_and_nothing_else(running: Running, data: str) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(private()))
    query = running.emulator.people.presses(7, int(sent), data, user=7)
    await eventually(lambda: query in running.emulator.world.answered)
    assert running.emulator.world.answered[query] == STALE
    assert len(running.shelf.messages) == 1
    assert buttons(running, 7, sent) == list(CHOICES)


async def test_a_sign_that_fails_loses_no_answer(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(private()))
    running.emulator.fault("error", method="answerCallbackQuery", status=400, description="query is too old")
    running.emulator.people.presses(7, int(sent), "choice:0", user=7)
    await running.shelf.until(2)
    running.emulator.people.says("next", user=7)
    await running.shelf.until(3)
    assert running.shelf.texts == ["go", "Yes, go on", "next"]


async def test_a_click_survives_a_restart_before_it_was_fetched(running: Running) -> None:
    running.emulator.people.says("go", user=7)
    await running.shelf.until(1)
    sent = await running.adapter.send(question(private()))
    await running.stop()
    running.emulator.people.presses(7, int(sent), "choice:0", user=7)
    await running.start()
    async with asyncio.timeout(30):
        await running.shelf.until(2)
    assert running.shelf.texts == ["go", "Yes, go on"]


def test_labels_are_found_where_they_stand() -> None:
    markup = inline_keyboard([f"choice number {number}" for number in range(MAX_CHOICES)])
    for number in range(MAX_CHOICES):
        assert pressed_label({"reply_markup": markup}, f"choice:{number}") == f"choice number {number}"
    assert all(len(row[0]["callback_data"].encode()) <= 64 for row in markup["inline_keyboard"])
    assert pressed_label({}, "choice:0") == ""
    assert pressed_label({"reply_markup": {"inline_keyboard": "no"}}, "choice:0") == ""
    with pytest.raises(Malformed):
        pressed_label({"reply_markup": {"inline_keyboard": [["no"]]}}, "choice:0")
