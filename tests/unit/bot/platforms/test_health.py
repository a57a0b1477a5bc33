"""The live state changes when something happened, and is told once."""

from __future__ import annotations

from bot.domain import AccountState, Live
from bot.platforms.health import Health
from bot.testing.clock import ManualClock


def watched(clock: ManualClock) -> tuple[Health, list[AccountState]]:
    states: list[AccountState] = []
    return Health("Feishu", states.append, clock), states


async def test_the_life_of_an_account(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.connecting()
    health.identity = "Roebot"
    health.heard()
    health.deaf("the connection was closed")
    health.heard()
    health.stopped()
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
    health.heard()
    health.limited(10)
    assert (states[-1].live, states[-1].reason) == (Live.LIMITED, "Feishu asks to wait 10 s")
    await clock.advance(5)
    health.heard()
    assert states[-1].live is Live.LIMITED
    await clock.advance(6)
    health.heard()
    assert (states[-1].live, states[-1].reason) == (Live.LIVE, "")


async def test_a_limit_does_not_hide_that_it_is_deaf(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.deaf("no answer to pings")
    health.limited(10)
    assert states[-1].live is Live.DEAF


async def test_the_same_news_twice_is_no_news(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.deaf("gone")
    health.deaf("gone")
    assert len(states) == 1
    await clock.advance(1)
    health.deaf("still gone")
    assert states[1].since == states[0].since


async def test_signs_of_life_are_dated(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.heard()
    first = states[-1].last_event
    await clock.advance(3)
    health.heard()
    assert states[-1].last_event == first + 3
    health.deaf("gone")
    assert states[-1].last_event == first + 3


async def test_a_limit_that_is_over_ends_with_the_next_call(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.heard()
    health.limited(10)
    health.answered()
    assert states[-1].live is Live.LIMITED
    await clock.advance(11)
    health.answered()
    assert (states[-1].live, states[-1].reason) == (Live.LIVE, "")


async def test_a_limit_while_it_connects_does_not_make_it_live(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.connecting()
    health.limited(10)
    assert states[-1].live is Live.LIMITED
    await clock.advance(11)
    health.answered()
    assert states[-1].live is Live.CONNECTING


async def test_a_limit_says_the_same_when_it_is_heard_from_again(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.heard()
    health.limited(10)
    health.deaf("gone")
    health.heard()
    assert (states[-1].live, states[-1].reason) == (Live.LIMITED, "Feishu asks to wait 10 s")


async def test_a_note_stays_and_a_sign_of_life_is_not_told_at_once(clock: ManualClock) -> None:
    health, states = watched(clock)
    health.heard("heartbeat 20 ms")
    await clock.advance(0.5)
    health.heard()
    assert [state.reason for state in states] == ["heartbeat 20 ms"]
    await clock.advance(1)
    health.heard()
    assert len(states) == 2 and health.last_heard == states[-1].last_event
