"""Agent sessions: begun while the agent works, titled, and ended with its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.account_state import Live
from bot.domain import ReplyAddress
from bot.errors import DeliveryError
from bot.platforms.slack.method_limits import RESERVED_STATUSES, SESSION_STATUSES
from bot.platforms.slack.sessions import TITLE_LIMIT, title_of
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.state import AgentSession, AppView

from .conftest import PERSON, Running, eventually, final, frame

SET_STATUS, RENAME = "agents.sessions.setStatus", "agents.sessions.rename"


def session(running: Running, address: ReplyAddress) -> dict[str, Any]:
    found: dict[str, Any] = running.emulator.view(address.chat)["sessions"].get(address.topic, {})
    return found


async def until_status(running: Running, address: ReplyAddress, status: str) -> None:
    await eventually(lambda: session(running, address).get("status") == status)


def calls(running: Running, method: str) -> int:
    return int(running.emulator.transcript.calls[method])


async def test_it_is_begun_once_with_the_question_as_title(running: Running) -> None:
    address = await running.asked("  Where is\tthe *report*?\nI need it.")
    for _ in range(3):
        await running.adapter.typing(address)
    assert session(running, address) == {
        "status": "processing",
        "title": "Where is the *report*?",
        "initiator": PERSON,
    }
    assert calls(running, SET_STATUS) == 1
    assert running.emulator.view(PERSON)["statuses"] == {}


async def test_the_end_of_a_stream_ends_it_without_another_call(running: Running) -> None:
    address = await running.asked()
    await running.adapter.typing(address)
    ts = await running.adapter.send(frame("one", address))
    await running.adapter.edit(final("one two", address), ts)
    assert session(running, address)["status"] == "active"
    assert calls(running, SET_STATUS) == 1


async def test_a_posted_answer_ends_it_too(running: Running) -> None:
    address = await running.asked()
    await running.adapter.typing(address)
    await running.adapter.send(final("done", address))
    await until_status(running, address, "active")
    await running.adapter.typing(address)
    assert session(running, address)["status"] == "processing"
    assert calls(running, SET_STATUS) == 3


async def test_a_question_suspends_it_and_its_answer_goes_on(running: Running) -> None:
    address = await running.asked()
    await running.adapter.typing(address)
    ts = await running.adapter.send(frame("Shall", address))
    await running.adapter.edit(replace(final("Shall I?", address), choices=("yes", "no")), ts)
    assert session(running, address)["status"] == "suspended"
    await running.adapter.typing(address)
    assert session(running, address)["status"] == "processing"


async def test_parts_of_an_answer_do_not_end_it(running: Running) -> None:
    address = await running.asked()
    await running.adapter.send(frame("part one", address, "1:0"))
    await running.adapter.send(frame("part two", address, "1:1"))
    assert session(running, address)["status"] == "processing"


async def test_the_answer_of_a_command_does_not_end_the_work_on_another(running: Running) -> None:
    address = await running.asked()
    await running.adapter.typing(address)
    ts = await running.adapter.send(frame("one", address, "1:0"))
    await running.adapter.send(final("Status: working", address, "2:0"))
    assert session(running, address)["status"] == "processing"
    await running.adapter.edit(final("one two", address, "1:0"), ts)
    assert session(running, address)["status"] == "active"


async def test_a_turn_without_a_message_ends_it_too(running: Running) -> None:
    address = await running.asked()
    await running.adapter.typing(address)
    running.adapter.end_typing(address, 1)
    await until_status(running, address, "active")
    await running.adapter.send(frame("one", address, "2:0"))
    running.adapter.end_typing(address, 1)
    await running.adapter.typing(address)
    assert session(running, address)["status"] == "processing"
    assert calls(running, SET_STATUS) == 2


async def test_a_turn_whose_message_was_removed_ends_it_too(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address, "1:0"))
    await running.adapter.delete(address, ts)
    running.adapter.end_typing(address, 1)
    await until_status(running, address, "active")


async def test_a_stream_without_a_beginning_gets_its_title(running: Running) -> None:
    address = await running.asked("What is new?")
    await running.adapter.send(frame("Much", address))
    await eventually(lambda: session(running, address)["title"] == "What is new?")
    assert calls(running, SET_STATUS) == 0 and calls(running, RENAME) == 1


async def test_a_server_that_does_not_know_the_status_of_a_stream(running: Running) -> None:
    address = await running.asked()
    running.emulator.fault("error", method="chat.stopStream", status=200, description="invalid_arguments")
    running.emulator.fault("error", method="chat.stopStream", status=200, description="invalid_arguments")
    for number in range(2):
        await running.adapter.typing(address)
        ts = await running.adapter.send(frame("one", address, f"{number}:0"))
        await running.adapter.edit(final("one two", address, f"{number}:0"), ts)
        await until_status(running, address, "active")
    assert [seen["text"] for seen in running.shown()] == ["one two", "one two"]


async def test_the_stop_button_of_an_earlier_life_is_answered(running: Running) -> None:
    address = await running.asked()
    running.emulator.world.channels[address.chat].sessions[address.topic] = AgentSession(
        "processing", since=running.emulator.world.monotonic()
    )
    running.emulator.people.stops(address.chat, address.topic)
    await running.shelf.until(2)
    await running.adapter.send(final("Nothing to stop.", address, "9:0"))
    await until_status(running, address, "active")


async def test_an_answer_of_a_later_life_ends_it(emulator: SlackEmulator) -> None:
    first = await Running(emulator).start()
    address = await first.asked()
    await first.adapter.typing(address)
    await first.stop()
    second = await Running(emulator).start()
    await second.adapter.send(final("done", address))
    await until_status(second, address, "active")
    await second.adapter.send(final("more", address, "2:0"))
    assert calls(second, SET_STATUS) == 2
    await second.stop()


@pytest.mark.parametrize("error", ["not_authorized", "feature_disabled", "unknown_method"])
async def test_an_app_that_is_no_agent_gets_the_status_line(running: Running, error: str) -> None:
    running.emulator.fault("error", method=SET_STATUS, status=200, description=error, times=-1)
    address = await running.asked()
    for _ in range(2):
        await running.adapter.typing(address)
    assert running.emulator.view(PERSON)["statuses"] == {address.topic: "is thinking …"}
    assert calls(running, SET_STATUS) == 1
    await running.asked("again")
    await eventually(lambda: "agent_view" in running.states[-1].reason)
    assert running.states[-1].live is Live.LIVE


async def test_what_is_refused_in_a_channel_holds_there_alone(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot go", channel=team)
    running.emulator.fault("error", method=SET_STATUS, status=200, description="not_authorized")
    for _ in range(2):
        await running.adapter.typing(address)
    assert calls(running, SET_STATUS) == 1
    private = await running.asked()
    await running.adapter.typing(private)
    assert session(running, private)["status"] == "processing"


async def test_without_the_stop_event_the_account_says_so(running: Running) -> None:
    running.emulator.world.events -= {"agent_session_stopped"}
    address = await running.asked()
    await running.adapter.typing(address)
    await running.asked("again")
    await eventually(lambda: "agent_session_stopped" in running.states[-1].reason)


async def test_somebody_unknown_to_slack_begins_it_nameless(running: Running) -> None:
    address = await running.asked()
    running.emulator.view(PERSON)
    running.emulator.world.channels[address.chat].members.clear()
    await running.adapter.typing(address)
    assert session(running, address)["initiator"] == ""


async def test_a_failure_of_the_connection_is_one_of_typing(running: Running) -> None:
    address = await running.asked()
    running.emulator.fault("error", method=SET_STATUS, status=500, description="internal_error")
    with pytest.raises(DeliveryError):
        await running.adapter.typing(address)
    await running.adapter.typing(address)
    assert session(running, address)["status"] == "processing"


async def test_beginnings_leave_calls_to_ends(emulator: SlackEmulator) -> None:
    clock = ManualClock()
    running = await Running(emulator, clock=clock).start()
    addresses = [
        await running.asked(f"go {number}") for number in range(SESSION_STATUSES - RESERVED_STATUSES + 1)
    ]
    for address in addresses:
        await running.adapter.typing(address)
    assert calls(running, SET_STATUS) == SESSION_STATUSES - RESERVED_STATUSES
    assert emulator.view(PERSON)["statuses"] == {addresses[-1].topic: "is thinking …"}
    await running.stop()


async def test_a_persons_title_is_stored(running: Running) -> None:
    address = await running.asked("What is new?")
    await running.adapter.typing(address)
    running.emulator.people.retitles(address.chat, address.topic, "News")
    await eventually(lambda: running.shelf.titles == [(address.chat, address.topic, "News")])


async def test_the_status_line_rotates_through_the_accounts_lines(emulator: SlackEmulator) -> None:
    emulator.world.view = AppView.NONE
    running = await Running(emulator, loading_messages=["Reading …", "Counting …"]).start()
    address = await running.asked()
    await running.adapter.typing(address)
    shown = {address.topic: "is thinking … · Reading … · Counting …"}
    assert emulator.view(PERSON)["statuses"] == shown
    await running.stop()


async def test_an_older_assistant_has_sessions(running: Running) -> None:
    running.emulator.world.view = AppView.ASSISTANT
    address = await running.asked()
    await running.adapter.typing(address)
    assert session(running, address)["status"] == "processing"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("\n \n two  words \nthree", "two words"),
        ("x" * TITLE_LIMIT, "x" * TITLE_LIMIT),
        ("x" * (TITLE_LIMIT + 1), "x" * (TITLE_LIMIT - 1) + "…"),
    ],
)
def test_a_title_is_the_first_line(text: str, title: str) -> None:
    assert title_of(text) == title
