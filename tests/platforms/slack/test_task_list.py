"""What the agent works on, as Slack's own tasks in the stream of its reply."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain import OutboundMessage, ProgressItem, ProgressState, ReplyAddress
from bot.platforms.base import ShowsProgress
from bot.platforms.slack.streams import ROTATE_AFTER
from bot.platforms.slack.task_list import TITLE_LIMIT, growth_chunks, may_follow, merge_tasks
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import Running, eventually, final, frame

PENDING, ACTIVE, DONE, FAILED = ProgressState
WIRE = {PENDING: "pending", ACTIVE: "in_progress", DONE: "complete", FAILED: "error"}


def work(*states: ProgressState, title: str = "Step") -> tuple[ProgressItem, ...]:
    steps = enumerate(states)
    return tuple(ProgressItem(f"todo:{number}", f"{title} {number}", state) for number, state in steps)


def listing(text: str, address: ReplyAddress, *states: ProgressState, key: str = "1:0") -> OutboundMessage:
    return replace(frame(text, address, key), progress=work(*states))


def ending(text: str, address: ReplyAddress, *states: ProgressState, key: str = "1:0") -> OutboundMessage:
    return replace(final(text, address, key), progress=work(*states))


def tasks(running: Running, number: int = 0) -> list[tuple[str, str]]:
    return [(task["title"], task["status"]) for task in running.shown()[number]["tasks"]]


def shown(*states: ProgressState, title: str = "Step") -> list[tuple[str, str]]:
    return [(f"{title} {number}", WIRE[state]) for number, state in enumerate(states)]


def calls(running: Running) -> dict[str, int]:
    counted = running.emulator.transcript.calls
    return {name: count for name, count in counted.items() if name.startswith("chat.")}


async def test_a_remark_stays_while_the_tasks_go_on_and_the_answer_replaces_it(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("Let me check.", address))
    await running.adapter.edit(listing("", address, ACTIVE), ts)
    [seen] = running.shown()
    assert (seen["text"], tasks(running)) == ("Let me check.", shown(ACTIVE))
    await running.adapter.edit(listing("", address, DONE, ACTIVE), ts)
    assert tasks(running) == shown(DONE, ACTIVE)
    assert running.adapter.streaming(address, ts)
    await running.adapter.edit(ending("It is five.", address, DONE, DONE), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("It is five.", False)
    counted = {"chat.startStream": 1, "chat.appendStream": 2, "chat.stopStream": 1, "chat.update": 1}
    assert calls(running) == counted


async def test_a_shown_remark_that_is_the_answer_after_all_needs_no_update(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("Let me check.", address))
    await running.adapter.edit(listing("", address, ACTIVE), ts)
    await running.adapter.edit(ending("Let me check.", address, DONE), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], tasks(running)) == ("Let me check.", False, shown(DONE))
    assert "chat.update" not in calls(running)


async def test_tasks_are_in_the_stream_of_the_text(running: Running) -> None:
    assert isinstance(running.adapter, ShowsProgress)
    address = await running.asked()
    assert running.adapter.lists_in(address)
    ts = await running.adapter.send(listing("", address, ACTIVE, PENDING))
    assert (running.shown()[0]["text"], tasks(running)) == ("", shown(ACTIVE, PENDING))
    await running.adapter.edit(listing("It is", address, DONE, ACTIVE), ts)
    assert (running.shown()[0]["text"], tasks(running)) == ("It is", shown(DONE, ACTIVE))
    await running.adapter.edit(ending("It is done.", address, DONE, FAILED), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["edits"]) == ("It is done.", False, 0)
    assert tasks(running) == shown(DONE, FAILED)
    assert calls(running) == {"chat.startStream": 1, "chat.appendStream": 1, "chat.stopStream": 1}


async def test_only_what_changed_is_sent(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(listing("", address, ACTIVE, PENDING))
    await running.adapter.edit(listing("", address, ACTIVE, PENDING), ts)
    assert calls(running) == {"chat.startStream": 1}
    [change] = growth_chunks("", work(ACTIVE, PENDING), work(DONE, PENDING))
    assert change.to_dict() == {"type": "task_update", "id": "1", "title": "Step 0", "status": "complete"}


async def test_a_list_that_begins_late_waits_for_the_end_of_a_sentence(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("I look into", address))
    await running.adapter.edit(listing("I look into it", address, ACTIVE), ts)
    assert tasks(running) == []
    await running.adapter.edit(listing("I look into it.", address, ACTIVE), ts)
    assert tasks(running) == shown(ACTIVE)
    await running.adapter.edit(ending("I look into it. Done", address, DONE), ts)
    assert (running.shown()[0]["text"], tasks(running)) == ("I look into it. Done", shown(DONE))


async def test_a_list_that_never_was_shown_does_not_come_with_the_final(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(listing("so", address, ACTIVE))
    await running.adapter.edit(ending("so it is.", address, DONE), ts)
    assert (running.shown()[0]["text"], tasks(running)) == ("so it is.", [])


@pytest.mark.parametrize(
    ("text", "fits"),
    [("", True), ("Look.", True), ("看。\n", True), ("a, b", False), ("**so.", False), ("```\nx.", False)],
)
def test_where_a_list_may_be_begun(text: str, fits: bool) -> None:
    assert may_follow(text) is fits


async def test_a_shorter_list_ends_what_it_leaves_out(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(listing("", address, DONE, ACTIVE, ACTIVE))
    await running.adapter.edit(listing("", address, ACTIVE), ts)
    assert tasks(running) == [("Step 0", "in_progress"), ("Step 1", "complete"), ("Step 2", "complete")]
    await running.adapter.edit(listing("", address, DONE, ACTIVE), ts)
    assert [status for _, status in tasks(running)] == ["complete", "in_progress", "complete"]


async def test_what_nobody_will_do_is_not_left_in_the_list(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(listing("Well.", address, ACTIVE, PENDING))
    await running.adapter.edit(listing("Well.", address, ACTIVE), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["tasks"], seen["streaming"]) == ("Well.\n\n> ▸ Step 0", [], False)
    assert merge_tasks(work(DONE, PENDING), work(DONE)) is None


async def test_an_attempt_that_begins_anew_replaces_the_list(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(listing("First.", address, DONE, ACTIVE, PENDING))
    await running.adapter.edit(listing("Second.", address, ACTIVE), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["tasks"]) == ("Second.\n\n> ▸ Step 0", [])
    await running.adapter.edit(ending("Second. Done.", address, DONE), ts)
    assert (running.shown()[0]["text"], tasks(running)) == ("Second. Done.", [])


async def test_a_part_that_is_full_keeps_no_task_in_progress(running: Running) -> None:
    address = await running.asked()
    await running.adapter.send(listing("first part.", address, ACTIVE))
    await running.adapter.send(listing("", address, ACTIVE, key="1:1"))
    assert (tasks(running), tasks(running, 1)) == (shown(DONE), shown(ACTIVE))


async def test_without_a_stream_the_list_is_text(running: Running) -> None:
    address = await running.asked()
    running.emulator.fault(
        "error", method="chat.startStream", status=200, description="channel_type_not_supported", times=-1
    )
    ts = await running.adapter.send(listing("", address, ACTIVE))
    assert running.shown()[0]["text"] == "> ▸ Step 0"
    await running.adapter.edit(listing("One **two", address, DONE), ts)
    assert running.shown()[0]["text"] == "One **two**\n\n> ✓ Step 0"
    await running.adapter.edit(ending("One **two**.", address, DONE), ts)
    assert running.shown()[0]["text"] == "One **two**."


async def test_an_app_that_may_not_show_tasks_still_streams(running: Running) -> None:
    address = await running.asked()
    running.emulator.fault("error", method="chat.startStream", status=200, description="invalid_chunks")
    ts = await running.adapter.send(listing("Look.", address, ACTIVE))
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["tasks"]) == ("Look.", True, [])
    assert not running.adapter.lists_in(address)
    await running.adapter.edit(listing("Look. There", address, ACTIVE), ts)
    await running.adapter.edit(ending("Look. There.", address, DONE), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["tasks"]) == ("Look. There.", False, [])
    assert calls(running) == {"chat.startStream": 2, "chat.appendStream": 1, "chat.stopStream": 1}


async def test_tasks_that_are_refused_later_become_text(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("Look.", address))
    running.emulator.fault("error", method="chat.appendStream", status=200, description="invalid_chunks")
    await running.adapter.edit(listing("Look.", address, ACTIVE), ts)
    assert running.shown()[0]["text"] == "Look.\n\n> ▸ Step 0"
    assert not running.adapter.lists_in(address)


async def test_a_stop_by_a_person_is_no_refusal_of_tasks(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("Look.", address))
    running.emulator.people.stops(address.chat, address.topic)
    await running.adapter.edit(listing("Look.", address, ACTIVE), ts)
    assert running.shown()[0]["text"] == "Look.\n\n> ▸ Step 0"
    assert running.adapter.lists_in(address)


async def test_outside_a_thread_there_is_no_list(running: Running) -> None:
    address = await running.asked()
    assert not running.adapter.lists_in(replace(address, topic=""))


async def test_a_stream_that_is_over_goes_on_with_the_list_as_text(by_hand: Running) -> None:
    address = await by_hand.asked()
    ts = await by_hand.adapter.send(listing("One.", address, ACTIVE))
    await by_hand.clock.advance(ROTATE_AFTER + 1)
    await eventually(lambda: by_hand.shown()[0]["text"] == "One.\n\n> ▸ Step 0")
    assert tasks(by_hand) == []
    await by_hand.adapter.edit(ending("One. Two.", address, DONE), ts)
    [seen] = by_hand.shown()
    assert (seen["text"], seen["streaming"]) == ("One. Two.", False)
    assert calls(by_hand) == {"chat.startStream": 1, "chat.stopStream": 1, "chat.update": 2}


async def test_a_stream_that_is_over_and_was_not_at_work_is_left_alone(by_hand: Running) -> None:
    address = await by_hand.asked()
    await by_hand.adapter.send(listing("One.", address, DONE))
    await by_hand.clock.advance(ROTATE_AFTER + 1)
    await eventually(lambda: not by_hand.shown()[0]["streaming"])
    assert tasks(by_hand) == shown(DONE)
    assert calls(by_hand) == {"chat.startStream": 1, "chat.stopStream": 1}


@pytest.mark.parametrize("kind", ["drop", "close"])
async def test_a_list_of_unknown_outcome_is_settled_by_the_whole_text(running: Running, kind: str) -> None:
    address = await running.asked()
    ts = await running.adapter.send(listing("One.", address, ACTIVE))
    running.emulator.fault(kind, method="chat.appendStream")
    await running.adapter.edit(listing("One.", address, DONE, ACTIVE), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["tasks"]) == ("One.\n\n> ✓ Step 0  \n> ▸ Step 1", [])


async def test_a_list_left_by_an_earlier_life_is_replaced(emulator: SlackEmulator) -> None:
    first = await Running(emulator).start()
    address = await first.asked()
    ts = await first.adapter.send(listing("One.", address, ACTIVE))
    await first.stop()
    second = await Running(emulator).start()
    await second.adapter.edit(final("One. Two.", address), ts)
    [seen] = second.shown()
    assert (seen["text"], seen["tasks"], seen["streaming"]) == ("One. Two.", [], False)
    await second.stop()


async def test_titles_are_one_line_of_slacks_length(running: Running) -> None:
    address = await running.asked()
    items = (ProgressItem("a", "one\n two", ACTIVE), ProgressItem("b", "x" * 300, ACTIVE))
    more = (ProgressItem("c", " ", ACTIVE),)
    await running.adapter.send(replace(frame("", address), progress=items + more))
    assert [title for title, _ in tasks(running)] == ["one two", "x" * (TITLE_LIMIT - 1) + "…", "…"]
