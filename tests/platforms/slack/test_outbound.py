"""Sending: what people see, what each refusal means, and posts of unknown outcome."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain import ChatKind, OutboundFile, OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.base import (
    Adapter,
    AsksChoice,
    DeletesMessages,
    EditsMessages,
    FetchesFiles,
    RepeatsSafely,
    SendsFiles,
    ShowsAlone,
    ShowsTyping,
)
from bot.platforms.slack.adapter import SlackAdapter
from bot.platforms.slack.outbound import STATUS_REFRESH
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.state import AppView
from roebot_testing.emulators.transcript import FrameKind

from .conftest import PERSON, Running, answer_to, eventually, final, frame


async def test_a_final_is_one_post_in_its_thread(running: Running) -> None:
    address = await running.asked()
    await running.adapter.send(final("# Title\n\n- **bold**", address))
    [seen] = running.shown()
    assert (seen["text"], seen["thread_ts"], seen["streamed"]) == (
        "# Title\n\n- **bold**",
        address.topic,
        False,
    )
    assert running.emulator.counters()["calls"]["chat.postMessage"] == 1


@pytest.mark.parametrize("kind", ["drop", "close"])
@pytest.mark.parametrize("place", ["direct", "channel"])
async def test_a_post_of_unknown_outcome_is_there_once(running: Running, kind: str, place: str) -> None:
    channel = running.emulator.people.make_channel("team") if place == "channel" else ""
    address = await running.asked("@roebot go", channel=channel)
    running.emulator.fault(kind, method="chat.postMessage")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send(final("once", address))
    assert lost.value.unknown_outcome
    ts = await running.adapter.send(final("once", address))
    assert [(seen["text"], seen["ts"]) for seen in running.shown(address.chat)] == [("once", ts)]


@pytest.mark.parametrize("kind", ["drop", "close"])
async def test_a_stream_of_unknown_outcome_is_there_once(running: Running, kind: str) -> None:
    address = await running.asked()
    running.emulator.fault(kind, method="chat.startStream")
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.send(frame("once", address))
    assert lost.value.unknown_outcome
    ts = await running.adapter.send(frame("once and", address))
    await running.adapter.edit(final("once and for all", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("once and for all", False)


async def test_an_unknown_outcome_before_a_crash_is_found_after_it(emulator: SlackEmulator) -> None:
    team = emulator.people.make_channel("team")
    first = await Running(emulator).start()
    address = await first.asked("@roebot go", channel=team)
    emulator.fault("drop", method="chat.postMessage")
    with pytest.raises(DeliveryError):
        await first.adapter.send(final("part one", address, "7:0"))
    await first.stop()
    second = await Running(emulator).start()
    await second.adapter.send(final("part one, as it ended", address, "7:0"))
    await second.adapter.send(final("part two", address, "7:1"))
    assert [seen["text"] for seen in second.shown(team)] == ["part one, as it ended", "part two"]
    await second.stop()


async def test_a_post_outside_a_thread_is_found_after_a_crash(emulator: SlackEmulator) -> None:
    """Only where the service says that its outcome is unknown: reading a channel costs a call."""
    team = emulator.people.make_channel("team")
    address = ReplyAddress("sl", team, ChatKind.GROUP)
    first = await Running(emulator).start()
    ts = await first.adapter.send(final("is active", address, "7:0"))
    await first.adapter.send(final("is another", address, "8:0"))
    await first.stop()
    second = await Running(emulator).start()
    assert await second.adapter.send(replace(final("is resolved", address, "7:0"), unsure=True)) == ts
    await second.adapter.send(replace(final("was not posted", address, "9:0"), unsure=True))
    await second.adapter.send(final("is new", address, "10:0"))
    expected = ["is resolved", "is another", "was not posted", "is new"]
    assert [seen["text"] for seen in second.shown(team)] == expected
    assert emulator.counters()["calls"]["conversations.history"] == 2
    await second.stop()


async def test_a_cut_off_stream_before_a_crash_is_taken_over(emulator: SlackEmulator) -> None:
    team = emulator.people.make_channel("team")
    first = await Running(emulator).start()
    address = await first.asked("@roebot go", channel=team)
    emulator.fault("drop", method="chat.startStream")
    with pytest.raises(DeliveryError):
        await first.adapter.send(frame("begun", address, "7:0"))
    await first.stop()
    second = await Running(emulator).start()
    ts = await second.adapter.send(final("begun and done", address, "7:0"))
    assert [(seen["ts"], seen["text"]) for seen in second.shown(team)] == [(ts, "begun and done")]
    await second.stop()


async def test_earlier_answers_in_a_thread_are_not_taken_for_this_one(emulator: SlackEmulator) -> None:
    team = emulator.people.make_channel("team")
    first = await Running(emulator).start()
    address = await first.asked("@roebot one", channel=team)
    await first.adapter.send(final("answer one", address, "1:0"))
    await eventually(lambda: emulator.outbox.unacked == 0)
    await first.stop()
    second = await Running(emulator).start()
    again = await second.asked("@roebot two", channel=team, thread=address.topic)
    # A service whose home was new counts its turns from one again.
    await second.adapter.send(final("answer two", again, "1:0"))
    assert [seen["text"] for seen in second.shown(team)] == ["answer one", "answer two"]
    await second.stop()


async def test_a_thread_of_this_life_is_not_searched(running: Running) -> None:
    address = await running.asked()
    await running.adapter.send(final("a", address))
    assert "conversations.replies" not in running.emulator.counters()["calls"]


async def test_the_status_line_is_shown_once_and_again_in_time(emulator: SlackEmulator) -> None:
    emulator.world.view = AppView.NONE
    clock = ManualClock()
    running = await Running(emulator, clock=clock).start()
    address = await running.asked()
    for _ in range(5):
        await running.adapter.typing(address)
    assert emulator.view(PERSON)["statuses"] == {address.topic: "is thinking …"}
    await clock.advance(STATUS_REFRESH + 1)
    await running.adapter.typing(address)
    assert emulator.transcript.calls["assistant.threads.setStatus"] == 2
    await running.adapter.send(final("done", address))
    assert emulator.view(PERSON)["statuses"] == {}
    await running.adapter.typing(address)
    assert emulator.transcript.calls["assistant.threads.setStatus"] == 3
    assert emulator.transcript.calls["agents.sessions.setStatus"] == 1
    await running.stop()


async def test_an_app_without_the_status_line_asks_once(running: Running) -> None:
    running.emulator.world.view = AppView.NONE
    address = await running.asked()
    running.emulator.fault(
        "error", method="assistant.threads.setStatus", status=200, description="missing_scope", times=-1
    )
    with pytest.raises(DeliveryError):
        await running.adapter.typing(address)
    await running.adapter.typing(address)
    assert running.emulator.counters()["calls"]["assistant.threads.setStatus"] == 1


async def test_outside_a_thread_there_is_no_status_line(running: Running) -> None:
    await running.adapter.typing(ReplyAddress("sl", "C1", ChatKind.GROUP))
    assert running.emulator.transcript.of(FrameKind.TYPING) == []


@pytest.mark.parametrize(
    ("status", "error", "category", "unknown"),
    [
        (200, "channel_not_found", DeliveryCategory.NOT_FOUND, False),
        (200, "thread_not_found", DeliveryCategory.NOT_FOUND, False),
        (200, "not_in_channel", DeliveryCategory.PERMISSION, False),
        (200, "is_archived", DeliveryCategory.PERMISSION, False),
        (200, "missing_scope", DeliveryCategory.PERMISSION, False),
        (200, "restricted_action", DeliveryCategory.PERMISSION, False),
        (200, "invalid_auth", DeliveryCategory.AUTH, False),
        (200, "token_revoked", DeliveryCategory.AUTH, False),
        (200, "account_inactive", DeliveryCategory.AUTH, False),
        (200, "msg_too_long", DeliveryCategory.INVALID_PAYLOAD, False),
        (200, "no_text", DeliveryCategory.INVALID_PAYLOAD, False),
        (200, "something_new", DeliveryCategory.INVALID_PAYLOAD, False),
        (200, "internal_error", DeliveryCategory.TRANSIENT, True),
        (200, "fatal_error", DeliveryCategory.TRANSIENT, True),
        (500, "internal_error", DeliveryCategory.TRANSIENT, True),
        (503, "service_unavailable", DeliveryCategory.TRANSIENT, True),
    ],
)
async def test_refusals_have_their_category(
    running: Running, status: int, error: str, category: DeliveryCategory, unknown: bool
) -> None:
    address = await running.asked()
    running.emulator.fault("error", method="chat.postMessage", status=status, description=error, times=2)
    with pytest.raises(DeliveryError) as failed:
        await running.adapter.send(final("hi", address))
    assert (failed.value.category, failed.value.unknown_outcome) == (category, unknown)
    assert failed.value.detail.startswith(error)


async def test_a_message_that_is_gone_is_not_found(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(final("a", address))
    await running.adapter.delete(address, ts)
    with pytest.raises(DeliveryError) as gone:
        await running.adapter.edit(final("b", address), ts)
    assert gone.value.category is DeliveryCategory.NOT_FOUND


async def test_another_ones_message_is_not_ours_to_delete(running: Running) -> None:
    address = await running.asked()
    with pytest.raises(DeliveryError) as refused:
        await running.adapter.delete(address, address.topic)
    assert refused.value.category is DeliveryCategory.PERMISSION


async def test_a_server_that_is_gone_was_never_reached(emulator: SlackEmulator, running: Running) -> None:
    address = await running.asked()
    running.adapter.session.client.web.base_url = "http://127.0.0.1:9/api/"
    with pytest.raises(DeliveryError) as unreachable:
        await running.adapter.send(final("hi", address))
    assert unreachable.value.category is DeliveryCategory.TRANSIENT
    assert not unreachable.value.unknown_outcome


async def test_true_limits_answer_with_the_seconds(emulator: SlackEmulator) -> None:
    emulator.limits(True)
    running = await Running(emulator).start()
    address = await running.asked()
    await running.adapter.send(final("one", address, "1:0"))
    with pytest.raises(RateLimited) as limited:
        await running.adapter.send(final("two", address, "1:1"))
    assert limited.value.retry_after == 1 and not limited.value.unknown_outcome
    await running.stop()


async def test_a_command_where_the_bot_is_no_member_is_answered_to_who_gave_it(running: Running) -> None:
    team = running.emulator.people.make_channel("team", private=True)
    running.emulator.people.removes_bot(team)
    running.emulator.people.commands("status", user=PERSON, channel=team)
    [message] = await running.shelf.until(1)
    sent = await running.adapter.send(final("all **well**", answer_to(message)))
    assert sent.startswith("response:")
    [seen] = running.shown(team)
    assert (seen["text"], seen["visible_to"]) == ("all **well**", PERSON)


async def test_a_command_where_the_bot_is_a_member_is_answered_in_the_channel(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    running.emulator.people.commands("status", user=PERSON, channel=team)
    [message] = await running.shelf.until(1)
    await running.adapter.send(final("all well", answer_to(message)))
    [seen] = running.shown(team)
    assert (seen["text"], seen["thread_ts"], seen["visible_to"]) == ("all well", "", "")


async def test_a_private_answer_is_seen_by_who_asked_alone(running: Running) -> None:
    running.shelf.private = {"/whoami"}
    team = running.emulator.people.make_channel("team")
    running.emulator.people.commands("whoami", user=PERSON, channel=team)
    [message] = await running.shelf.until(1)
    for part in range(2):
        await running.adapter.send(final(f"part {part}", answer_to(message), f"1:{part}"))
    running.emulator.people.commands("status", user=PERSON, channel=team)
    [_, loud] = await running.shelf.until(2)
    await running.adapter.send(final("all well", answer_to(loud), "2:0"))
    seen = [(one["text"], one["visible_to"]) for one in running.shown(team)]
    assert seen == [("part 0", PERSON), ("part 1", PERSON), ("all well", "")]


async def test_what_is_for_one_person_is_seen_by_them_alone_where_it_can_be_seen(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot whoami", channel=team)
    # Slack shows nothing of the kind in a thread in which nobody has answered.
    await running.adapter.send(replace(final("above", address), alone=PERSON))
    await running.adapter.send(final("**loud**", address, "2:0"))
    below = await running.asked("@roebot whoami", channel=team, thread=address.topic)
    await running.adapter.send(replace(final("*below*", below, "3:0"), alone=PERSON))
    seen = [(one["text"], one["thread_ts"], one["visible_to"]) for one in running.shown(team)]
    assert seen == [
        ("above", "", PERSON),
        ("**loud**", address.topic, ""),
        ("*below*", address.topic, PERSON),
    ]


async def test_who_is_gone_is_told_nothing(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot whoami", channel=team)
    with pytest.raises(DeliveryError, match="user_not_in_channel") as refused:
        await running.adapter.send(replace(final("above", address), alone="U0999999"))
    assert refused.value.category is DeliveryCategory.PERMISSION
    assert running.shown(team) == []


async def test_a_private_answer_that_comes_too_late_goes_out_as_ever(running: Running) -> None:
    running.shelf.private = {"/whoami"}
    team = running.emulator.people.make_channel("team")
    running.emulator.people.commands("whoami", user=PERSON, channel=team)
    [message] = await running.shelf.until(1)
    running.emulator.limits(True)
    for part in range(6):
        await running.adapter.send(final(f"part {part}", answer_to(message), f"1:{part}"))
    # The address of a command takes five answers.
    assert [one["visible_to"] for one in running.shown(team)] == [*[PERSON] * 5, ""]


async def test_a_command_answer_of_unknown_outcome_is_there_once(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    running.emulator.people.commands("status", user=PERSON, channel=team)
    [message] = await running.shelf.until(1)
    running.emulator.fault("drop", method="chat.postMessage")
    with pytest.raises(DeliveryError):
        await running.adapter.send(final("all well", answer_to(message)))
    await running.adapter.send(final("all well", answer_to(message)))
    assert [seen["text"] for seen in running.shown(team)] == ["all well"]


async def test_a_removed_bot_is_told_so(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot go", channel=team)
    running.emulator.people.removes_bot(team)
    with pytest.raises(DeliveryError, match="not_in_channel") as removed:
        await running.adapter.send(final("hi", address))
    assert removed.value.category is DeliveryCategory.PERMISSION


async def test_nothing_can_be_sent_before_or_after(emulator: SlackEmulator, running: Running) -> None:
    address = await running.asked()
    idle = Running(emulator).adapter
    with pytest.raises(DeliveryError, match="not connected"):
        await idle.send(final("hi", address))
    await running.stop()
    with pytest.raises(DeliveryError, match="not connected"):
        await running.adapter.typing(address)
    with pytest.raises(DeliveryError, match="not connected"):
        await running.adapter.send_file(OutboundFile("1:0", address, "a", "text/plain", b"x"))


def test_it_has_its_capabilities(tmp_path: Path) -> None:
    wanted = (
        Adapter,
        AsksChoice,
        EditsMessages,
        DeletesMessages,
        RepeatsSafely,
        ShowsAlone,
        ShowsTyping,
        SendsFiles,
        FetchesFiles,
    )
    for protocol in wanted:
        names = [name for name in vars(protocol) if not name.startswith("_")]
        assert all(hasattr(SlackAdapter, name) for name in names), protocol
    assert SlackAdapter.repeats_safely


async def test_an_answer_without_a_message_is_of_unknown_outcome(running: Running) -> None:
    address = await running.asked()
    message = OutboundMessage("1:0", address, "hi")
    running.emulator.fault("error", method="chat.postMessage", status=200, description="")
    with pytest.raises(DeliveryError) as strange:
        await running.adapter.send(message)
    assert strange.value.unknown_outcome


LEAK = "see https://evil.example/?d=secret"


async def _write_with_links(running: Running) -> None:
    threaded = await running.asked()
    ts = await running.adapter.send(frame(LEAK, threaded, "1:0"))
    await running.adapter.edit(frame(f"{LEAK} more", threaded, "1:0"), ts)
    await running.adapter.edit(final(f"{LEAK} more https://evil.example/2", threaded, "1:0"), ts)
    ts = await running.adapter.send(final("plain", threaded, "2:0"))
    await running.adapter.edit(final(LEAK, threaded, "2:0"), ts)
    await running.adapter.send(replace(final(LEAK, threaded, "3:0"), alone=PERSON))


@pytest.mark.guard(
    "Slack fetches no links",
    "bot/platforms/slack/client.py",
    '{"unfurl_links": previews, "unfurl_media": previews}',
    "{}",
    against="leaks without a click",
)
async def test_slack_fetches_no_link_of_an_answer(running: Running) -> None:
    await _write_with_links(running)
    called = running.emulator.transcript.calls
    assert {"chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update"} <= set(called)
    assert running.emulator.counters()["previews"] == []


async def test_a_stream_works_where_slack_refuses_the_arguments(running: Running) -> None:
    running.emulator.fault("error", method="chat.startStream", status=200, description="invalid_arguments")
    await _write_with_links(running)
    assert running.shown()[0]["text"] == f"{LEAK} more https://evil.example/2"
    assert running.emulator.transcript.calls["chat.startStream"] == 2


async def test_link_previews_are_there_where_the_configuration_wants_them(emulator: SlackEmulator) -> None:
    running = Running(emulator, link_previews=True)
    await running.start()
    await _write_with_links(running)
    assert "https://evil.example/?d=secret" in emulator.counters()["previews"]
    await running.stop()
