"""Rate limits: reported to the core with their duration, and confined to a chat if the platform does that."""

from __future__ import annotations

import asyncio

import pytest

from bot.account_state import Live
from bot.errors import RateLimited
from bot.platforms.base import AsksChoice, EditsMessages, SendsFiles
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import ANN, BEN, Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite
from roebot_testing.running import eventually

LONG = 5000.0
SLACK = 2.0
AT_ONCE = 8.0
"""Seconds within which a call that must not wait for a limit returns, on a busy machine."""


class LimitCases(Suite):
    @needs(Ability.LIMITS)
    async def test_a_refused_post_says_how_long_to_wait(self, stage: Stage) -> None:
        address = await stage.reply_address()
        stage.platform.limits(ANN, LONG)
        async with asyncio.timeout(AT_ONCE):
            with pytest.raises(RateLimited) as caught:
                await stage.says("now?", address)
        _asks_for(stage, caught.value, LONG)
        assert stage.seen() == []
        stage.platform.lifts(ANN)
        await stage.says("now.", address)
        assert stage.one().text == "now."

    @needs(Ability.LIMITS, Ability.CHAT_LIMITS)
    async def test_the_penalty_of_one_chat_is_no_other_s(self, stage: Stage) -> None:
        ann, ben = await stage.reply_address(at=ANN), await stage.reply_address(at=BEN)
        stage.platform.limits(ANN, LONG)
        async with asyncio.timeout(AT_ONCE):
            with pytest.raises(RateLimited):
                await stage.says("for Ann", ann)
            for number in range(3):
                await stage.says(f"for Ben {number}", ben)
            await stage.receive("and I am heard", BEN)
        assert [seen.text for seen in stage.seen(BEN)] == ["for Ben 0", "for Ben 1", "for Ben 2"]

    @needs(EditsMessages, Ability.LIMITS)
    async def test_a_refused_frame_costs_nothing_but_itself(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("one two ")
        stage.platform.limits(ANN, LONG)
        async with asyncio.timeout(AT_ONCE):
            with pytest.raises(RateLimited) as caught:
                await reply.frame("one two three ")
            _asks_for(stage, caught.value, LONG)
            with pytest.raises(RateLimited):
                await reply.finish("one two three four")
        stage.platform.lifts(ANN)
        await reply.finish("one two three four")
        assert stage.one().text == "one two three four"
        assert not stage.one().growing

    @needs(EditsMessages, AsksChoice, Ability.LIMITS)
    async def test_a_refused_final_keeps_its_choices(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("Which")
        stage.platform.limits(ANN, LONG)
        with pytest.raises(RateLimited):
            await reply.finish("Which one?", ["this", "that"])
        stage.platform.lifts(ANN)
        await reply.finish("Which one?", ["this", "that"])
        assert stage.one().choices == ("this", "that")

    @needs(SendsFiles, Ability.LIMITS)
    async def test_a_refused_file_says_how_long_to_wait(self, stage: Stage) -> None:
        file = stage.file(b"x", "a.txt", await stage.reply_address())
        stage.platform.limits(ANN, LONG)
        async with asyncio.timeout(AT_ONCE):
            with pytest.raises(RateLimited) as caught:
                await stage.send_file(file)
        _asks_for(stage, caught.value, LONG)
        stage.platform.lifts(ANN)
        await stage.send_file(file)
        assert stage.one().data == b"x"

    @needs(Ability.LIMITS)
    async def test_the_account_says_that_it_is_limited_and_goes_on(self, stage: Stage) -> None:
        address = await stage.reply_address()
        stage.platform.limits(ANN, 1.0)
        with pytest.raises(RateLimited):
            await stage.says("now?", address)
        assert Live.LIMITED in [state.live for state in stage.running.states]
        assert not stage.running.ended
        await stage.receive("still heard", BEN)
        stage.platform.lifts(ANN)
        await asyncio.sleep(1.1)  # the limit was told to the adapter in seconds of its own clock
        await stage.says("now.", address)
        await stage.receive("and it is over", BEN)
        await eventually(lambda: stage.running.state.live is Live.LIVE)

    @needs(Ability.LIMITS)
    async def test_a_limit_does_not_delay_the_stop(self, stage: Stage) -> None:
        address = await stage.reply_address()
        stage.platform.limits(ANN, LONG)
        with pytest.raises(RateLimited):
            await stage.says("now?", address)
        await stage.stop()
        assert stage.running.state.live is Live.STOPPED


def _asks_for(stage: Stage, error: RateLimited, seconds: float) -> None:
    """Check the wait that the platform specified, to a second or two, and its scope."""
    assert seconds - SLACK <= error.retry_after <= seconds + SLACK
    assert error.account_wide == (Ability.CHAT_LIMITS in stage.platform.cannot)
    assert not error.unknown_outcome


Limits = LimitCases
"""Former name of the topic, kept for suites that import it."""
