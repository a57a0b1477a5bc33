"""Questions about events: asked side by side, once, in bounded time; a busy socket still reads its pongs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from bot.platforms.feishu import lookups, socket
from bot.platforms.feishu.adapter import FeishuAdapter
from bot.platforms.feishu.lookups import SILENCES, SILENT_SECONDS, FeishuLookups, NotAsked, limit_lookups
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.feishu import FeishuEmulator

from .conftest import ADA, BEN, Running, account, eventually

WORDS = [str(number) for number in range(5)]


@dataclass
class Api:
    """An API that answers once it is told to."""

    asked: int = 0
    cancelled: int = 0
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> str:
        self.asked += 1
        try:
            await self.answered.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "Ada"


async def test_a_question_is_asked_once_for_all_who_wait() -> None:
    api, questions = Api(), FeishuLookups(ManualClock())
    waiting = [asyncio.create_task(questions.ask("ada", api)) for _ in range(3)]
    await eventually(lambda: api.asked)
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    api.answered.set()
    assert await asyncio.gather(*waiting[1:]) == ["Ada", "Ada"]
    assert (api.asked, api.cancelled) == (1, 0)


async def test_a_question_that_nobody_waits_for_ends() -> None:
    api, questions = Api(), FeishuLookups(ManualClock())
    waiting = asyncio.create_task(questions.ask("ada", api))
    await eventually(lambda: api.asked)
    waiting.cancel()
    await eventually(lambda: api.cancelled == 1)
    api.answered.set()
    assert await questions.ask("ada", api) == "Ada"


async def test_a_silent_api_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "ASK_SECONDS", 0.01)
    api, clock = Api(), ManualClock()
    questions = FeishuLookups(clock)
    for number in range(SILENCES):
        with pytest.raises(TimeoutError):
            await questions.ask(str(number), api)
    api.answered.set()
    with pytest.raises(NotAsked):
        await questions.ask("again", api)
    assert api.asked == SILENCES
    clock.set(clock.now() + SILENT_SECONDS)
    assert await questions.ask("again", api) == "Ada"


async def test_an_event_has_a_deadline_for_all_its_questions() -> None:
    api, questions = Api(), FeishuLookups(ManualClock())
    limit_lookups(0.01)
    with pytest.raises(TimeoutError):
        await questions.ask("one", api)
    with pytest.raises(NotAsked):
        await questions.ask("two", api)
    assert api.asked == 1


async def test_events_of_a_chat_are_asked_about_side_by_side(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.fault("slow", method="user.get", seconds=600.0, times=-1)
    place = emulator.people.make_group("team")
    users = [f"ou_person{number}" for number in range(len(WORDS))]
    for word, user in zip(WORDS, users, strict=True):
        emulator.people.says(word, user=user, chat=place)
    await running.shelf.until(len(WORDS))
    assert running.shelf.texts == WORDS
    assert running.calls("user.get") == len(WORDS)


async def test_a_slow_question_does_not_change_the_order(running: Running, emulator: FeishuEmulator) -> None:
    emulator.fault("slow", method="user.get", seconds=0.2)
    place = emulator.people.make_group("team")
    emulator.people.says("first", user=ADA, chat=place)
    emulator.people.says("second", user=BEN, chat=place)
    await running.shelf.until(2)
    assert running.shelf.texts == ["first", "second"]


async def test_nothing_is_asked_about_a_message_that_comes_again(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.people.forwards(["sun"])
    await running.shelf.until(1)
    await eventually(lambda: emulator.socket.acked == [200])
    asked = running.calls("message.get")
    emulator.redeliver()
    await eventually(lambda: running.shelf.duplicates == 1)
    assert running.calls("message.get") == asked


async def test_a_full_house_does_not_look_like_a_dead_connection(
    running: Running, emulator: FeishuEmulator
) -> None:
    running.shelf.hold()
    for number in range(socket.MAX_EVENTS + 2):
        emulator.people.says("hi", user=f"ou_person{number}")
    await eventually(lambda: running.shelf.held == socket.MAX_EVENTS)
    pings = emulator.socket.pings
    await eventually(lambda: emulator.socket.pings >= pings + socket.SILENT_PINGS + 2)
    assert running.adapter.counts.connections == 1
    running.shelf.release()
    await running.shelf.until(socket.MAX_EVENTS + 2)


async def test_events_beyond_those_that_may_wait_come_again(
    emulator: FeishuEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "MAX_EVENTS", 1)
    monkeypatch.setattr(socket, "MAX_WAITING", 1)
    emulator.world.scale = 0.01
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await running.start()
    running.shelf.hold()
    for number in range(3):
        emulator.people.says(str(number), user=f"ou_person{number}")
    await eventually(lambda: running.adapter.counts.postponed and running.shelf.held == 1)
    running.shelf.release()
    await running.shelf.until(3)
    assert sorted(running.shelf.texts) == ["0", "1", "2"]
    await running.stop()
