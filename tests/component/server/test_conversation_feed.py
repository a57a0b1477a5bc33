"""The stream of one conversation, over a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bot.domain import ChatKind, ReplyAddress
from bot.platforms.local.hub import ReplyFrame
from bot.server.api.sse import HEARTBEAT, Collector, ServerSentEvent, Subscriptions, Typing, encode_events
from bot.store.admission_types import Accepted
from bot.turn import TurnKind
from roebot_testing.clock import ManualClock

HERE = ReplyAddress("web", "7", ChatKind.PRIVATE)


async def test_only_the_newest_frame_of_a_part_is_taken() -> None:
    clock, collector = ManualClock(), Collector()
    collector.frame(ReplyFrame(1, 0, "a"))
    collector.frame(ReplyFrame(1, 1, "x"))
    collector.frame(ReplyFrame(1, 0, "ab"))
    collector.type()
    taken = await collector.changes(clock, 10.0)
    assert taken.frames == (ReplyFrame(1, 0, "ab"), ReplyFrame(1, 1, "x"))
    assert taken.typing
    assert not taken.rows


async def test_nothing_is_told_after_the_time_is_up() -> None:
    clock, collector = ManualClock(), Collector()
    waiting = asyncio.create_task(collector.changes(clock, 10.0))
    await clock.advance(9.9)
    assert not waiting.done()
    await clock.advance(0.2)
    assert waiting.done()
    taken = waiting.result()
    assert (taken.frames, taken.typing, taken.rows) == ((), False, False)


async def test_the_bus_nudges_who_watches_that_conversation() -> None:
    clock, feeds, mine, other = ManualClock(), Subscriptions(), Collector(), Collector()
    with feeds.watch(1, mine), feeds.watch(2, other):
        feeds.accepted(Accepted(5, 1, TurnKind.CHAT, HERE))
        assert (await mine.changes(clock, 0)).rows
        assert not (await other.changes(clock, 0)).rows
        feeds.close()
    assert mine.closed
    assert other.closed
    late = Collector()
    feeds.accepted(Accepted(6, 1, TurnKind.CHAT, HERE))
    assert not (await late.changes(clock, 0)).rows


async def test_silence_has_heartbeats() -> None:
    clock = ManualClock()

    async def events() -> AsyncIterator[ServerSentEvent | None]:
        yield ServerSentEvent("typing", Typing())
        yield None
        await clock.sleep(HEARTBEAT)
        yield None
        yield ServerSentEvent("typing", Typing())

    async def collect() -> bytes:
        return b"".join([chunk async for chunk in encode_events(events(), clock.now)])

    task = asyncio.create_task(collect())
    await clock.advance(HEARTBEAT)
    assert await task == (
        b"retry: 1000\n\nevent: typing\ndata: {}\n\n: still here\n\nevent: typing\ndata: {}\n\n"
    )
