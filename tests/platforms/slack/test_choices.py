"""Questions with buttons: shown natively, clicked once, and settled for everybody to see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.domain import ChatKind
from bot.errors import DeliveryError
from bot.platforms.slack.choices import (
    FALLBACK_BYTES,
    LABEL_LIMIT,
    MAX_CHOICES,
    VALUE_LIMIT,
    ButtonPlace,
    SlackClick,
    answered_blocks,
    button_blocks,
    fallback_text,
    message_content,
    read_place,
)

from .conftest import PERSON, Running, answer_to, eventually, final, frame

CHOICES = ("Berlin", "Paris & <Rome>")


def labels(seen: dict[str, Any]) -> list[str]:
    """What stands on the buttons of a message."""
    actions = [block for block in seen["blocks"] if block["type"] == "actions"]
    return [element["text"]["text"] for block in actions for element in block["elements"]]


async def test_a_question_is_posted_with_its_buttons(running: Running) -> None:
    address = await running.asked()
    await running.adapter.send(replace(final("**Where** to?", address), choices=CHOICES))
    [seen] = running.shown()
    assert (seen["text"], labels(seen)) == ("**Where** to?", list(CHOICES))
    assert seen["metadata"]["event_payload"] == {"key": "sl:1:0"}


async def test_a_stream_ends_with_its_buttons(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("Where", address))
    await running.adapter.edit(replace(final("Where to?", address), choices=CHOICES), ts)
    [seen] = running.shown()
    assert (seen["text"], labels(seen), seen["edits"]) == ("Where to?", list(CHOICES), 0)


async def test_an_update_brings_the_buttons_too(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("Where", address))
    running.emulator.expire_streams()
    await running.adapter.edit(replace(final("Where to?", address), choices=CHOICES), ts)
    [seen] = running.shown()
    assert (seen["text"], labels(seen), seen["edits"]) == ("Where to?", list(CHOICES), 1)


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_click_is_the_answer_and_settles_the_question(running: Running, streamed: bool) -> None:
    address = await running.asked()
    question = replace(final("Where to?", address), choices=CHOICES)
    if streamed:
        ts = await running.adapter.send(frame("Where", address))
        await running.adapter.edit(question, ts)
    else:
        ts = await running.adapter.send(question)
    running.emulator.people.clicks(address.chat, ts, CHOICES[1], action_id="roebot:choice:1")
    message = (await running.shelf.until(2))[1]
    assert (message.text, message.origin.reply_to, message.origin.sender.id) == (CHOICES[1], ts, PERSON)
    assert message.addressed and message.origin.chat_kind is ChatKind.PRIVATE
    assert answer_to(message).topic == address.topic
    await eventually(lambda: labels(running.shown()[0]) == [])
    [seen] = running.shown()
    assert seen["text"] == "Where to?"
    assert seen["blocks"][-1]["elements"][0]["text"] == f"✓ Paris &amp; &lt;Rome&gt; — <@{PERSON}>"


@pytest.mark.parametrize("streamed", [True, False])
async def test_a_long_question_that_is_not_ascii_is_shown_and_settled(
    running: Running, streamed: bool
) -> None:
    """chat.update takes 4,000 UTF-8 bytes of `text` (openclaw/openclaw#115027)."""
    address = await running.asked()
    question = replace(final("去哪里？" * 700, address), choices=CHOICES)
    if streamed:
        ts = await running.adapter.send(frame("去", address))
        running.emulator.expire_streams()
        await running.adapter.edit(question, ts)
    else:
        ts = await running.adapter.send(question)
    [seen] = running.shown()
    assert (seen["text"], labels(seen)) == (question.text, list(CHOICES))
    running.emulator.people.clicks(address.chat, ts, CHOICES[0])
    await eventually(lambda: labels(running.shown()[0]) == [])


async def test_a_redelivered_click_is_one_answer(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("Where to?", address), choices=CHOICES))
    running.emulator.duplicate()
    running.emulator.people.clicks(address.chat, ts, CHOICES[0])
    await eventually(lambda: running.shelf.duplicates == 1)
    assert len(running.shelf.messages) == 2


async def test_buttons_that_cannot_be_changed_do_no_harm(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("Where to?", address), choices=CHOICES))
    running.emulator.fault("error", method="chat.update", status=200, description="edit_window_closed")
    running.emulator.people.clicks(address.chat, ts, CHOICES[0])
    await running.shelf.until(2)
    await eventually(lambda: running.emulator.counters()["faults_struck"] == 1)
    await running.adapter.send(final("goes on", address, "2:0"))
    await eventually(lambda: running.emulator.outbox.unacked == 0)


async def test_a_click_that_cannot_be_stored_leaves_the_buttons(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("Where to?", address), choices=CHOICES))
    running.shelf.refuse = 1
    running.emulator.people.clicks(address.chat, ts, CHOICES[0])
    await eventually(lambda: running.shelf.refused == 1)
    assert labels(running.shown()[0]) == list(CHOICES)


@pytest.mark.parametrize("reason", ["Not yours.", ""])
async def test_a_click_that_is_refused_is_told_to_its_author_and_leaves_the_buttons(
    running: Running, reason: str
) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("Where to?", address), choices=CHOICES))
    running.shelf.forbids = reason
    running.emulator.people.clicks(address.chat, ts, CHOICES[0])
    await eventually(lambda: running.emulator.outbox.unacked == 0 and running.shelf.asked == 2)
    await eventually(lambda: len(running.shown()) == (2 if reason else 1))
    question, *told = running.shown()
    assert labels(question) == list(CHOICES)
    assert [(one["text"], one["visible_to"]) for one in told] == ([(reason, PERSON)] if reason else [])
    running.shelf.forbids = None
    running.emulator.people.clicks(address.chat, ts, CHOICES[1])
    assert (await running.shelf.until(2))[1].text == CHOICES[1]
    await eventually(lambda: labels(running.shown()[0]) == [])


async def test_a_click_that_comes_too_late_is_told_so_and_never_shown(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("Where to?", address), choices=CHOICES))
    running.shelf.closed = "Answered already."
    running.emulator.people.clicks(address.chat, ts, CHOICES[0])
    running.emulator.people.clicks(address.chat, ts, CHOICES[1])
    await eventually(lambda: len(running.shown()) == 2 and labels(running.shown()[0]) == [])
    assert running.shelf.texts[1:] == [CHOICES[0]]
    question, told = running.shown()
    assert question["blocks"][-1]["elements"][0]["text"] == f"✓ Berlin — <@{PERSON}>"
    assert (told["text"], told["visible_to"]) == ("Answered already.", PERSON)


@pytest.mark.parametrize("url", ["", "https://elsewhere.example/respond", "http://127.0.0.1:1/respond"])
async def test_a_refusal_goes_to_slack_or_nowhere(running: Running, url: str) -> None:
    address = await running.asked()
    ts = await running.adapter.send(replace(final("Where to?", address), choices=CHOICES))
    click = SlackClick(address.chat, ts, PERSON, CHOICES[0], "Where to?", (), url)
    await running.adapter.session.outbound.refuse_click(click, "Not yours.")
    assert len(running.shown()) == 1


async def test_a_question_that_one_person_sees_is_answered_and_settled(running: Running) -> None:
    people = running.emulator.people
    team = people.make_channel("team")
    root = people.says("lunch?", channel=team)
    people.says("pizza", channel=team, thread=root.ts)
    await running.shelf.until(2)
    address = await running.asked("@roebot where?", channel=team, thread=root.ts)
    sent = await running.adapter.send(replace(final("Where to?", address), choices=CHOICES, alone=PERSON))
    [seen] = [one for one in running.shown(team) if one["visible_to"]]
    people.clicks(team, seen["ts"], CHOICES[1], action_id="roebot:choice:1")
    message = (await running.shelf.until(4))[3]
    assert (message.text, message.clicked, message.origin.reply_to) == (CHOICES[1], True, sent)
    assert answer_to(message).topic == root.ts
    await eventually(lambda: [] in [labels(one) for one in running.shown(team)])
    [seen] = [one for one in running.shown(team) if one["visible_to"]]
    assert seen["blocks"][-1]["elements"][0]["text"].startswith("✓ Paris")


async def test_an_unthreaded_question_that_one_person_sees_keeps_its_thread(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot where?", channel=team)
    await running.adapter.send(replace(final("Where to?", address), choices=CHOICES, alone=PERSON))
    [seen] = running.shown(team)
    assert seen["thread_ts"] == ""
    running.emulator.people.clicks(team, seen["ts"], CHOICES[0], action_id="roebot:choice:0")
    assert answer_to((await running.shelf.until(2))[1]).topic == address.topic


async def test_a_question_below_a_command_is_answered(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    running.shelf.private.add("/where")
    running.emulator.people.commands("where", channel=team)
    [asked] = await running.shelf.until(1)
    sent = await running.adapter.send(replace(final("Where to?", answer_to(asked)), choices=CHOICES))
    [seen] = running.shown(team)
    running.emulator.people.clicks(team, seen["ts"], CHOICES[0], action_id="roebot:choice:0")
    message = (await running.shelf.until(2))[1]
    assert (message.text, message.origin.reply_to) == (CHOICES[0], sent)


@pytest.mark.parametrize("block_id", ["", "x", "roebot", "roebot||", "other|a|b", "roebot|response:1:0|1.5"])
def test_the_place_of_a_button_is_read_or_unknown(block_id: str) -> None:
    place = read_place(block_id)
    known = block_id == "roebot|response:1:0|1.5"
    assert place == (ButtonPlace("1.5", "response:1:0") if known else ButtonPlace())
    assert not known or place.block_id == block_id
    assert ButtonPlace("1" * 300).block_id == ""


async def test_as_many_buttons_as_slack_takes(running: Running) -> None:
    address = await running.asked()
    many = tuple(f"choice {number} " + "x" * 100 for number in range(MAX_CHOICES))
    await running.adapter.send(replace(final("Which?", address), choices=many))
    shown = labels(running.shown()[0])
    assert len(shown) == MAX_CHOICES and all(len(label) == LABEL_LIMIT for label in shown)
    assert running.adapter.most_choices == MAX_CHOICES


async def test_the_emulator_knows_the_limits_of_blocks(running: Running) -> None:
    address = await running.asked()
    web = running.adapter.session.client.web
    wrong = [*button_blocks(["a"])[0]["elements"]] * (MAX_CHOICES + 1)
    with pytest.raises(DeliveryError, match="invalid_blocks"):
        await running.adapter.session.outbound._web_api.await_call(
            web.chat_postMessage(
                channel=address.chat, text="x", blocks=[{"type": "actions", "elements": wrong}]
            ),
            posting=True,
        )


async def test_a_question_of_many_headings_is_shown_and_answered(running: Running) -> None:
    address = await running.asked()
    text = "\n\n".join(f"## Part {number}\n\nText." for number in range(40))
    ts = await running.adapter.send(replace(final(text, address), choices=CHOICES))
    [seen] = running.shown()
    assert "## Part 1\n" in seen["text"] and "**Part 39**" in seen["text"]
    running.emulator.people.clicks(address.chat, ts, CHOICES[0])
    await eventually(lambda: labels(running.shown()[0]) == [])


async def test_an_answer_of_signs_that_are_escaped_is_shown(running: Running) -> None:
    address = await running.asked()
    long = "&" * VALUE_LIMIT
    ts = await running.adapter.send(replace(final("Which?", address), choices=(long,)))
    running.emulator.people.clicks(address.chat, ts, long)
    await eventually(lambda: labels(running.shown()[0]) == [])
    shown = running.shown()[0]["blocks"][-1]["elements"][0]["text"]
    assert shown == f"✓ {'&amp;' * (VALUE_LIMIT // 5)} — <@{PERSON}>"


def test_a_fallback_is_cut_between_characters() -> None:
    assert fallback_text("x" * FALLBACK_BYTES) == "x" * FALLBACK_BYTES
    assert fallback_text("x" + "字" * FALLBACK_BYTES) == "x" + "字" * ((FALLBACK_BYTES - 1) // 3)
    assert fallback_text("x\ud83d") == "x"


def test_without_choices_a_message_is_markdown_alone() -> None:
    assert message_content("a", ()) == {"markdown_text": "a"}
    assert button_blocks(()) == []


def test_a_question_keeps_its_other_blocks() -> None:
    kept = {"type": "rich_text", "elements": []}
    click = SlackClick("C1", "1.1", "U1", "yes", "text", (kept, *button_blocks(["yes"])))
    assert [block["type"] for block in answered_blocks(click)] == ["rich_text", "context"]
    bare = SlackClick("C1", "1.1", "U1", "yes", "text", tuple(button_blocks(["yes"])))
    assert answered_blocks(bare)[0] == {"type": "markdown", "text": "text"}
