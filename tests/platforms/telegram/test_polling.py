"""Receiving: what is stored is confirmed, what is not comes again; trouble is told and survived."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from bot.account_state import Live
from bot.domain import InboundEvent
from bot.errors import AccountLost, AccountRefused
from bot.platforms.telegram.adapter import TelegramAdapter, create
from roebot_testing.emulators.telegram import TelegramEmulator

from .conftest import JumpingClock, QuickClock, Running, Shelf, account, eventually


async def test_a_private_message_arrives_and_is_confirmed(running: Running) -> None:
    said = running.emulator.people.says("hello", user=7, name="Ada")
    [message] = await running.shelf.until(1)
    assert message.text == "hello" and message.addressed
    assert (message.origin.chat, message.origin.message_id) == ("7", str(said.id))
    assert (message.origin.sender.name, message.origin.sender.username) == ("Ada", "person_7")
    await eventually(lambda: running.emulator.queue.pending == 0)
    assert running.shelf.cursors[-1] == str(int(message.event_id) + 1)


async def test_it_says_who_it_is_and_that_it_lives(running: Running) -> None:
    assert [state.live for state in running.states[:2]] == [Live.CONNECTING, Live.LIVE]
    assert running.state.identity == "@roebot_bot"
    assert running.state.last_event > 0
    await running.stop()
    assert running.state.live is Live.STOPPED


async def test_order_is_kept_over_batches(running: Running) -> None:
    running.emulator.people.says_many([{"text": str(number), "user": 7} for number in range(250)])
    await running.shelf.until(250)
    assert running.shelf.texts == [str(number) for number in range(250)]


async def test_nothing_is_confirmed_before_it_is_stored(running: Running) -> None:
    running.shelf.refuse = 3
    running.emulator.people.says("keep me", user=7)
    await eventually(lambda: running.shelf.refused)
    assert running.emulator.queue.pending == 1
    await eventually(lambda: "cannot be stored" in "".join(state.reason for state in running.states))
    await running.shelf.until(1)
    await eventually(lambda: running.emulator.queue.pending == 0)
    assert (running.shelf.texts, running.shelf.refused) == (["keep me"], 3)
    assert running.state.live is Live.LIVE


async def test_a_restart_goes_on_from_the_stored_cursor(running: Running) -> None:
    running.emulator.people.says("one", user=7)
    await running.shelf.until(1)
    await running.stop()
    running.emulator.people.says("two", user=7)
    again = Running(
        TelegramAdapter("tg", account(running.emulator)), running.emulator, running.shelf, QuickClock()
    )
    await again.start()
    await running.shelf.until(2)
    await again.stop()
    assert running.shelf.texts == ["one", "two"]
    assert running.shelf.duplicates == 0


async def test_redelivered_updates_are_handed_over_again_for_the_store_to_drop(running: Running) -> None:
    running.emulator.redeliver(1)
    running.emulator.people.says("once", user=7)
    await eventually(lambda: running.shelf.duplicates >= 1)
    await eventually(lambda: running.emulator.queue.pending == 0)
    assert running.shelf.texts == ["once"]


@pytest.mark.parametrize("kind", ["close", "drop", "error"])
async def test_a_broken_poll_loses_nothing(running: Running, kind: str) -> None:
    running.emulator.fault(kind, method="getUpdates", times=2)
    running.emulator.people.says("still here", user=7)
    await running.shelf.until(1)
    await eventually(lambda: running.emulator.queue.pending == 0)
    assert running.shelf.texts == ["still here"]
    await eventually(lambda: running.state.live is Live.LIVE)


async def test_stop_ends_a_long_poll_at_once(running: Running) -> None:
    await eventually(lambda: running.emulator.queue._poller is not None)
    async with asyncio.timeout(2):
        await running.adapter.stop()
    assert running.ended
    await running.adapter.stop()


async def test_stop_lets_a_batch_be_stored(emulator: TelegramEmulator) -> None:
    class Slow(Shelf):
        def __init__(self) -> None:
            super().__init__()
            self.entered = asyncio.Event()
            self.go_on = asyncio.Event()

        async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
            self.entered.set()
            await self.go_on.wait()
            return await super().accept(events, cursor)

    shelf = Slow()
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, shelf, QuickClock())
    await running.start()
    emulator.people.says("hold on", user=7)
    await shelf.entered.wait()
    stopping = asyncio.create_task(running.adapter.stop())
    await asyncio.sleep(0)
    shelf.go_on.set()
    await stopping
    assert shelf.texts == ["hold on"]


async def test_stop_does_not_wait_for_a_store_that_hangs(emulator: TelegramEmulator) -> None:
    class Hanging(Shelf):
        async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
            await asyncio.Event().wait()
            return {}

    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Hanging(), QuickClock())
    await running.start()
    emulator.people.says("lost cause", user=7)
    await eventually(lambda: running.adapter.counts.messages == 1)
    async with asyncio.timeout(5):
        await running.adapter.stop()
    assert running.ended


async def test_being_cancelled_closes_everything(running: Running) -> None:
    assert running.task is not None
    running.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.task
    await running.adapter.stop()


@pytest.mark.parametrize("token", ["999999:a-token-of-nobody-at-all", "not-a-token"])
async def test_a_bad_token_is_refused_in_clear_words(emulator: TelegramEmulator, token: str) -> None:
    clock = QuickClock()
    running = Running(create("tg", account(emulator, bot_token=token)), emulator, Shelf(), clock)
    await running.start()
    assert running.task is not None
    with pytest.raises(AccountRefused, match="refuses the token of account tg") as refusal:
        await running.task
    assert token not in str(refusal.value)
    assert running.state.live is Live.FAILED and "@BotFather" in running.state.reason
    assert clock.asked == []


async def test_an_account_without_a_token_is_refused(emulator: TelegramEmulator) -> None:
    running = Running(create("tg", account(emulator, bot_token=None)), emulator, Shelf(), QuickClock())
    await running.start()
    assert running.task is not None
    with pytest.raises(AccountRefused, match="has no bot_token"):
        await running.task


async def test_a_token_that_is_revoked_later_is_refused(running: Running) -> None:
    running.emulator.revoke_token()
    running.emulator.people.says("anyone?", user=7)
    await eventually(lambda: running.ended)
    assert running.task is not None
    with pytest.raises(AccountRefused):
        await running.task


async def test_a_server_that_is_not_there_is_lost(emulator: TelegramEmulator) -> None:
    nowhere = account(emulator, base_url="http://127.0.0.1:9")
    running = Running(TelegramAdapter("tg", nowhere), emulator, Shelf(), QuickClock())
    await running.start()
    assert running.task is not None
    with pytest.raises(AccountLost, match="cannot reach Telegram: cannot connect"):
        await running.task


async def test_a_server_in_trouble_at_start_is_lost(emulator: TelegramEmulator) -> None:
    emulator.fault("error", method="getMe", status=502, description="Bad Gateway")
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), QuickClock())
    await running.start()
    assert running.task is not None
    with pytest.raises(AccountLost, match="Bad Gateway"):
        await running.task


async def test_long_trouble_is_told_as_deaf_and_then_given_up(emulator: TelegramEmulator) -> None:
    clock = JumpingClock()
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), clock)
    emulator.fault("error", method="getUpdates", times=-1, status=502, description="Bad Gateway")
    running.task = asyncio.create_task(running.adapter.start(running.context))
    with pytest.raises(AccountLost, match=r"nothing heard from Telegram for 1[23]\d s: Bad Gateway"):
        await running.task
    lives = [state.live for state in running.states]
    assert lives[0] is Live.CONNECTING and lives[-1] is Live.FAILED
    assert Live.DEAF in lives and Live.LIVE not in lives
    assert clock.asked[:6] == [0.5, 1, 2, 4, 8, 15]


async def test_a_second_program_with_the_token_is_named(running: Running) -> None:
    running.emulator.fault("error", method="getUpdates", status=409, description="Conflict: terminated")
    running.emulator.people.says("nudge", user=7)
    await eventually(lambda: running.adapter.counts.conflicts == 1)
    await eventually(lambda: running.state.live is Live.LIVE)
    deaf = [state.reason for state in running.states if state.live is Live.DEAF]
    assert deaf and "another program receives" in deaf[0]


async def test_a_limit_on_polling_is_waited_for(running: Running) -> None:
    running.emulator.fault("error", method="getUpdates", status=429, description="Too Many Requests")
    running.emulator.people.says("later", user=7)
    await running.shelf.until(1)
    await eventually(lambda: 1.0 in running.clock.asked)
    assert any(state.live is Live.LIMITED for state in running.states)


async def test_a_webhook_that_was_left_behind_is_removed(emulator: TelegramEmulator) -> None:
    emulator.api.pusher.url = "https://old.example/hook"
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, Shelf(), QuickClock())
    await running.start()
    emulator.people.says("hi", user=7)
    await running.shelf.until(1)
    assert emulator.api.pusher.url == ""
    await running.stop()


async def test_a_server_that_does_not_answer_is_noticed(emulator: TelegramEmulator) -> None:
    emulator.fault("slow", method="getUpdates", seconds=30, times=1)
    running = Running(
        TelegramAdapter("tg", account(emulator), poll_seconds=0), emulator, Shelf(), QuickClock()
    )
    running.task = asyncio.create_task(running.adapter.start(running.context))
    await eventually(lambda: emulator.counters()["calls"].get("getUpdates", 0) >= 1)
    async with asyncio.timeout(2):
        await running.stop()


async def test_an_unknown_cursor_starts_from_what_waits(emulator: TelegramEmulator) -> None:
    shelf = Shelf()
    shelf.cursors.append("garbage")
    emulator.people.says("first", user=7)
    running = Running(TelegramAdapter("tg", account(emulator)), emulator, shelf, QuickClock())
    await running.start()
    await shelf.until(1)
    await running.stop()
    assert shelf.texts == ["first"]
