"""The live state changes when something happened, and is told once."""

from __future__ import annotations

from bot.account_state import AccountState, Live
from bot.platforms.connection import AccountHealth
from roebot_testing.clock import ManualClock


def watched(clock: ManualClock) -> tuple[AccountHealth, list[AccountState]]:
    states: list[AccountState] = []
    return AccountHealth("Feishu", states.append, clock), states


async def test_the_life_of_an_account(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_connecting()
    health.identity = "Roebot"
    health.mark_live()
    health.mark_deaf("the connection was closed")
    health.mark_live()
    health.mark_stopped()
    assert [state.live for state in states] == [
        Live.CONNECTING,
        Live.LIVE,
        Live.DEAF,
        Live.LIVE,
        Live.STOPPED,
    ]
    assert states[2].reason == "the connection was closed"
    assert states[3].identity == "Roebot"
    assert states[3].reason == ""


async def test_a_limit_ends_by_itself(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_live()
    health.mark_limited(10)
    assert (states[-1].live, states[-1].reason) == (Live.LIMITED, "Feishu asks to wait 10 s")
    await clock.advance(5)
    health.mark_live()
    assert states[-1].live is Live.LIMITED
    await clock.advance(6)
    health.mark_live()
    assert (states[-1].live, states[-1].reason) == (Live.LIVE, "")


async def test_a_limit_does_not_hide_that_it_is_deaf(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_deaf("no answer to pings")
    health.mark_limited(10)
    assert states[-1].live is Live.DEAF


async def test_the_same_news_twice_is_no_news(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_deaf("gone")
    health.mark_deaf("gone")
    assert len(states) == 1
    await clock.advance(1)
    health.mark_deaf("still gone")
    assert states[1].since == states[0].since


async def test_signs_of_life_are_dated(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_live()
    first = states[-1].last_event
    await clock.advance(3)
    health.mark_live()
    assert states[-1].last_event == first + 3
    health.mark_deaf("gone")
    assert states[-1].last_event == first + 3


async def test_a_limit_that_is_over_ends_with_the_next_call(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_live()
    health.mark_limited(10)
    health.record_accepted_call()
    assert states[-1].live is Live.LIMITED
    await clock.advance(11)
    health.record_accepted_call()
    assert (states[-1].live, states[-1].reason) == (Live.LIVE, "")


async def test_a_limit_while_it_connects_does_not_make_it_live(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_connecting()
    health.mark_limited(10)
    assert states[-1].live is Live.LIMITED
    await clock.advance(11)
    health.record_accepted_call()
    assert states[-1].live is Live.CONNECTING


async def test_a_limit_says_the_same_when_it_is_heard_from_again(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_live()
    health.mark_limited(10)
    health.mark_deaf("gone")
    health.mark_live()
    assert (states[-1].live, states[-1].reason) == (Live.LIMITED, "Feishu asks to wait 10 s")


async def test_a_note_stays_and_a_sign_of_life_is_not_told_at_once(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.mark_live("heartbeat 20 ms")
    await clock.advance(0.5)
    health.mark_live()
    assert [state.reason for state in states] == ["heartbeat 20 ms"]
    await clock.advance(1)
    health.mark_live()
    assert len(states) == 2 and health.last_event_at == states[-1].last_event
