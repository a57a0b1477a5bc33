"""The live state, derived from observed signals: never live while deaf, and never without a reason after a
failure.
"""

from __future__ import annotations

from bot.account_state import Live
from bot.errors import AccountRefused, DeliveryCategory, DeliveryError
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite
from roebot_testing.running import eventually

OFTEN = 2.0
"""Shortest interval in seconds at which an adapter must report events."""
NOT_LIVE = frozenset({Live.DEAF, Live.CONNECTING, Live.FAILED})


class HealthCases(Suite):
    async def test_what_it_hears_is_its_last_event(self, stage: Stage) -> None:
        began = stage.platform.clock.now()
        await stage.receive("hello")
        await eventually(lambda: stage.running.state.last_event >= began - OFTEN)
        assert stage.running.state.live is Live.LIVE

    @needs(Ability.CREDENTIALS)
    async def test_it_says_who_it_is(self, stage: Stage) -> None:
        assert stage.running.state.identity
        assert stage.running.state.since > 0

    @needs(Ability.CONNECTION)
    async def test_a_lost_connection_is_noticed_and_made_again(self, stage: Stage) -> None:
        await stage.receive("before")
        told = len(stage.running.states)
        await stage.platform.breaks()
        await eventually(lambda: any(state.live in NOT_LIVE for state in stage.running.states[told:]))
        await eventually(lambda: stage.running.state.live is Live.LIVE)
        assert (await stage.receive("after")).text == "after"
        await stage.says("still here", await stage.reply_address())
        assert stage.one().text == "still here"
        assert not stage.running.ended

    @needs(Ability.CONNECTION, Ability.KEEPS)
    async def test_what_is_written_while_it_is_lost_arrives_once(self, stage: Stage) -> None:
        await stage.receive("before")
        for number in range(3):
            await stage.platform.breaks()
            await stage.platform.writes(f"number {number}")
        await stage.inbox.until(4)
        await stage.receive("after")
        assert sorted(stage.inbox.texts) == ["after", "before", "number 0", "number 1", "number 2"]

    @needs(Ability.SILENCE)
    async def test_silence_is_deafness(self, stage: Stage) -> None:
        await stage.receive("before")
        told = len(stage.running.states)
        await stage.platform.falls_silent()
        await eventually(lambda: any(state.live is Live.DEAF for state in stage.running.states[told:]))
        assert next(state.reason for state in stage.running.states[told:] if state.live is Live.DEAF)
        await stage.platform.speaks()
        assert (await stage.receive("after")).text == "after"
        await eventually(lambda: stage.running.state.live is Live.LIVE)

    @needs(Ability.CREDENTIALS)
    async def test_revoked_credentials_fail_the_account(self, stage: Stage) -> None:
        address = await stage.reply_address()
        await stage.platform.revokes()
        try:
            await stage.says("am I still me?", address)
        except DeliveryError as error:
            # An account that fails meanwhile cancels its calls, whose outcome is then unknown.
            cut_off = error.category is DeliveryCategory.TRANSIENT
            assert cut_off or (error.category is DeliveryCategory.AUTH and not error.unknown_outcome)
        else:
            raise AssertionError("a post was taken without credentials")
        await eventually(lambda: stage.running.ended)
        assert isinstance(stage.running.error, AccountRefused)
        assert stage.running.state.live is Live.FAILED
        assert stage.platform.account in stage.running.state.reason
        for secret in stage.platform.secrets:
            assert secret not in stage.running.state.reason


Health = HealthCases
"""Former name of the topic, kept for suites that import it."""
