"""Native streams behind send and edit: nothing twice, nothing missing, whatever happens on the way."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.account_state import Live
from bot.errors import DeliveryCategory, DeliveryError, RateLimited
from bot.platforms.slack.method_limits import UPDATES
from bot.platforms.slack.streams import ROTATE_AFTER
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import PERSON, Running, eventually, final, frame


def calls(emulator: SlackEmulator) -> Counter[str]:
    """How often each method that shows something was called."""
    counted = emulator.transcript.calls
    return Counter({name: count for name, count in counted.items() if name.startswith("chat.")})


async def test_frames_are_appended_and_the_final_ends_the_stream(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("Hello", address))
    await running.adapter.edit(frame("Hello wor", address), ts)
    assert running.shown()[0]["streaming"]
    await running.adapter.edit(final("Hello world, **all** of it", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"], seen["edits"], seen["thread_ts"]) == (
        "Hello world, **all** of it",
        False,
        0,
        address.topic,
    )
    assert seen["metadata"]["event_payload"] == {"key": "sl:1:0"}
    assert calls(running.emulator) == {
        "chat.startStream": 1,
        "chat.appendStream": 1,
        "chat.stopStream": 1,
    }


async def test_a_final_that_adds_nothing_still_ends_the_stream(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("all of it", address))
    await running.adapter.edit(final("all of it", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("all of it", False)


async def test_a_frame_that_shows_less_changes_nothing(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one two", address))
    await running.adapter.edit(frame("one", address), ts)
    await running.adapter.edit(frame("one two", address), ts)
    assert calls(running.emulator) == {"chat.startStream": 1}
    await running.adapter.edit(final("one two three", address), ts)
    assert running.shown()[0]["text"] == "one two three"


@pytest.mark.parametrize("kind", ["", "error"])
async def test_a_part_that_gives_text_to_the_next_one_shows_it_no_more(running: Running, kind: str) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one\n\ntwo thr", address))
    await running.adapter.edit(frame("one", address), ts)
    if kind:
        running.emulator.fault(kind, method="chat.update")
    await running.adapter.send(frame("two three", address, key="1:1"))
    assert [seen["text"] for seen in running.shown()] == ["one\n\ntwo thr" if kind else "one", "two three"]
    assert running.adapter.streaming(address, ts) is bool(kind)
    await running.adapter.edit(final("one", address), ts)
    assert [seen["text"] for seen in running.shown()] == ["one", "two three"]
    assert not running.adapter.streaming(address, ts)


async def test_a_text_that_is_not_continued_replaces_what_stood(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("first attempt", address))
    await running.adapter.edit(frame("second **attempt", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("second **attempt**", False)
    await running.adapter.edit(final("second attempt, done", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["edits"]) == ("second attempt, done", 2)


async def test_a_shorter_final_replaces_what_stood(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one two three", address))
    await running.adapter.edit(final("one", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("one", False)


@pytest.mark.parametrize("kind", ["drop", "close"])
async def test_an_append_of_unknown_outcome_is_settled_by_the_whole_text(running: Running, kind: str) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    running.emulator.fault(kind, method="chat.appendStream")
    await running.adapter.edit(frame("one two", address), ts)
    assert [seen["text"] for seen in running.shown()] == ["one two"]
    await running.adapter.edit(final("one two three", address), ts)
    assert [seen["text"] for seen in running.shown()] == ["one two three"]
    assert calls(running.emulator)["chat.appendStream"] == 1


@pytest.mark.parametrize("kind", ["drop", "close"])
async def test_an_end_of_unknown_outcome_is_settled_by_the_whole_text(running: Running, kind: str) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    running.emulator.fault(kind, method="chat.stopStream")
    await running.adapter.edit(final("one two", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("one two", False)


async def test_a_stream_that_cannot_be_ended_now_is_ended_later(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    running.emulator.fault("close", method="chat.stopStream", times=2)
    with pytest.raises(DeliveryError) as lost:
        await running.adapter.edit(final("one two", address), ts)
    assert lost.value.category is DeliveryCategory.TRANSIENT and not lost.value.unknown_outcome
    await running.adapter.edit(final("one two", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("one two", False)


async def test_a_stream_that_slack_ended_goes_on_by_updates(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    running.emulator.expire_streams()
    await running.adapter.edit(frame("one two", address), ts)
    await running.adapter.edit(final("one two three", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["edits"]) == ("one two three", 2)
    assert calls(running.emulator)["chat.appendStream"] == 1


async def test_a_stream_is_ended_by_the_clock_before_slack_does(by_hand: Running) -> None:
    clock: ManualClock = by_hand.clock
    address = await by_hand.asked()
    ts = await by_hand.adapter.send(frame("one", address))
    await clock.advance(ROTATE_AFTER - 1)
    assert by_hand.shown()[0]["streaming"]
    await clock.advance(2)
    await eventually(lambda: not by_hand.shown()[0]["streaming"])
    await by_hand.adapter.edit(frame("one two", address), ts)
    await by_hand.adapter.edit(final("one two three", address), ts)
    [seen] = by_hand.shown()
    assert (seen["text"], seen["edits"]) == ("one two three", 2)


async def test_a_long_reply_over_expiry_and_rotation_is_whole(by_hand: Running) -> None:
    clock: ManualClock = by_hand.clock
    address = await by_hand.asked()
    words = [f"word{number}" for number in range(1, 25)]
    ts = await by_hand.adapter.send(frame(words[0], address))
    for count in range(2, len(words)):
        await clock.advance(30.0)
        await by_hand.adapter.edit(frame(" ".join(words[:count]), address), ts)
    await by_hand.adapter.edit(final(" ".join(words), address), ts)
    [seen] = by_hand.shown()
    assert seen["text"].split() == words


async def test_a_stream_left_open_by_an_earlier_life_is_ended(emulator: SlackEmulator) -> None:
    first = await Running(emulator).start()
    address = await first.asked()
    ts = await first.adapter.send(frame("one", address))
    await first.stop()
    assert first.shown()[0]["streaming"]
    second = await Running(emulator).start()
    await second.adapter.edit(final("one two", address), ts)
    [seen] = second.shown()
    assert (seen["text"], seen["streaming"]) == ("one two", False)
    await second.stop()


async def test_the_next_part_ends_the_stream_before_it(running: Running) -> None:
    address = await running.asked()
    await running.adapter.send(frame("first part", address, "1:0"))
    second = await running.adapter.send(frame("second", address, "1:1"))
    assert [seen["streaming"] for seen in running.shown()] == [False, True]
    await running.adapter.edit(final("second part", address, "1:1"), second)
    assert [seen["text"] for seen in running.shown()] == ["first part", "second part"]


async def test_another_turn_leaves_a_stream_alone(running: Running) -> None:
    address = await running.asked()
    await running.adapter.send(frame("first", address, "1:0"))
    await running.adapter.send(final("a command's answer", address, "2:0"))
    assert [seen["streaming"] for seen in running.shown()] == [True, False]


async def test_deleting_a_stream_ends_it_first(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("oops", address))
    await running.adapter.delete(address, ts)
    await running.adapter.delete(address, ts)
    assert running.shown() == []
    assert calls(running.emulator)["chat.stopStream"] == 1


async def test_in_a_channel_a_stream_names_its_recipient(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot go", channel=team)
    await running.adapter.send(frame("for you", address))
    [message] = [one for one in running.emulator.world.channels[team].messages.values() if one.stream]
    assert message.stream and message.stream.user == PERSON


async def test_a_stranger_of_a_shared_channel_is_answered_in_their_workspace(running: Running) -> None:
    shared = running.emulator.people.make_channel("shared", shared=True)
    address = await running.asked("@roebot go", channel=shared, user="U0GUEST", team="T0THEIRS")
    await running.adapter.send(frame("welcome", address))
    assert running.shown(shared)[0]["streamed"]


async def test_without_a_known_recipient_it_is_posted_and_edited(emulator: SlackEmulator) -> None:
    team = emulator.people.make_channel("team")
    first = await Running(emulator).start()
    address = await first.asked("@roebot go", channel=team)
    await first.stop()
    second = await Running(emulator).start()
    ts = await second.adapter.send(frame("one **two", address))
    assert second.shown(team)[0]["text"] == "one **two**"
    await second.adapter.edit(final("one **two** three", address), ts)
    [seen] = second.shown(team)
    assert (seen["text"], seen["streamed"]) == ("one **two** three", False)
    await second.stop()


async def test_where_slack_has_no_streams_it_is_posted_and_edited(running: Running) -> None:
    address = await running.asked()
    running.emulator.fault(
        "error", method="chat.startStream", status=200, description="channel_type_not_supported", times=-1
    )
    for number in range(2):
        ts = await running.adapter.send(frame("one", address, f"{number}:0"))
        await running.adapter.edit(final("one two", address, f"{number}:0"), ts)
    assert [seen["text"] for seen in running.shown()] == ["one two", "one two"]
    assert calls(running.emulator)["chat.startStream"] == 1


async def test_a_stream_that_a_person_stopped_is_ended_and_rewritten(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    running.emulator.people.stops(address.chat, address.topic)
    await running.adapter.edit(frame("one two", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["streaming"]) == ("one two", False)
    await running.adapter.edit(final("one two. Stopped.", address), ts)
    assert [seen["text"] for seen in running.shown()] == ["one two. Stopped."]


async def test_nothing_is_changed_in_an_archived_channel(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    address = await running.asked("@roebot go", channel=team)
    ts = await running.adapter.send(final("one", address))
    running.emulator.people.archives(team)
    with pytest.raises(DeliveryError, match="is_inactive") as refused:
        await running.adapter.edit(final("two", address), ts)
    assert refused.value.category is DeliveryCategory.PERMISSION


async def test_twenty_streams_a_minute_and_the_rest_by_edits(emulator: SlackEmulator) -> None:
    emulator.limits(True)
    running = await Running(emulator, clock=ManualClock()).start()
    people = [f"U{number:07d}" for number in range(25)]
    opened = []
    for number, user in enumerate(people):
        address = await running.asked(user=user)
        opened.append((address, await running.adapter.send(frame("one", address, f"{number}:0"))))
    for number, (address, ts) in enumerate(opened):
        await running.adapter.edit(final("one two", address, f"{number}:0"), ts)
    shown = [running.shown(user)[0] for user in people]
    assert [seen["text"] for seen in shown] == ["one two"] * 25
    assert [seen["streamed"] for seen in shown] == [True] * 20 + [False] * 5
    assert emulator.counters()["limited"] == 0
    await running.stop()


async def test_frames_by_updates_leave_room_for_finals(by_hand: Running) -> None:
    address = await by_hand.asked()
    ts = await by_hand.adapter.send(final("posted", address))
    await by_hand.adapter.edit(frame("frame", address), ts)
    with pytest.raises(DeliveryError) as skipped:
        await by_hand.adapter.edit(frame("another one at once", address), ts)
    assert skipped.value.category is DeliveryCategory.RATE_LIMIT
    assert not isinstance(skipped.value, RateLimited)
    for number in range(UPDATES - 1):
        await by_hand.adapter.edit(final(f"final {number}", address), ts)
    with pytest.raises(RateLimited) as limited:
        await by_hand.adapter.edit(final("later", address), ts)
    assert 0 < limited.value.retry_after <= 63
    assert by_hand.state.live is Live.LIVE
    await by_hand.clock.advance(limited.value.retry_after)
    await by_hand.adapter.edit(final("later", address), ts)
    assert by_hand.shown()[0]["text"] == "later"


async def test_a_limit_on_the_stream_is_told_and_loses_nothing(running: Running) -> None:
    address = await running.asked()
    ts = await running.adapter.send(frame("one", address))
    running.emulator.penalize(address.chat, 137)
    with pytest.raises(RateLimited) as limited:
        await running.adapter.edit(final("one two", address), ts)
    assert 136 <= limited.value.retry_after <= 137
    assert running.state.live is Live.LIMITED and "asks to wait" in running.state.reason
    running.emulator.rate_limits.reset()
    await running.adapter.edit(final("one two", address), ts)
    [seen] = running.shown()
    assert (seen["text"], seen["edits"], seen["streaming"]) == ("one two", 0, False)


async def test_a_limit_that_has_passed_is_over_with_the_next_call(by_hand: Running) -> None:
    address = await by_hand.asked()
    by_hand.emulator.penalize(address.chat, 137)
    with pytest.raises(RateLimited) as limited:
        await by_hand.adapter.send(final("one", address))
    assert by_hand.state.live is Live.LIMITED
    by_hand.emulator.rate_limits.reset()
    await by_hand.adapter.send(final("one", address))
    assert by_hand.state.live is Live.LIMITED
    await by_hand.clock.advance(limited.value.retry_after)
    await by_hand.adapter.send(final("two", address, "1:1"))
    assert by_hand.state.live is Live.LIVE


async def test_a_message_of_an_earlier_connection_may_be_open(running: Running) -> None:
    address = await running.asked()
    posted = await running.adapter.send(frame("one", address))
    await running.adapter.edit(final("one", address), posted)
    assert not running.adapter.streaming(address, posted)
    await running.stop()
    assert running.adapter.streaming(address, posted)
    await running.start()
    assert running.adapter.streaming(address, posted)
