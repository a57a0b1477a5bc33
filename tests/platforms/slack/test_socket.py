"""Socket Mode: stored before acknowledged, whatever the connection does; honest states; a quick end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from bot.account_state import Live
from bot.errors import AccountLost, AccountRefused
from bot.platforms.connection import LOST_AFTER
from roebot_testing.emulators.slack import SlackEmulator

from .conftest import PERSON, QuickClock, Running, Shelf, account, eventually


async def test_what_is_stored_is_acknowledged(running: Running) -> None:
    running.emulator.people.says("hi")
    await eventually(lambda: running.emulator.outbox.acked == 1)
    assert running.shelf.texts == ["hi"]
    assert running.state.live is Live.LIVE and running.state.identity == "@roebot"
    assert running.state.last_event > 0


async def test_what_could_not_be_stored_comes_again(emulator: SlackEmulator) -> None:
    emulator.limits(False, scale=0.01)
    shelf = Shelf()
    shelf.refuse = 1
    running = await Running(emulator, shelf).start()
    emulator.people.says("precious")
    await shelf.until(1)
    assert (shelf.refused, shelf.texts) == (1, ["precious"])
    await eventually(lambda: emulator.outbox.acked == 1)
    assert running.adapter.counts.failed == 1
    await running.stop()


async def test_redelivery_and_duplicates_are_one_message(running: Running) -> None:
    running.emulator.duplicate()
    running.emulator.people.says("once")
    await eventually(lambda: running.shelf.duplicates == 1)
    running.emulator.duplicate(False)
    running.emulator.redeliver()
    await eventually(lambda: running.shelf.duplicates == 2)
    assert running.shelf.texts == ["once"]


async def test_events_out_of_order_arrive_all(running: Running) -> None:
    running.emulator.reorder(3)
    for text in ("one", "two", "three"):
        running.emulator.people.says(text)
    await running.shelf.until(3)
    assert running.shelf.texts == ["three", "two", "one"]


async def test_a_burst_keeps_its_order(running: Running) -> None:
    running.emulator.people.says_many([{"text": str(number)} for number in range(200)])
    await running.shelf.until(200)
    assert running.shelf.texts == [str(number) for number in range(200)]
    await eventually(lambda: running.emulator.outbox.unacked == 0)


async def test_a_slow_chat_delays_no_other(running: Running) -> None:
    running.emulator.fault("slow", method="users.info", seconds=20.0)
    running.emulator.people.says("slow", user="U0000001")
    # The fault takes the first call, whichever chat it is of.
    await eventually(lambda: running.emulator.counters()["faults_struck"] == 1)
    running.emulator.people.says("quick", user="U0000002")
    await running.shelf.until(1)
    assert running.shelf.texts == ["quick"]


async def test_a_closed_socket_is_opened_again_and_nothing_is_lost(running: Running) -> None:
    running.emulator.people.says("before")
    await running.shelf.until(1)
    running.emulator.close_sockets()
    running.emulator.people.says("between")
    await running.shelf.until(2)
    await eventually(lambda: running.emulator.socket.opened == 2 and running.state.live is Live.LIVE)
    assert Live.DEAF in [state.live for state in running.states]
    assert running.shelf.texts == ["before", "between"]


async def test_slack_may_ask_for_a_new_connection(running: Running) -> None:
    running.emulator.disconnect()
    await eventually(lambda: running.emulator.socket.opened == 2)
    running.emulator.people.says("after")
    await running.shelf.until(1)
    assert Live.DEAF not in [state.live for state in running.states]


async def test_an_acknowledgement_lost_with_the_socket_is_a_duplicate(running: Running) -> None:
    accept = running.shelf.accept

    async def cut(messages: Any, cursor: str = "") -> None:
        await accept(messages, cursor)
        running.emulator.close_sockets()
        running.shelf.accept = accept  # type: ignore[method-assign]

    running.shelf.accept = cut  # type: ignore[method-assign]
    running.emulator.people.says("once")
    await eventually(lambda: running.emulator.outbox.acked == 1)
    assert running.shelf.texts == ["once"]


async def test_a_stalled_slack_catches_up(running: Running) -> None:
    running.emulator.stall()
    running.emulator.people.says("held")
    running.emulator.people.says("back")
    assert running.shelf.texts == []
    running.emulator.release()
    await running.shelf.until(2)
    assert running.shelf.texts == ["held", "back"]


@pytest.mark.parametrize("raw", ["", "[]", "{", '{"type": 5}', '{"envelope_id": 7}', '{"envelope_id": "x"}'])
async def test_frames_that_make_no_sense_are_passed_over(running: Running, raw: str) -> None:
    import orjson

    try:
        frame: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        frame = raw
    running.emulator.socket.say(frame)
    running.emulator.people.says("still there")
    await running.shelf.until(1)


async def started(emulator: SlackEmulator, **changes: Any) -> Running:
    running = Running(emulator, **changes)
    running.task = asyncio.create_task(running.adapter.start(running.context))
    return running


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bot_token": "xoxb-wrong"}, "bot_token of account sl .invalid_auth."),
        ({"app_token": "xapp-wrong"}, "app_token of account sl .invalid_auth."),
        ({"bot_token": None}, "has no bot_token"),
        ({"app_token": None}, "has no app_token"),
        ({"mode": "http"}, "has no signing_secret"),
    ],
)
async def test_what_only_a_person_can_mend(
    emulator: SlackEmulator, changes: dict[str, Any], words: str
) -> None:
    running = await started(emulator, **changes)
    assert running.task
    with pytest.raises(AccountRefused, match=words):
        await running.task
    assert running.state.live is Live.FAILED
    assert "xoxb" not in running.state.reason.replace("xoxb-…", "")


async def test_a_token_revoked_while_running_is_noticed(running: Running) -> None:
    running.emulator.revoke_token()
    running.emulator.close_sockets()
    assert running.task
    with pytest.raises(AccountRefused, match="token_revoked"):
        await asyncio.wait_for(running.task, 30)


async def test_an_app_without_its_first_scope_says_so(emulator: SlackEmulator) -> None:
    emulator.world.scopes = "im:history"
    running = await started(emulator)
    assert running.task
    with pytest.raises(AccountRefused, match="chat:write"):
        await running.task


@pytest.mark.parametrize(("reaction", "told"), [("eyes", True), ("", False)])
async def test_the_scope_for_reactions_is_missed_where_one_is_configured(
    emulator: SlackEmulator, reaction: str, told: bool
) -> None:
    emulator.world.scopes = emulator.world.scopes.replace("reactions:write,", "")
    running = await started(emulator, reaction=reaction)
    await eventually(lambda: running.state.live is Live.LIVE)
    assert ("lacks the scopes reactions:write" in running.state.reason) is told
    await running.stop()


async def test_an_app_level_token_without_its_scope_says_so(emulator: SlackEmulator) -> None:
    emulator.world.app_scopes = "authorizations:read"
    running = await started(emulator)
    assert running.task
    with pytest.raises(AccountRefused, match=r"missing_scope.*connections:write"):
        await running.task


async def test_a_slack_that_is_away_is_lost(emulator: SlackEmulator) -> None:
    running = await started(emulator, base_url="http://127.0.0.1:9/api/")
    assert running.task
    with pytest.raises(AccountLost, match="cannot reach Slack"):
        await running.task


class Jumping(QuickClock):
    """A clock that is ahead by what it was asked to wait."""

    at = 1_700_000_000.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds
        await asyncio.sleep(0)


async def test_a_connection_that_does_not_come_back_is_lost(emulator: SlackEmulator) -> None:
    running = await Running(emulator, clock=Jumping()).start()
    emulator.socket.refuse = True
    emulator.close_sockets()
    assert running.task
    with pytest.raises(AccountLost, match=r"no connection to Slack for 1\d\d s"):
        await asyncio.wait_for(running.task, 30)
    assert Live.DEAF in [state.live for state in running.states]
    assert LOST_AFTER == 120.0


async def test_the_time_without_a_connection_begins_with_its_end(emulator: SlackEmulator) -> None:
    clock = Jumping()
    running = await Running(emulator, clock=clock).start()
    clock.at += 10 * LOST_AFTER
    emulator.close_sockets()
    await eventually(lambda: emulator.socket.opened == 2 and running.state.live is Live.LIVE)
    await running.stop()


async def test_a_long_pause_before_the_first_connection_is_no_loss(emulator: SlackEmulator) -> None:
    class Refused(Jumping):
        async def sleep(self, seconds: float) -> None:
            if seconds > LOST_AFTER:
                emulator.api._limits.reset()
            await super().sleep(seconds)

    emulator.limits(True, scale=3)
    for _ in range(20):
        emulator.api._limits.take([(__limit(), "")], emulator._monotonic())
    clock = Refused()
    running = await started(emulator, clock=clock)
    await eventually(lambda: running.state.live is Live.LIVE)
    assert clock.at > 1_700_000_000.0 + LOST_AFTER
    await running.stop()


async def test_the_asked_pause_is_kept_before_connecting(emulator: SlackEmulator) -> None:
    clock = QuickClock()
    emulator.api._limits.enabled = True
    for _ in range(20):
        emulator.api._limits.take([(__limit(), "")], emulator._monotonic())
    running = await started(emulator, clock=clock)
    await eventually(lambda: any(50 < seconds <= 60 for seconds in clock.asked))
    emulator.api._limits.reset()
    await eventually(lambda: running.state.live is Live.LIVE)
    await running.stop()


def __limit() -> Any:
    from roebot_testing.emulators.slack.api import CONNECT_LIMIT

    return CONNECT_LIMIT


@pytest.mark.parametrize("trouble", ["none", "stalled", "busy", "streaming"])
async def test_it_stops_at_once_and_leaves_nothing(emulator: SlackEmulator, trouble: str) -> None:
    before = asyncio.all_tasks()
    running = await Running(emulator).start()
    address = await running.asked()
    if trouble == "stalled":
        emulator.stall()
    elif trouble == "busy":
        emulator.fault("slow", method="users.info", seconds=4.0)
        emulator.people.says("x", user="U0000042")
        await eventually(lambda: emulator.api.faults.struck)
    elif trouble == "streaming":
        from .conftest import frame

        await running.adapter.send(frame("one", address))
    begun = time.monotonic()
    await running.stop()
    assert time.monotonic() - begun < 2
    await running.adapter.stop()
    assert running.state.live is Live.STOPPED
    await eventually(lambda: emulator.socket.connections == 0)
    left = {task.get_name() for task in asyncio.all_tasks() - before if "slack" in task.get_name()}
    assert left == set()


async def test_it_starts_again_after_a_stop(running: Running) -> None:
    await running.stop()
    await running.start()
    running.emulator.people.says("again", user=PERSON)
    await running.shelf.until(1)


async def test_three_workspaces_live_side_by_side() -> None:
    async with (
        SlackEmulator.serve(team="T0A") as one,
        SlackEmulator.serve(team="T0B") as two,
        SlackEmulator.serve(team="T0C") as three,
    ):
        accounts = [await Running(emulator).start() for emulator in (one, two, three)]
        for running in accounts:
            running.emulator.people.says("hi")
            await running.shelf.until(1)
        await accounts[0].stop()
        for running in accounts[1:]:
            running.emulator.people.says("still")
            await running.shelf.until(2)
            await running.stop()


def test_the_configuration_entry(emulator_entry: Any = None) -> None:
    class Fixed:
        bot_token, app_token, url = "xoxb-1", "xapp-1", "http://127.0.0.1:1/api/"

    entry = account(Fixed())  # type: ignore[arg-type]
    assert entry.private_isolation == "chat"
    assert account(Fixed(), threads_in_dm=True).private_isolation == "topic"  # type: ignore[arg-type]
    member = account(Fixed(), isolation="member", threads_in_dm=True)  # type: ignore[arg-type]
    assert member.private_isolation == "member"
