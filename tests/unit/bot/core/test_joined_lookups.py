"""Lookups of the same thing at the same time are one, and end with the last who waits for them."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bot.core.joined_lookups import JoinedLookups, LookupResult
from roebot_testing.clock import ManualClock


class Source:
    """Answers lookups when the test says so."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.calls: list[str] = []
        self.cancelled: list[str] = []
        self.seconds = seconds
        self.error: Exception | None = None
        self.go_on = asyncio.Event()

    async def look_up(self, key: str) -> LookupResult[str]:
        self.calls.append(key)
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.append(key)
            raise
        if self.error is not None:
            raise self.error
        return LookupResult(f"{key}{len(self.calls)}", self.seconds)


def start(lookups: JoinedLookups[str], source: Source, key: str = "a") -> asyncio.Task[str]:
    return asyncio.create_task(lookups.find(key, partial(source.look_up, key)))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_asks_meanwhile_joins() -> None:
    lookups, source = JoinedLookups[str](ManualClock().now, 8), Source()
    waiting = [start(lookups, source), start(lookups, source), start(lookups, source, "b")]
    await settle()
    assert (source.calls, lookups.get("a")) == (["a", "b"], None)
    source.go_on.set()
    assert await asyncio.gather(*waiting) == ["a2", "a2", "b2"]
    assert lookups.get("a") == "a2"


async def test_a_result_is_cached_as_long_as_it_says() -> None:
    clock, source = ManualClock(), Source(60.0)
    lookups = JoinedLookups[str](clock.now, 8)
    source.go_on.set()
    await start(lookups, source)
    await clock.advance(59.0)
    assert await start(lookups, source) == "a1"
    await clock.advance(1.0)
    assert (lookups.get("a"), lookups.get_last("a")) == (None, "a1")
    source.seconds = 0.0
    assert await start(lookups, source) == "a2"
    assert await start(lookups, source) == "a3"
    assert lookups.get_last("a") == "a1"


async def test_the_number_of_results_is_bounded() -> None:
    lookups, source = JoinedLookups[str](ManualClock().now, 2), Source()
    source.go_on.set()
    for key in "abc":
        await start(lookups, source, key)
    assert [lookups.get(key) for key in "abc"] == [None, "b2", "c3"]


async def test_a_lookup_outlives_who_started_it_while_others_wait() -> None:
    lookups, source = JoinedLookups[str](ManualClock().now, 8), Source()
    first, second = start(lookups, source), start(lookups, source)
    await settle()
    first.cancel()
    await settle()
    source.go_on.set()
    assert await second == "a1"
    assert (source.calls, source.cancelled, first.cancelled()) == (["a"], [], True)


async def test_a_lookup_ends_with_the_last_who_waits() -> None:
    lookups, source = JoinedLookups[str](ManualClock().now, 8), Source()
    waiting = [start(lookups, source), start(lookups, source)]
    await settle()
    for one in waiting:
        one.cancel()
    await settle()
    assert source.cancelled == ["a"]
    source.go_on.set()
    assert await start(lookups, source) == "a2", "nobody joins one that was cancelled"


async def test_who_asks_while_a_cancelled_lookup_ends_starts_another() -> None:
    lookups, source = JoinedLookups[str](ManualClock().now, 8), Source()
    first = start(lookups, source)
    await settle()
    first.cancel()
    second = start(lookups, source)
    await settle()
    source.go_on.set()
    assert await second == "a2"
    assert (source.calls, source.cancelled) == (["a", "a"], ["a"])


async def test_an_error_is_everybodys_and_not_cached() -> None:
    lookups, source = JoinedLookups[str](ManualClock().now, 8), Source()
    source.error = OSError("unreachable")
    source.go_on.set()
    waiting = [start(lookups, source), start(lookups, source)]
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(one) for one in found] == ["unreachable", "unreachable"]
    source.error = None
    assert await start(lookups, source) == "a2"
    with pytest.raises(OSError, match="gone"):
        source.error = OSError("gone")
        await start(lookups, source, "b")


async def test_what_is_put_meanwhile_is_newer() -> None:
    lookups, source = JoinedLookups[str](ManualClock().now, 8), Source()
    asked = start(lookups, source)
    await settle()
    lookups.put("a", "put", 60.0)
    assert await start(lookups, source) == "put"
    source.go_on.set()
    assert await asked == "a1"
    assert lookups.get("a") == "put"
