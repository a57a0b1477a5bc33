"""What is known about chats is looked up seldom, and stays while the platform does not answer."""

from __future__ import annotations

from bot.domain import ChatDescription
from bot.platforms.chat_descriptions import CACHE_SECONDS, RETRY_SECONDS, ChatDescriptions
from roebot_testing.clock import ManualClock

OPS = ChatDescription("ops", 14, "public")


async def answer(found: ChatDescription | None) -> ChatDescription | None:
    return found


async def test_a_description_is_known_for_an_hour() -> None:
    clock = ManualClock(1000.0)
    known = ChatDescriptions(clock)
    assert known.get("c") is None
    assert await known.update("c", answer(OPS)) == OPS
    await clock.advance(CACHE_SECONDS - 1)
    assert known.get("c") == OPS
    assert known.get("d") is None
    await clock.advance(1)
    assert known.get("c") is None


async def test_a_lookup_that_failed_is_repeated_soon_and_loses_nothing() -> None:
    clock = ManualClock(1000.0)
    known = ChatDescriptions(clock)
    assert await known.update("c", answer(None)) == ChatDescription() == known.get("c")
    await clock.advance(RETRY_SECONDS)
    assert known.get("c") is None
    await known.update("c", answer(OPS))
    await clock.advance(CACHE_SECONDS)
    assert await known.update("c", answer(None)) == OPS == known.get("c")
    await clock.advance(RETRY_SECONDS)
    assert known.get("c") is None
