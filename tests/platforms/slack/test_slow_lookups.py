"""A slow lookup holds up the messages behind it in its chat, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.domain import InboundChange
from bot.platforms.slack import directory, lookups
from bot.platforms.slack.directory import UNKNOWN_SECONDS

from .conftest import Running, answer_to, eventually

SLOW, FAST = "U0000008", "U0000009"


class SlowMethod:
    """Holds up calls of a method of the Web API until `release`, for one person or for all ("")."""

    def __init__(self, method: Callable[..., Awaitable[Any]], user: str = "") -> None:
        self._method = method
        self._user = user
        self._open = asyncio.Event()
        self.waiting = 0
        self.cancelled = 0

    async def __call__(self, **arguments: Any) -> Any:
        if self._user in ("", arguments.get("user")):
            self.waiting += 1
            try:
                await self._open.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.waiting -= 1
        return await self._method(**arguments)

    def release(self) -> None:
        self._open.set()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the test ends a lookup, however slow the machine is."""
    for module in (directory, lookups):
        monkeypatch.setattr(module, "LOOKUP_SECONDS", 3600.0)


def slow_down(
    running: Running, monkeypatch: pytest.MonkeyPatch, method: str = "users_info", user: str = ""
) -> SlowMethod:
    web = running.adapter.session.client.web
    slow = SlowMethod(getattr(web, method), user)
    monkeypatch.setattr(web, method, slow)
    return slow


def make_chats(running: Running) -> tuple[str, str]:
    """Two channels that are recorded, so that all their messages are looked up."""
    people = running.emulator.people
    chats = people.make_channel("one"), people.make_channel("two")
    running.shelf.recorded |= {*chats}
    running.emulator.world.user(SLOW, "Slow")
    running.emulator.world.user(FAST, "Fast")
    return chats


async def test_messages_of_an_unknown_person_share_a_lookup(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = make_chats(running)
    slow, people = slow_down(running, monkeypatch), running.emulator.people
    for chat in (one, two, two):
        people.says(f"<@{FAST}> and <@{SLOW}>", channel=chat, user=SLOW)
    await eventually(lambda: slow.waiting == 2)
    assert running.shelf.messages == []
    slow.release()
    messages = await running.shelf.until(3)
    assert {message.text for message in messages} == {"@Fast and @Slow"}
    assert {message.origin.sender.name for message in messages} == {"Slow"}
    assert running.emulator.transcript.calls["users.info"] == 2


async def test_a_slow_lookup_delays_no_other_chat(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = make_chats(running)
    slow, people = slow_down(running, monkeypatch, user=SLOW), running.emulator.people
    people.says("slow", channel=one, user=SLOW)
    await eventually(lambda: slow.waiting)
    people.says("fast", channel=two, user=FAST)
    assert [message.text for message in await running.shelf.until(1)] == ["fast"]
    await eventually(lambda: running.emulator.outbox.unacked == 1)
    slow.release()
    assert [message.text for message in await running.shelf.until(2)] == ["fast", "slow"]
    await eventually(lambda: running.emulator.outbox.unacked == 0)


async def test_the_order_of_a_chat_is_kept(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lookups of a chat run side by side, so that their times do not add up."""
    one, _ = make_chats(running)
    running.emulator.world.user("U0000007", "Slower")
    slow, people = slow_down(running, monkeypatch), running.emulator.people
    for number, user in enumerate((SLOW, FAST, "U0000007", SLOW)):
        people.says(str(number), channel=one, user=user)
    await eventually(lambda: slow.waiting == 3)
    assert running.emulator.outbox.unacked == 4
    slow.release()
    messages = await running.shelf.until(4)
    assert [message.text for message in messages] == ["0", "1", "2", "3"]
    assert [message.origin.sender.id for message in messages] == [SLOW, FAST, "U0000007", SLOW]


async def test_a_reply_does_not_overtake_the_edit_that_calls_the_bot(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = make_chats(running)
    people = running.emulator.people
    running.emulator.world.user("U0000007", "Slower")
    root = people.says("help?", channel=one, user=FAST)
    people.says("with what?", channel=one, user=SLOW, thread=root.ts)
    await running.shelf.until(2)
    slow = slow_down(running, monkeypatch, user="U0000007")
    people.edits(one, root.ts, "@roebot help, <@U0000007>?")
    await eventually(lambda: slow.waiting)
    people.says("see above", channel=one, user=FAST, thread=root.ts)
    await eventually(lambda: running.emulator.outbox.unacked == 2)
    slow.release()
    *_, reply = await running.shelf.until(3)
    assert (reply.text, reply.addressed) == ("see above", True)


async def test_an_edit_and_a_deletion_stay_behind_their_message(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = make_chats(running)
    slow, people = slow_down(running, monkeypatch, user=SLOW), running.emulator.people
    order: list[str] = []
    accept = running.shelf.accept

    async def note(events: Any, cursor: str = "") -> Any:
        order.extend(type(event).__name__ for event in events)
        return await accept(events, cursor)

    monkeypatch.setattr(running.shelf, "accept", note)
    said = people.says("first", channel=one, user=SLOW)
    await eventually(lambda: slow.waiting)
    people.edits(one, said.ts, "second")
    people.deletes(one, said.ts)
    await eventually(lambda: running.adapter.counts.events == 3)
    assert order == []
    slow.release()
    await eventually(lambda: len(order) == 3)
    assert order == ["InboundMessage", "InboundChange", "InboundChange"]
    assert [change.text for change in running.shelf.changes] == ["second", None]
    assert all(isinstance(change, InboundChange) for change in running.shelf.changes)


async def test_who_asked_last_is_whom_an_answer_streams_to(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is looked up fast does not come before an earlier message of the thread."""
    one, _ = make_chats(running)
    slow, people = slow_down(running, monkeypatch, user=SLOW), running.emulator.people
    root = people.says("@roebot hello", channel=one, user=FAST)
    await running.shelf.until(1)
    people.says("@roebot slow", channel=one, thread=root.ts, user=SLOW)
    await eventually(lambda: slow.waiting)
    people.says("@roebot fast", channel=one, thread=root.ts, user=FAST)
    await eventually(lambda: running.emulator.outbox.unacked == 4)
    slow.release()
    messages = await running.shelf.until(3)
    assert [message.text for message in messages] == ["hello", "slow", "fast"]
    asked = running.adapter.session.directory.find_recipient(answer_to(messages[-1]))
    assert asked == (FAST, running.emulator.world.team)


async def test_a_reply_finds_the_thread_that_a_slow_mention_opens(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = make_chats(running)
    slow, people = slow_down(running, monkeypatch, user=SLOW), running.emulator.people
    root = people.says("@roebot hello", channel=one, user=SLOW)
    await eventually(lambda: slow.waiting)
    people.says("and this", channel=one, thread=root.ts, user=FAST)
    slow.release()
    messages = await running.shelf.until(2)
    assert [(message.text, message.addressed) for message in messages] == [
        ("hello", True),
        ("and this", True),
    ]
    assert "conversations.replies" not in running.emulator.counters()["calls"]


async def test_stopping_ends_the_lookups(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = make_chats(running)
    slow, people = slow_down(running, monkeypatch), running.emulator.people
    people.says("slow", channel=one, user=SLOW)
    people.says("too", channel=two, user=SLOW)
    await eventually(lambda: slow.waiting == 1 and running.adapter.counts.events == 2)
    await running.crash()
    assert (slow.waiting, slow.cancelled) == (0, 1)
    assert running.shelf.messages == []


async def test_somebody_who_is_not_found_is_asked_about_once_a_minute(by_hand: Running) -> None:
    one, _ = make_chats(by_hand)
    people, calls = by_hand.emulator.people, by_hand.emulator.transcript.calls
    by_hand.emulator.fault("error", method="users.info", status=200, description="user_not_found", times=1)
    for count, (wait, guest) in enumerate([(0.0, True), (0.0, True), (UNKNOWN_SECONDS, False)], start=1):
        await by_hand.clock.advance(wait)
        people.says("hello", channel=one, user=FAST)
        [*_, message] = await by_hand.shelf.until(count)
        assert message.origin.sender.guest is guest
    assert calls["users.info"] == 2


async def test_a_call_that_failed_is_repeated_with_the_next_message(by_hand: Running) -> None:
    """Who is unknown has no access by a workspace or group, which must not last longer than the failure."""
    one, _ = make_chats(by_hand)
    by_hand.emulator.fault("error", method="users.info", status=500, times=1)
    for count, guest in enumerate((True, False), start=1):
        by_hand.emulator.people.says("hello", channel=one, user=FAST)
        [*_, message] = await by_hand.shelf.until(count)
        assert message.origin.sender.guest is guest
