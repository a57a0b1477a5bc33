"""Feedback buttons below answers, and what they record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roebot_testing.emulators.slack import SlackEmulator

from .conftest import PERSON, Running, eventually, final, frame


async def test_a_streamed_answer_has_them(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    assert running.shown()[0]["blocks"] == []
    await running.adapter.edit(replace(final("one two", address), rated=True), ts)
    [seen] = running.shown()
    assert (seen["text"], [block["type"] for block in seen["blocks"]]) == ("one two", ["context_actions"])


async def test_a_posted_and_a_rewritten_answer_have_them(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("one", address), rated=True))
    for text in ("one", "two"):
        [seen] = running.shown()
        assert (seen["text"], [block["type"] for block in seen["blocks"]]) == (
            text,
            ["markdown", "context_actions"],
        )
        await running.adapter.edit(replace(final("two", address), rated=True), ts)


async def test_an_account_can_do_without(emulator: SlackEmulator) -> None:
    running = await Running(emulator, feedback_buttons=False).start()
    address = await running.asked()
    await running.adapter.send(replace(final("one", address), rated=True))
    ts = await running.adapter.send(frame("two", address, "2:0"))
    await running.adapter.edit(replace(final("two", address, "2:0"), rated=True), ts)
    assert [seen["blocks"] for seen in running.shown()] == [[], []]
    await running.stop()


@pytest.mark.parametrize("good", [True, False])
async def test_a_rating_is_stored_and_confirmed_to_its_author(running: Running, good: bool) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("one", address), rated=True))
    running.emulator.people.rates(address.chat, ts, good)
    await eventually(lambda: len(running.shown()) == 2)
    [rating] = running.shelf.ratings
    assert (rating.message_id, rating.good, rating.origin.sender.id) == (ts, good, PERSON)
    assert (rating.origin.chat, rating.origin.sender.name) == (address.chat, f"Person {PERSON}")
    told = running.shown()[1]
    assert told["visible_to"] == PERSON and told["text"].startswith("Thanks")
    assert running.shown()[0]["text"] == "one"


async def test_a_stranger_is_told_nothing(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("one", address), rated=True))
    running.shelf.strangers.add(PERSON)
    running.emulator.people.rates(address.chat, ts)
    await eventually(lambda: running.emulator.outbox.unacked == 0)
    assert running.shelf.ratings == [] and len(running.shown()) == 1


async def test_what_is_not_stored_is_not_acknowledged(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("one", address), rated=True))
    running.shelf.refuse = 1
    running.emulator.people.rates(address.chat, ts)
    await eventually(lambda: running.adapter.counts.failed == 1)
    assert running.shelf.ratings == []
    running.emulator.people.rates(address.chat, ts)
    await eventually(lambda: len(running.shelf.ratings) == 1)
