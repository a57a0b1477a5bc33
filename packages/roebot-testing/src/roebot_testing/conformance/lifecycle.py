"""Life cycle: connect, report it, stop in time, and leave nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from bot.account_state import Live
from bot.domain import ChatKind, ReplyAddress
from bot.errors import AccountLost, AccountRefused, DeliveryCategory, DeliveryError
from bot.platforms.base import Adapter
from roebot_testing.conformance.bench import STOP_SECONDS, Stage
from roebot_testing.conformance.driver import Ability, PlatformDriver
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite
from roebot_testing.running import eventually

BEFORE = frozenset({Live.CONNECTING, Live.LIVE})


class LifeCycle(Suite):
    async def test_it_is_an_adapter(self, idle: Stage) -> None:
        assert isinstance(idle.adapter, Adapter)
        assert idle.adapter.renderer.name
        assert idle.adapter.renderer.split(" \n ") == []

    async def test_it_connects_lives_and_stops(self, stage: Stage) -> None:
        await stage.stop()
        lives = [state.live for state in stage.running.states]
        assert lives[0] in BEFORE
        assert Live.LIVE in lives
        assert lives[-1] is Live.STOPPED
        assert stage.running.error is None

    async def test_stopping_twice_or_too_early_is_harmless(self, idle: Stage) -> None:
        await idle.adapter.stop()
        await idle.running.start()
        await idle.stop()
        await idle.stop()
        assert idle.running.error is None

    async def test_it_leaves_no_task_behind(self, idle: Stage) -> None:
        before = asyncio.all_tasks()
        await idle.running.start()
        await idle.reply_address()
        await idle.stop()
        await _all_ended(before)

    async def test_a_stop_while_it_begins_ends_it(self, idle: Stage) -> None:
        before = asyncio.all_tasks()
        for turns in range(0, 12, 3):
            idle.running.task = asyncio.create_task(idle.adapter.start(idle.running.context))
            for _ in range(turns):
                await asyncio.sleep(0)
            async with asyncio.timeout(STOP_SECONDS):
                await idle.adapter.stop()
                if turns == 0:  # it had not even begun, so there was nothing to stop
                    idle.running.task.cancel()
                await asyncio.wait({idle.running.task})
            assert idle.running.error is None
            assert turns == 0 or not idle.running.task.cancelled(), "start did not return, it was cancelled"
        await _all_ended(before)

    async def test_a_cancelled_start_leaves_nothing_behind(self, idle: Stage) -> None:
        before = asyncio.all_tasks()
        await idle.running.start()
        async with asyncio.timeout(STOP_SECONDS):
            await idle.running.crash()
        await _all_ended(before)
        await eventually(lambda: idle.platform.connections() == 0)

    @needs(Ability.NETWORK)
    async def test_no_connection_stays_open(self, stage: Stage) -> None:
        await stage.says("hello", await stage.reply_address())
        assert stage.platform.connections() > 0
        await stage.stop()
        await eventually(lambda: stage.platform.connections() == 0)

    async def test_it_can_be_started_again(self, stage: Stage) -> None:
        await stage.stop()
        await stage.running.start()
        assert stage.running.state.live is Live.LIVE
        await stage.says("back again", await stage.reply_address())
        assert stage.one().text == "back again"

    async def test_a_stop_while_a_message_is_stored_loses_nothing(self, stage: Stage) -> None:
        stage.inbox.hold()
        writing = asyncio.create_task(stage.platform.writes("just before the end"))
        await eventually(lambda: stage.inbox.asked)
        stopping = asyncio.create_task(stage.adapter.stop())
        await stage.moments()
        stage.inbox.release()
        async with asyncio.timeout(STOP_SECONDS):
            await asyncio.wait({stopping, writing})
            await stage.running.stop()
        if not stage.inbox.messages:
            assert Ability.KEEPS not in stage.platform.cannot, "the message is lost"
            await stage.begin()
            await stage.inbox.until(1)
        assert stage.inbox.texts == ["just before the end"]

    @needs(Ability.NETWORK)
    async def test_nothing_is_sent_where_it_is_not_connected(self, stage: Stage) -> None:
        address = await stage.reply_address()
        await stage.stop()
        with pytest.raises(DeliveryError) as caught:
            await stage.adapter.send(stage.message("too late", address))
        assert caught.value.category is DeliveryCategory.TRANSIENT
        assert not caught.value.unknown_outcome
        with pytest.raises(DeliveryError):
            await stage.platform.adapter().send(stage.message("too early", address))
        assert stage.seen() == []

    @needs(Ability.NETWORK)
    async def test_a_platform_out_of_reach_is_tried_again_later(self, idle: Stage) -> None:
        lost = Stage(idle.platform, idle.platform.lost_adapter())
        before = asyncio.all_tasks()
        await lost.running.start()
        assert isinstance(lost.running.error, AccountLost)
        assert lost.running.state.live is Live.FAILED
        _no_secret(idle.platform, str(lost.running.error), lost.running.state.reason)
        await _all_ended(before)

    @needs(Ability.CREDENTIALS)
    async def test_unknown_credentials_are_for_a_person_to_mend(self, idle: Stage) -> None:
        refused = Stage(idle.platform, idle.platform.refused_adapter())
        before = asyncio.all_tasks()
        await refused.running.start()
        assert isinstance(refused.running.error, AccountRefused)
        assert refused.running.state.live is Live.FAILED
        assert refused.running.state.reason == str(refused.running.error)
        assert idle.platform.account in refused.running.state.reason
        _no_secret(idle.platform, refused.running.state.reason)
        address = ReplyAddress(idle.platform.account, "1", ChatKind.PRIVATE)
        with pytest.raises(DeliveryError):
            await refused.adapter.send(refused.message("no", address))
        await _all_ended(before)


async def _all_ended(before: set[asyncio.Task[object]]) -> None:
    """Check that no new task is left, waiting briefly for the emulated platform's own."""

    def left() -> list[str]:
        return [repr(task) for task in asyncio.all_tasks() - before if not _of_a_platform(task)]

    try:
        await eventually(lambda: not left())
    except TimeoutError:
        raise AssertionError(f"left behind: {left()}") from None


def _of_a_platform(task: asyncio.Task[object]) -> bool:
    """Return whether a task belongs to the emulator's server."""
    coroutine = task.get_coro()
    code = getattr(coroutine, "cr_code", None) or getattr(coroutine, "gi_code", None)
    where = getattr(code, "co_filename", "")
    named = task.get_name().startswith("emulator:")
    return named or "emulators" in where or "uvicorn" in where or "starlette" in where


def _no_secret(platform: PlatformDriver, *texts: str) -> None:
    for secret in platform.secrets:
        assert not any(secret in text for text in texts)
