"""Connecting, losing the connection and coming back: nothing is lost, and the state is honest."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from bot.account_state import Live
from bot.errors import AccountLost, AccountRefused, StoreError
from bot.platforms.base import AdapterContext
from bot.platforms.connection import AccountHealth
from bot.platforms.discord.adapter import DiscordAdapter
from bot.platforms.discord.cursor import read_cursor
from bot.platforms.discord.gateway import describe_heartbeat
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.discord import DiscordEmulator
from roebot_testing.emulators.discord.people import PERSON

from .conftest import QuickClock, Running, Shelf, account, eventually, private, says


def me(emulator: DiscordEmulator) -> str:
    return f"<@{emulator.world.bot.id}>"


async def restarted(running: Running) -> Running:
    """Another life of the account, with the same inbox."""
    adapter = DiscordAdapter("dc", account(running.emulator))
    again = Running(adapter, running.emulator, running.shelf, QuickClock())
    await again.start()
    return again


async def test_a_wrong_token_is_refused_with_what_to_do(emulator: DiscordEmulator, shelf: Shelf) -> None:
    wrong = account(emulator, bot_token="MTIz.not.right")
    started = Running(DiscordAdapter("dc", wrong), emulator, shelf, QuickClock())
    await started.start()
    assert started.task is not None
    with pytest.raises(AccountRefused, match="Reset Token"):
        await started.task
    assert started.state.live is Live.FAILED
    assert "MTIz" not in started.state.reason
    assert emulator.counters()["sockets"] == 0


def test_a_heartbeat_that_looks_a_beat_late_is_not_shown() -> None:
    told: list[str] = []
    health = AccountHealth("Discord", lambda state: told.append(state.reason), ManualClock())
    health.mark_live(describe_heartbeat(0.25, 41.25))
    health.mark_live(describe_heartbeat(41.25, 41.25))
    assert set(told) == {"heartbeat 250 ms"}
    health.mark_live(describe_heartbeat(41.25, 90.0))
    assert told[-1] == "heartbeat 41250 ms"


async def test_no_token_at_all_is_refused(emulator: DiscordEmulator, shelf: Shelf) -> None:
    adapter = DiscordAdapter("dc", account(emulator, bot_token=None))
    with pytest.raises(AccountRefused, match="no bot_token"):
        await adapter.start(AdapterContext(shelf, lambda state: None, QuickClock()))


async def test_a_missing_intent_is_refused_with_the_switch(emulator: DiscordEmulator, shelf: Shelf) -> None:
    emulator.disallow_content()
    adapter = DiscordAdapter("dc", account(emulator))
    with pytest.raises(AccountRefused, match="Message Content Intent: switch it on"):
        await adapter.start(AdapterContext(shelf, lambda state: None, QuickClock()))
    emulator.disallow_content(allowed=True)
    started = Running(adapter, emulator, shelf, QuickClock())
    await started.start()
    assert started.state.live is Live.LIVE
    await started.stop()


async def test_a_token_that_the_gateway_refuses(running: Running) -> None:
    running.emulator.close_sockets(4004)
    await eventually(lambda: running.ended)
    assert running.task is not None
    with pytest.raises(AccountRefused, match="Reset Token"):
        await running.task


@pytest.mark.parametrize("fault", ["error", "close"])
async def test_a_discord_that_is_down_is_an_account_lost(
    emulator: DiscordEmulator, shelf: Shelf, fault: str
) -> None:
    emulator.fault(fault, method="getMe", status=503, times=-1)
    adapter = DiscordAdapter("dc", account(emulator))
    with pytest.raises(AccountLost):
        await adapter.start(AdapterContext(shelf, lambda state: None, QuickClock()))


async def test_nobody_listening_is_an_account_lost(emulator: DiscordEmulator, shelf: Shelf) -> None:
    adapter = DiscordAdapter("dc", account(emulator, base_url="http://127.0.0.1:9/api/v10"))
    with pytest.raises(AccountLost, match="cannot connect"):
        await adapter.start(AdapterContext(shelf, lambda state: None, QuickClock()))


async def refused_start(emulator: DiscordEmulator, shelf: Shelf) -> str:
    """The reason why an account is lost at its start."""
    adapter = DiscordAdapter("dc", account(emulator))
    with pytest.raises(AccountLost) as lost:
        await adapter.start(AdapterContext(shelf, lambda state: None, QuickClock()))
    return str(lost.value)


async def test_a_gateway_that_refuses_the_first_connection(emulator: DiscordEmulator, shelf: Shelf) -> None:
    emulator.go_away()
    assert "cannot connect to Discord's gateway: 403" in await refused_start(emulator, shelf)


@pytest.mark.parametrize("fault", ["error", "close"])
async def test_a_gateway_without_an_address(emulator: DiscordEmulator, shelf: Shelf, fault: str) -> None:
    emulator.fault(fault, method="getGateway", status=503, times=-1)
    assert "cannot connect to Discord's gateway: " in await refused_start(emulator, shelf)


async def test_a_frame_that_cannot_be_decompressed_is_followed_by_a_new_connection(
    running: Running, shelf: Shelf
) -> None:
    running.emulator.people.says("one")
    await shelf.until(1)
    running.emulator.garble()
    running.emulator.people.says("two")
    await shelf.until(2)
    assert shelf.texts == ["one", "two"]
    assert running.emulator.counters()["resumed"] == 1
    assert not running.ended


@pytest.mark.parametrize("code", [1000, 1001, 1006, 4000, 4001, 4002, 4007, 4008, 4009])
async def test_a_socket_that_closes_is_resumed(running: Running, shelf: Shelf, code: int) -> None:
    running.emulator.people.says("one")
    await shelf.until(1)
    if code == 1006:
        await running.emulator.cut_sockets()
    else:
        running.emulator.close_sockets(code)
    running.emulator.people.says("two")
    await shelf.until(2)
    assert shelf.texts == ["one", "two"]
    assert running.emulator.counters()["resumed"] == 1
    assert running.emulator.counters()["calls"].get("listMessages", 0) == 0
    assert [state.live for state in running.states if state.live is Live.CONNECTING][1:]
    await eventually(lambda: running.state.live is Live.LIVE)


async def test_discord_may_ask_for_a_new_connection(running: Running, shelf: Shelf) -> None:
    running.emulator.ask_to_reconnect()
    running.emulator.people.says("hello")
    await shelf.until(1)
    assert running.emulator.counters()["resumed"] == 1


async def test_a_gap_is_read_from_the_channels(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    quiet, busy = emulator.people.make_group("quiet"), emulator.people.make_group("busy")
    thread = emulator.people.make_thread(busy)
    emulator.people.says("in private")
    await shelf.until(1)
    emulator.go_away()
    emulator.people.says_many([{"text": str(number), "chat": busy} for number in range(3)])
    emulator.people.says(f"{me(emulator)} in a thread", chat=thread)
    emulator.people.says("more in private")
    emulator.come_back()
    await shelf.until(6)
    assert sorted(shelf.texts) == ["0", "1", "2", "in a thread", "in private", "more in private"]
    assert [text for text in shelf.texts if text.isdigit()] == ["0", "1", "2"]
    inside = next(message for message in shelf.messages if message.text == "in a thread")
    assert (inside.origin.chat, inside.origin.topic, inside.addressed) == (str(busy), str(thread), True)
    assert shelf.messages[0].event_id != shelf.messages[1].event_id
    asked = [frame.chat for frame in emulator.transcript.of() if frame.method == "listMessages"]
    assert str(quiet) not in asked


async def test_an_invalid_session_is_a_gap_too(running: Running, shelf: Shelf) -> None:
    running.emulator.people.says("one")
    await shelf.until(1)
    running.emulator.invalidate_sessions()
    running.emulator.people.says("two")
    await shelf.until(2)
    assert running.emulator.counters()["identified"] == 2
    running.emulator.people.says("three")
    await shelf.until(3)
    assert shelf.texts == ["one", "two", "three"]


async def test_a_long_gap_is_read_in_pages_and_in_order(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.people.says("before", chat=chat)
    await shelf.until(1)
    running.emulator.go_away()
    running.emulator.people.says_many([{"text": str(number), "chat": chat} for number in range(250)])
    running.emulator.come_back()
    await shelf.until(251)
    running.emulator.people.says("after", chat=chat)
    await shelf.until(252)
    assert shelf.texts == ["before", *(str(number) for number in range(250)), "after"]


async def test_what_came_while_the_service_was_down_is_read(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    running.emulator.people.says("one")
    await shelf.until(1)
    await running.stop()
    running.emulator.people.says("two")
    running.emulator.people.says("three", chat=chat)
    again = await restarted(running)
    await shelf.until(3)
    assert sorted(shelf.texts) == ["one", "three", "two"]
    await again.stop()


async def test_the_first_start_answers_nothing_old(emulator: DiscordEmulator, shelf: Shelf) -> None:
    chat = emulator.people.make_group()
    emulator.people.says("long ago", chat=chat, extra={"id": "4194304"})
    emulator.world.channels[chat].messages.clear()
    old = emulator.world.add(emulator.world.channels[chat], emulator.world.user(PERSON), "long ago")
    emulator.world.channels[chat].messages = {4194304: old}
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await started.start()
    emulator.people.says("now", chat=chat)
    await shelf.until(1)
    assert shelf.texts == ["now"]
    assert emulator.counters()["calls"].get("listMessages", 0) == 0
    await started.stop()


async def test_a_server_that_was_out_is_read_when_it_is_back(running: Running, shelf: Shelf) -> None:
    chat = running.emulator.people.make_group()
    guild = running.emulator.world.channels[chat].guild
    assert guild is not None
    running.emulator.people.says("one", chat=chat)
    await shelf.until(1)
    running.emulator.outage(guild.id)
    running.emulator.people.says("two", chat=chat)
    running.emulator.people.says("private")
    await shelf.until(2)
    running.emulator.outage(guild.id, on=False)
    await shelf.until(3)
    assert shelf.texts == ["one", "private", "two"]


async def test_a_channel_that_cannot_be_read_keeps_nobody_waiting(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    closed, open_ = emulator.people.make_group(), emulator.people.make_group()
    emulator.people.says("one", chat=open_)
    await shelf.until(1)
    emulator.go_away()
    emulator.people.says("secret", chat=closed)
    emulator.people.says("two", chat=open_)
    emulator.people.bars(closed, 50001, "Missing Access")
    emulator.come_back()
    await shelf.until(2)
    assert shelf.texts == ["one", "two"]


async def test_reading_a_gap_is_patient(running: Running, shelf: Shelf) -> None:
    emulator = running.emulator
    emulator.people.says("one")
    await shelf.until(1)
    emulator.go_away()
    emulator.people.says("two")
    emulator.fault("error", method="listMessages", status=502)
    emulator.fault("close", method="listMessages")
    emulator.come_back()
    await shelf.until(2)
    assert shelf.texts == ["one", "two"]
    assert running.clock.asked.count(1.0) >= 1


async def test_a_store_that_fails_loses_nothing(emulator: DiscordEmulator) -> None:
    class Failing(Shelf):
        failures = 2

        async def accept(self, messages, cursor=""):  # type: ignore[no-untyped-def]
            if messages and self.failures:
                self.failures -= 1
                raise StoreError("the disk is full")
            return await super().accept(messages, cursor)

    shelf = Failing()
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, QuickClock())
    await started.start()
    emulator.people.says("one")
    emulator.people.says("two")
    await shelf.until(2)
    assert shelf.texts == ["one", "two"]
    assert any(state.live is Live.DEAF and "stored" in state.reason for state in started.states)
    await started.stop()


async def test_the_cursor_is_compact_and_survives_nonsense(running: Running, shelf: Shelf) -> None:
    sent = running.emulator.people.says("one")
    await shelf.until(1)
    cursor, threads, asks = read_cursor(await shelf.cursor())
    assert (cursor.seen, list(cursor.dms), threads, asks) == (sent.id, [str(sent.channel.id)], [], [])
    for nonsense in ("", "nonsense", "[]", "{}", '{"seen": "x"}', '{"seen": 1, "asks": [1]}', "null"):
        assert read_cursor(nonsense)[0].seen == 0


async def test_silence_is_said_to_be_silence(emulator: DiscordEmulator, shelf: Shelf) -> None:
    clock = ManualClock(time.time())
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, clock)
    await started.start()
    emulator.stall()
    await clock.advance(55)
    assert started.state.live is Live.DEAF
    assert "nothing heard from Discord for 5" in started.state.reason
    emulator.release()
    emulator.people.says("back")
    await shelf.until(1)
    assert started.state.live is Live.LIVE
    await started.stop()


async def test_silence_is_measured_by_the_interval_that_discord_names(shelf: Shelf) -> None:
    clock = ManualClock(time.time())
    async with DiscordEmulator.serve(limits=False, heartbeat=90.0) as emulator:
        started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, clock)
        await started.start()
        client = started.adapter.session.client
        assert (client.interval, client.ws._max_heartbeat_timeout) == (90.0, 110.0)
        emulator.stall()
        await clock.advance(90)
        assert started.state.live is Live.LIVE
        await clock.advance(15)
        assert started.state.live is Live.DEAF
        await started.stop()


async def test_a_connection_that_does_not_come_back_is_lost(emulator: DiscordEmulator, shelf: Shelf) -> None:
    clock = ManualClock(time.time())
    started = Running(DiscordAdapter("dc", account(emulator)), emulator, shelf, clock)
    await started.start()
    emulator.go_away()
    await eventually(lambda: started.state.live is Live.CONNECTING)
    await clock.advance(85)
    assert not started.ended
    await clock.advance(10)
    assert started.task is not None
    with pytest.raises(AccountLost, match="no connection to Discord for 9"):
        await started.task


@pytest.mark.parametrize("stalled", [False, True])
async def test_stopping_leaves_nothing_behind(running: Running, stalled: bool) -> None:
    if stalled:
        running.emulator.stall()
    before = time.monotonic()
    await running.stop()
    assert time.monotonic() - before < 2
    await eventually(lambda: running.emulator.counters()["sockets"] == 0)
    await eventually(lambda: not [t for t in threading.enumerate() if "keep-alive-handler" in t.name])
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("discord:")]
    assert running.state.live is Live.STOPPED
    await running.adapter.stop()


async def test_two_accounts_live_at_two_addresses(emulator: DiscordEmulator, shelf: Shelf) -> None:
    from bot.platforms.discord.sdk import discord

    async with DiscordEmulator.serve(limits=False) as second:
        shelves = (shelf, Shelf())
        places = (emulator, second)
        both = [
            Running(DiscordAdapter(f"dc{n}", account(place)), place, kept, QuickClock())
            for n, (place, kept) in enumerate(zip(places, shelves, strict=True))
        ]
        for one in both:
            await one.start()
        for number, place in enumerate(places):
            place.people.says(f"to {number}")
        for number, one in enumerate(both):
            await one.shelf.until(1)
            assert one.shelf.texts == [f"to {number}"]
            await one.adapter.send(says(f"from {number}", private(one.emulator)))
        await both[0].stop()
        second.people.says("still there")
        await shelves[1].until(2)
        await both[1].stop()
        assert [m["text"] for m in second.views()[0]["messages"]] == ["to 1", "from 1", "still there"]
    assert discord.http.Route.BASE == "https://discord.com/api/v10"
    assert str(discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY) == "wss://gateway.discord.gg/"
