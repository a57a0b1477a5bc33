"""A question's choices as buttons: a click is the answer, and stands in their place."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain import OutboundMessage, ReplyAddress
from bot.platforms.base import AsksChoice
from bot.platforms.feishu.adapter import FeishuAdapter
from roebot_testing.emulators.feishu import FeishuEmulator

from .conftest import ADA, BEN, Running, account, eventually, group, says

CHOICES = ("Berlin", "北京", 'a "quoted" <at id=all></at> one')


def question(address: ReplyAddress) -> OutboundMessage:
    return OutboundMessage("1:0", address, "Which city?", True, CHOICES)


def value(running: Running, label: str, chat: str = "") -> Any:
    """The value of the button with this label."""
    [seen] = running.shown(chat)
    [found] = [button for button in seen["buttons"] if button["text"]["content"] == label]
    return found["behaviors"][0]["value"]


async def test_a_question_shows_its_choices(running: Running) -> None:
    assert isinstance(running.adapter, AsksChoice)
    assert running.adapter.most_choices == 20
    running.settled()
    await running.adapter.send(question(running.private()))
    [seen] = running.shown()
    assert [button["text"]["content"] for button in seen["buttons"]] == list(CHOICES)
    assert seen["text"] == "Which city?"


async def test_choices_come_with_the_end_of_a_stream(running: Running) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(says("Which", address, final=False))
    await running.adapter.edit(question(address), message_id)
    [seen] = running.shown()
    assert [button["text"]["content"] for button in seen["buttons"]] == list(CHOICES)


@pytest.mark.parametrize("choice", CHOICES)
async def test_a_click_is_the_answer_of_who_clicked(
    running: Running, emulator: FeishuEmulator, choice: str
) -> None:
    place = emulator.people.make_group("team")
    message_id = await running.adapter.send(question(group(place)))
    push = emulator.people.clicks(message_id, value(running, choice, place), user=BEN)
    [message] = await running.shelf.until(1)
    assert (message.text, message.addressed) == (choice, True)
    origin = message.origin
    assert (origin.sender.id, origin.chat, origin.reply_to) == (BEN, place, message_id)
    await eventually(lambda: running.shown(place)[0]["buttons"] == [] and push.answer)
    [seen] = running.shown(place)
    assert seen["text"].startswith("Which city?\n✓ ")
    assert "<at id" not in seen["text"]
    assert push.answer["data"]["toast"]["content"] == f"✓ {choice}"


async def test_a_click_after_a_restart(running: Running, emulator: FeishuEmulator) -> None:
    message_id = await running.adapter.send(question(running.private()))
    await running.stop()
    again = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await again.start()
    emulator.people.clicks(message_id, value(again, "Berlin"), user=ADA)
    assert (await again.shelf.until(1))[0].text == "Berlin"
    await eventually(lambda: again.shown()[0]["text"] == "Which city?\n✓ Berlin")
    await again.stop()


async def test_a_click_that_is_not_stored_keeps_its_buttons(
    running: Running, emulator: FeishuEmulator
) -> None:
    message_id = await running.adapter.send(question(running.private()))
    running.shelf.refuse = 1
    emulator.people.clicks(message_id, value(running, "Berlin"))
    await eventually(lambda: emulator.socket.acked == [500])
    assert len(running.shown()[0]["buttons"]) == 3


async def test_a_card_that_cannot_be_changed_costs_only_the_sign(
    running: Running, emulator: FeishuEmulator
) -> None:
    message_id = await running.adapter.send(question(running.private()))
    emulator.fault("error", method="element.update", status=400, description="300313 not find elementID")
    emulator.people.clicks(message_id, value(running, "Berlin"))
    await running.shelf.until(1)
    await eventually(lambda: emulator.counters()["faults_struck"] == 1)
    emulator.people.clicks(message_id, value(running, "Berlin"))
    await running.shelf.until(2)
    await eventually(lambda: running.shown()[0]["buttons"] == [])


@pytest.mark.parametrize("reason", ["Not yours.", ""])
async def test_a_click_that_is_refused_is_told_to_its_author_and_leaves_the_buttons(
    running: Running, emulator: FeishuEmulator, reason: str
) -> None:
    place = emulator.people.make_group("team")
    message_id = await running.adapter.send(question(group(place)))
    running.shelf.forbids = reason
    push = emulator.people.clicks(message_id, value(running, "Berlin", place), user=BEN)
    await eventually(lambda: push.answer)
    toast = (push.answer.get("data") or {}).get("toast")
    assert toast == ({"type": "warning", "content": reason} if reason else None)
    assert len(running.shown(place)[0]["buttons"]) == 3
    running.shelf.forbids = None
    emulator.people.clicks(message_id, value(running, "Berlin", place), user=ADA)
    assert (await running.shelf.until(1))[0].origin.sender.id == ADA
    await eventually(lambda: running.shown(place)[0]["buttons"] == [])


async def test_a_click_that_comes_too_late_is_told_so_and_never_shown(
    running: Running, emulator: FeishuEmulator
) -> None:
    place = emulator.people.make_group("team")
    message_id = await running.adapter.send(question(group(place)))
    running.shelf.closed = "Answered already."
    values = {choice: value(running, choice, place) for choice in CHOICES[:2]}
    pushes = {choice: emulator.people.clicks(message_id, values[choice]) for choice in values}
    await eventually(lambda: all(push.answer for push in pushes.values()))
    await eventually(lambda: running.shown(place)[0]["buttons"] == [])
    [counted] = running.shelf.texts
    [vain] = set(values) - {counted}
    toasts = {choice: push.answer["data"]["toast"] for choice, push in pushes.items()}
    assert toasts[counted] == {"type": "success", "content": f"✓ {counted}"}
    assert toasts[vain] == {"type": "warning", "content": "Answered already."}
    assert running.shown(place)[0]["text"] == f"Which city?\n✓ {counted}"


async def test_a_click_and_the_end_of_its_question_share_the_cards_sequence(
    running: Running, emulator: FeishuEmulator
) -> None:
    running.settled()
    address = running.private()
    message_id = await running.adapter.send(question(address))
    refusal = "200810 ErrMsg: The card is in an ongoing interaction and cannot be updated; "
    emulator.fault("error", method="element.update", status=400, description=refusal, times=3)
    emulator.people.clicks(message_id, value(running, "Berlin"))
    await running.shelf.until(1)
    await eventually(lambda: emulator.counters()["calls"].get("element.update", 0) >= 2)
    await running.adapter.edit(says("Which city? Berlin.", address), message_id)
    assert running.shown()[0]["text"].startswith("Which city? Berlin.")
    refused = {frame.detail for frame in emulator.transcript.of() if frame.status >= 400}
    assert refused == {refusal}
