"""The long connection: stored before acknowledged, connected again, stopped at once, its state honest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web

from bot.account_state import Live
from bot.domain import InboundEvent
from bot.errors import AccountLost, AccountRefused
from bot.platforms.base import AdapterContext
from bot.platforms.feishu.adapter import FeishuAdapter
from bot.platforms.feishu.socket import MAX_EVENTS
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.emulators.feishu.ws_frame import DATA, WsFrame
from roebot_testing.running import RunningAdapter

from .conftest import BEN, QuickClock, Running, Shelf, account, eventually, says


async def test_it_is_live_when_connected(running: Running, emulator: FeishuEmulator) -> None:
    assert running.state.live is Live.LIVE
    assert running.state.identity == "Roebot"
    assert emulator.counters()["connections"] == 1
    assert [state.live for state in running.states][:2] == [Live.CONNECTING, Live.LIVE]


async def test_a_message_is_acknowledged_after_it_was_stored(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.people.says("hi")
    [message] = await running.shelf.until(1)
    assert message.text == "hi"
    await eventually(lambda: emulator.socket.acked == [200])
    assert emulator.counters()["unanswered_events"] == 0


async def test_what_could_not_be_stored_comes_again(emulator: FeishuEmulator) -> None:
    emulator.world.scale = 0.01
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    running.shelf.refuse = 1
    await running.start()
    emulator.people.says("hi")
    [message] = await running.shelf.until(1)
    assert message.text == "hi"
    await eventually(lambda: emulator.socket.acked == [500, 200])
    await running.stop()


async def test_duplicates_and_redeliveries_are_one_message(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.duplicate(2)
    emulator.people.says("hi")
    await running.shelf.until(1)
    await eventually(lambda: running.shelf.duplicates == 2)
    emulator.redeliver()
    await eventually(lambda: running.shelf.duplicates == 3)
    assert running.shelf.texts == ["hi"]


async def test_a_message_under_another_event_id_is_the_same(
    running: Running, emulator: FeishuEmulator
) -> None:
    said = emulator.people.says("hi")
    emulator.inject(emulator.envelopes.message(said))
    await eventually(lambda: running.shelf.duplicates == 1)
    assert [message.event_id for message in running.shelf.messages] == [said.id]


async def test_messages_keep_their_order_and_may_come_in_another(
    running: Running, emulator: FeishuEmulator
) -> None:
    emulator.people.says_many([{"text": str(number)} for number in range(20)])
    await running.shelf.until(20)
    assert running.shelf.texts == [str(number) for number in range(20)]
    emulator.stall()
    emulator.people.says_many([{"text": word} for word in ("a", "b")])
    emulator.release(backwards=True)
    await running.shelf.until(22)
    assert sorted(running.shelf.texts[20:]) == ["a", "b"]


class SlowInbox(Shelf):
    """Stores take 0.3 s of a clock that the test moves."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock
        self.storing = 0

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        self.storing += 1
        try:
            await self.clock.sleep(0.3)
            return await super().accept(events, cursor)
        finally:
            self.storing -= 1


@asynccontextmanager
async def running_slowly(emulator: FeishuEmulator) -> AsyncIterator[tuple[SlowInbox, ManualClock]]:
    clock = ManualClock()
    shelf = SlowInbox(clock)
    running = RunningAdapter(FeishuAdapter("fs", account(emulator)), shelf, QuickClock())
    await running.start()
    try:
        yield shelf, clock
    finally:
        await running.stop()


async def test_slow_stores_of_five_chats_take_as_long_as_one(emulator: FeishuEmulator) -> None:
    async with running_slowly(emulator) as (shelf, clock):
        for number in range(5):
            emulator.people.says("hi", user=f"ou_person{number}")
        await eventually(lambda: shelf.storing == 5)
        assert emulator.socket.acked == []
        await clock.advance(0.3)
        await eventually(lambda: emulator.socket.acked == [200] * 5)
        assert len(shelf.messages) == 5


async def test_a_busy_chat_delays_no_other_and_keeps_its_order(emulator: FeishuEmulator) -> None:
    async with running_slowly(emulator) as (shelf, clock):
        emulator.people.says_many([{"text": str(number)} for number in range(20)])
        emulator.people.says("other", user=BEN)
        await eventually(lambda: shelf.storing == 2)
        await clock.advance(0.3)
        await shelf.until(2)
        assert sorted(shelf.texts) == ["0", "other"]
        for stored in range(2, 21):
            await eventually(lambda: shelf.storing == 1)
            await clock.advance(0.3)
            await shelf.until(stored + 1)
        assert [text for text in shelf.texts if text != "other"] == [str(number) for number in range(20)]


async def test_a_click_waits_for_the_message_before_it(running: Running, emulator: FeishuEmulator) -> None:
    address = running.private()
    question = await running.adapter.send(replace(says("Which?", address), choices=("A", "B")))
    running.shelf.hold()
    emulator.people.says("first")
    await eventually(lambda: running.shelf.held == 1)
    [button] = [one for one in running.shown()[0]["buttons"] if one["text"]["content"] == "A"]
    emulator.people.clicks(question, button["behaviors"][0]["value"])
    await eventually(lambda: running.adapter.counts.events == 2)
    assert running.shelf.held == 1
    running.shelf.release()
    await running.shelf.until(2)
    assert running.shelf.texts == ["first", "A"]


async def test_more_events_than_there_is_room_for_wait(emulator: FeishuEmulator) -> None:
    async with running_slowly(emulator) as (shelf, clock):
        for number in range(MAX_EVENTS + 3):
            emulator.people.says("hi", user=f"ou_person{number}")
        await eventually(lambda: shelf.storing == MAX_EVENTS)
        await clock.advance(0.3)
        await eventually(lambda: shelf.storing == 3)
        await clock.advance(0.3)
        await shelf.until(MAX_EVENTS + 3)


class BrokenInbox(Shelf):
    """Fails once in a way that nobody foresaw."""

    broken = True

    async def accept(self, events: Sequence[InboundEvent], cursor: str = "") -> Mapping[str, str]:
        if self.broken:
            self.broken = False
            raise ZeroDivisionError
        return await super().accept(events, cursor)


async def test_an_unforeseen_error_ends_one_event_only(emulator: FeishuEmulator) -> None:
    emulator.world.scale = 0.01
    running = RunningAdapter(FeishuAdapter("fs", account(emulator)), BrokenInbox(), QuickClock())
    await running.start()
    emulator.people.says("hi")
    await running.shelf.until(1)
    await eventually(lambda: emulator.socket.acked == [500, 200])
    assert running.state.live is Live.LIVE
    await running.stop()


async def test_an_event_outlives_its_connection(running: Running, emulator: FeishuEmulator) -> None:
    running.shelf.hold()
    emulator.people.says("hi")
    await eventually(lambda: running.shelf.held == 1)
    emulator.close_sockets()
    await eventually(lambda: running.adapter.counts.connections == 2)
    running.shelf.release()
    await running.shelf.until(1)
    emulator.people.says("again")
    await running.shelf.until(2)
    assert running.shelf.texts == ["hi", "again"]


async def test_a_stop_during_stores_is_immediate_and_leaves_nothing(emulator: FeishuEmulator) -> None:
    before = asyncio.all_tasks()
    async with running_slowly(emulator) as (shelf, _):
        for number in range(5):
            emulator.people.says("hi", user=f"ou_person{number}")
        await eventually(lambda: shelf.storing == 5)
    assert shelf.storing == 0
    assert shelf.messages == []
    assert not {task for task in asyncio.all_tasks() - before if "feishu" in task.get_name()}


async def test_an_event_in_several_frames_is_put_together(running: Running, emulator: FeishuEmulator) -> None:
    emulator.socket.fragment = 100
    emulator.people.says("long " * 200)
    [message] = await running.shelf.until(1)
    assert message.text == ("long " * 200).strip()


async def test_a_closed_socket_is_opened_again_and_nothing_is_lost(
    running: Running, emulator: FeishuEmulator
) -> None:
    assert emulator.close_sockets() == 1
    await eventually(lambda: running.adapter.counts.connections == 2)
    emulator.people.says("after")
    await running.shelf.until(1)
    assert Live.DEAF in [state.live for state in running.states]
    assert running.state.live is Live.LIVE
    assert 0.5 in running.clock.asked


async def test_what_is_said_while_nobody_listens_comes_with_the_next_connection(
    emulator: FeishuEmulator,
) -> None:
    emulator.people.says("early")
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await running.start()
    await running.shelf.until(1)
    assert running.shelf.texts == ["early"]
    await running.stop()


async def test_a_connection_without_pongs_is_dead(running: Running, emulator: FeishuEmulator) -> None:
    emulator.socket.answer_pings = False
    await eventually(lambda: running.adapter.counts.connections >= 2)
    deaf = [state.reason for state in running.states if state.live is Live.DEAF]
    assert "no answer to pings" in deaf[0]
    emulator.socket.answer_pings = True
    await eventually(lambda: running.state.live is Live.LIVE)


async def test_pings_are_sent(running: Running, emulator: FeishuEmulator) -> None:
    await eventually(lambda: emulator.socket.pings >= 3)
    assert 30.0 in running.clock.asked


async def test_garbage_on_the_line_is_counted_and_nothing_more(
    running: Running, emulator: FeishuEmulator
) -> None:
    for data in (
        b"",
        b"\xff\xff\xff",
        WsFrame(DATA, {"type": "event", "message_id": "m"}, b"no json").encode(),
        WsFrame(DATA, {"type": "event", "message_id": "m"}, b"[1]").encode(),
        WsFrame(DATA, {"type": "nonsense"}, b"{}").encode(),
        WsFrame(DATA, {"type": "event", "message_id": "p", "sum": "900", "seq": "0"}, b"{}").encode(),
        WsFrame(DATA, {"type": "event", "message_id": "p", "sum": "2", "seq": "7"}, b"{}").encode(),
        WsFrame(7, {}, b"").encode(),
    ):
        await emulator.socket.send_raw(data)
    emulator.people.says("still here")
    await running.shelf.until(1)
    assert running.adapter.counts.malformed == 4
    assert running.adapter.counts.connections == 1


async def test_many_unfinished_events_do_not_pile_up(running: Running, emulator: FeishuEmulator) -> None:
    for number in range(200):
        headers = {"type": "event", "message_id": str(number), "sum": "2", "seq": "0"}
        await emulator.socket.send_raw(WsFrame(DATA, headers, b"x").encode())
    emulator.people.says("hi")
    await running.shelf.until(1)


async def test_a_wrong_secret_needs_a_person(emulator: FeishuEmulator) -> None:
    running = Running(FeishuAdapter("fs", account(emulator, app_secret="wrong-secret")), emulator)
    with pytest.raises(AccountRefused, match="Credentials") as caught:
        await running.adapter.start(running.context)
    assert "wrong-secret" not in str(caught.value)
    assert running.state.live is Live.FAILED


async def test_a_secret_that_is_revoked_while_it_runs(running: Running, emulator: FeishuEmulator) -> None:
    emulator.revoke_token()
    assert running.task is not None
    with pytest.raises(AccountRefused):
        await running.task
    assert running.state.live is Live.FAILED


async def test_an_app_that_is_no_bot_needs_a_person(emulator: FeishuEmulator) -> None:
    emulator.fault("error", method="bot.info", status=400, description="230006 Bot ability is not activated.")
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    with pytest.raises(AccountRefused, match="add the feature Bot"):
        await running.adapter.start(running.context)


@pytest.mark.parametrize("missing", [{"app_id": None}, {"app_secret": None}])
async def test_an_account_without_credentials(emulator: FeishuEmulator, missing: dict[str, None]) -> None:
    config = account(emulator).model_copy(update=missing)
    running = Running(FeishuAdapter("fs", config), emulator)
    with pytest.raises(AccountRefused, match="app_id"):
        await running.adapter.start(running.context)


async def test_a_long_connection_that_is_refused_needs_a_person(emulator: FeishuEmulator) -> None:
    emulator.socket.refuse = "1000040344 no credential"
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    with pytest.raises(AccountRefused, match="persistent connection"):
        await running.adapter.start(running.context)


@pytest.mark.parametrize("code", ["1 system busy", "1000040350 exceed conn limit"])
async def test_a_busy_system_is_asked_again(emulator: FeishuEmulator, code: str) -> None:
    emulator.socket.refuse = code
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    running.task = asyncio.create_task(running.adapter.start(running.context))
    await eventually(lambda: running.state.live is Live.DEAF)
    emulator.socket.refuse = ""
    await eventually(lambda: running.state.live is Live.LIVE)
    await running.stop()


async def test_a_platform_that_stays_away_is_lost(emulator: FeishuEmulator) -> None:
    emulator.socket.refuse = "1 system busy"
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    running.task = asyncio.create_task(running.adapter.start(running.context))
    await eventually(lambda: running.state.live is Live.DEAF)
    running.clock.ahead += 130.0
    with pytest.raises(AccountLost, match="no connection to Feishu"):
        await running.task


async def test_a_platform_that_is_not_there_is_lost() -> None:
    async with FeishuEmulator.serve() as gone:
        config = account(gone)
    shelf, states = Shelf(), []
    adapter = FeishuAdapter("fs", config)
    with pytest.raises(AccountLost, match="cannot reach Feishu"):
        await adapter.start(AdapterContext(shelf, states.append, QuickClock()))
    assert states[-1].live is Live.FAILED


async def test_it_stops_at_once_and_leaves_nothing(emulator: FeishuEmulator) -> None:
    before = asyncio.all_tasks()
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await running.start()
    async with asyncio.timeout(1.0):
        await running.stop()
        await running.adapter.stop()
    assert running.state.live is Live.STOPPED
    await eventually(lambda: emulator.counters()["connections"] == 0)
    left = {task for task in asyncio.all_tasks() - before if "feishu" in task.get_name()}
    assert left == set()


@pytest.mark.parametrize("hanging", ["/callback/ws/endpoint", "/ws"])
async def test_a_stop_while_feishu_does_not_answer_is_immediate(
    emulator: FeishuEmulator, hanging: str
) -> None:
    """Neither the address of the connection nor its handshake holds up a stop."""
    reached = asyncio.Event()
    before = asyncio.all_tasks()

    async def handle(request: web.Request) -> web.Response:
        if request.path == hanging:
            reached.set()
            await asyncio.Event().wait()
        sign_in = {"tenant_access_token": "t", "expire": 7200, "bot": {"open_id": "ou_bot"}}
        address = {"URL": f"ws://{request.host}/ws?service_id=1"}
        return web.json_response({"code": 0, "data": address, **sign_in})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    adapter = FeishuAdapter("fs", account(emulator).model_copy(update={"base_url": url}))
    running = asyncio.create_task(adapter.start(AdapterContext(Shelf(), lambda state: None, QuickClock())))
    await reached.wait()
    async with asyncio.timeout(1.0):
        await adapter.stop()
        await running
    await runner.cleanup()
    assert not {task for task in asyncio.all_tasks() - before if "feishu" in task.get_name()}


async def test_it_starts_again_after_a_stop(emulator: FeishuEmulator) -> None:
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    for number in range(2):
        await running.start()
        emulator.people.says(str(number))
        await running.shelf.until(number + 1)
        await running.stop()
    assert running.shelf.texts == ["0", "1"]


async def test_cancelling_its_caller_ends_it(emulator: FeishuEmulator) -> None:
    running = Running(FeishuAdapter("fs", account(emulator)), emulator)
    await running.start()
    assert running.task is not None
    running.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running.task
    await eventually(lambda: emulator.counters()["connections"] == 0)


async def test_several_apps_live_in_one_process() -> None:
    async with FeishuEmulator.serve() as one, FeishuEmulator.serve(app_id="cli_other00000000001") as two:
        apps = [Running(FeishuAdapter("fs", account(emulator)), emulator) for emulator in (one, two)]
        for app in apps:
            await app.start()
        one.people.says("to one")
        two.people.says("to two", user=BEN)
        for app in apps:
            await app.shelf.until(1)
        assert [app.shelf.texts for app in apps] == [["to one"], ["to two"]]
        await apps[0].stop()
        two.people.says("again", user=BEN)
        await apps[1].shelf.until(2)
        await apps[1].stop()


async def test_two_connections_of_one_app_share_its_events(emulator: FeishuEmulator) -> None:
    apps = [Running(FeishuAdapter("fs", account(emulator)), emulator) for _ in range(2)]
    for app in apps:
        await app.start()
    for number in range(30):
        emulator.people.says(str(number))
    await eventually(lambda: sum(len(app.shelf.messages) for app in apps) == 30)
    assert all(app.shelf.messages for app in apps)
    for app in apps:
        await app.stop()
