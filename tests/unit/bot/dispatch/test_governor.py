"""The rate governor against a platform that counts every call in a strict sliding window."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.core.rate_limits import MARGIN
from bot.dispatch.pacing import IDLE_BUCKETS, RateGovernor
from bot.domain import ChatKind, ReplyAddress
from bot.platforms.manifest import Budget, Operation, Scope
from roebot_testing.adapter import MANIFEST
from roebot_testing.clock import ManualClock
from tests.harness.profile import examples


def address(chat: str = "c", kind: ChatKind = ChatKind.PRIVATE) -> ReplyAddress:
    return ReplyAddress("a", chat, kind)


@dataclass
class Platform:
    """Counts calls as Telegram does; `late` is how long a call takes to arrive."""

    clock: ManualClock
    late: float = 0.0
    calls: list[tuple[float, str]] = field(default_factory=list)

    async def call(self, chat: str) -> None:
        await self.clock.sleep(self.late)
        self.calls.append((self.clock.now(), chat))

    def broken(self, *, group: bool = False) -> str:
        """The limit that was overrun, "" if none."""
        by_chat: dict[str, list[float]] = defaultdict(list)
        for at, chat in self.calls:
            by_chat[chat].append(at)
        for times in by_chat.values():
            if _overrun(times, 1, 1.0):
                return "chat"
            if group and _overrun(times, 20, 60.0):
                return "group"
        return "account" if _overrun([at for at, _ in self.calls], 30, 1.0) else ""


def _overrun(times: list[float], count: int, period: float) -> bool:
    return any(times[index + count] - times[index] < period for index in range(len(times) - count))


@pytest.fixture
def governor(clock: ManualClock) -> RateGovernor:
    return RateGovernor(MANIFEST.budgets, clock)


async def must(
    governor: RateGovernor, platform: Platform, chat: str, kind: ChatKind = ChatKind.PRIVATE
) -> None:
    async with governor.required_call(address(chat, kind), Operation.POST):
        await platform.call(chat)


async def test_calls_of_a_chat_keep_their_distance_and_order(
    governor: RateGovernor, clock: ManualClock
) -> None:
    platform = Platform(clock, late=0.3)
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(must(governor, platform, "c"))
        await clock.advance(20.0)
    assert len(platform.calls) == 5
    assert platform.broken() == ""
    assert platform.calls[-1][0] - platform.calls[0][0] < 4 * 1.5


async def test_many_chats_share_the_account(governor: RateGovernor, clock: ManualClock) -> None:
    platform = Platform(clock)
    async with asyncio.TaskGroup() as group:
        for number in range(100):
            group.create_task(must(governor, platform, f"c{number}"))
        await clock.advance(10.0)
    assert len(platform.calls) == 100
    assert platform.broken() == ""
    assert platform.calls[-1][0] - platform.calls[0][0] < 3.6


async def test_a_group_may_be_answered_at_once_but_not_flooded(
    governor: RateGovernor, clock: ManualClock
) -> None:
    platform = Platform(clock)
    async with asyncio.TaskGroup() as group:
        for _ in range(25):
            group.create_task(must(governor, platform, "g", ChatKind.GROUP))
        await clock.advance(120.0)
    assert len(platform.calls) == 25
    assert platform.broken(group=True) == ""


async def test_frames_leave_a_reserve_for_the_final(governor: RateGovernor, clock: ManualClock) -> None:
    platform = Platform(clock)
    granted = 0
    place = address("g", ChatKind.GROUP)
    for _ in range(600):
        async with governor.optional_call(place, Operation.EDIT) as wait:
            if not wait:
                granted += 1
                await platform.call("g")
        await clock.advance(0.1)
    assert 17 <= granted <= 19
    started = clock.now()
    task = asyncio.create_task(must(governor, platform, "g", ChatKind.GROUP))
    await clock.advance(1.2)
    assert task.done()
    assert platform.calls[-1][0] - started <= 1.1
    assert platform.broken(group=True) == ""


async def test_a_frame_yields_to_whoever_has_to_send(governor: RateGovernor, clock: ManualClock) -> None:
    platform = Platform(clock, late=0.5)
    task = asyncio.create_task(must(governor, platform, "c"))
    await clock.run_ready()
    async with governor.optional_call(address(), Operation.EDIT) as wait:
        assert wait > 0
    await clock.advance(1.0)
    await task


async def test_a_frame_says_when_to_try_again(governor: RateGovernor, clock: ManualClock) -> None:
    async with governor.optional_call(address(), Operation.EDIT) as wait:
        assert wait == 0.0
    async with governor.optional_call(address(), Operation.EDIT) as wait:
        assert wait == pytest.approx(MARGIN)
    assert governor.optional_wait(address(), Operation.EDIT) == pytest.approx(MARGIN)


async def test_a_frame_that_completes_a_part_keeps_the_windows_alone(clock: ManualClock) -> None:
    governor = RateGovernor((Budget(Scope.CHAT, 20, 60.0, "test", reserve=1),), clock)
    for granted in range(19):
        async with governor.optional_call(address(), Operation.EDIT, at_once=True) as wait:
            assert not wait, granted
    assert governor.optional_wait(address(), Operation.EDIT, at_once=True) > 60.0
    async with asyncio.timeout(1), governor.required_call(address(), Operation.FINAL):
        pass


async def test_a_final_waits_for_no_frame_where_it_has_a_method_of_its_own(clock: ManualClock) -> None:
    edits = Budget(Scope.ACCOUNT, 2, 60.0, "test", operations=frozenset({Operation.EDIT}))
    governor = RateGovernor((edits,), clock)
    for _ in range(2):
        async with governor.optional_call(address(), Operation.EDIT, at_once=True) as wait:
            assert not wait
    async with asyncio.timeout(1), governor.required_call(address(), Operation.FINAL):
        pass


async def test_a_penalty_holds_its_chat_alone(governor: RateGovernor, clock: ManualClock) -> None:
    governor.add_penalty(address("bad"), 5_000.0)
    platform = Platform(clock)
    waiting = asyncio.create_task(must(governor, platform, "bad"))
    other = asyncio.create_task(must(governor, platform, "good"))
    await clock.advance(1.0)
    assert other.done()
    assert not waiting.done()
    assert governor.blocked_for(address("bad")) == pytest.approx(4_999.0)
    assert governor.limited_for() == pytest.approx(4_999.0)
    assert governor.blocked_for(address("good")) == 0.0
    await clock.advance(5_000.0)
    assert waiting.done()


async def test_a_penalty_of_the_account_holds_every_chat(governor: RateGovernor, clock: ManualClock) -> None:
    governor.add_penalty(address("any"), 10.0, account_wide=True)
    platform = Platform(clock)
    task = asyncio.create_task(must(governor, platform, "other"))
    await clock.advance(9.0)
    assert not task.done()
    await clock.advance(2.0)
    assert task.done()


async def test_a_cancelled_waiter_leaves_the_line(governor: RateGovernor, clock: ManualClock) -> None:
    platform = Platform(clock)
    governor.add_penalty(address(), 100.0)
    first = asyncio.create_task(must(governor, platform, "c"))
    second = asyncio.create_task(must(governor, platform, "c"))
    await clock.run_ready()
    assert governor.waiting_count == 2
    first.cancel()
    await clock.advance(101.0)
    assert second.done()
    assert governor.waiting_count == 0


async def test_idle_chats_are_forgotten(governor: RateGovernor, clock: ManualClock) -> None:
    platform = Platform(clock)
    for number in range(IDLE_BUCKETS + 50):
        task = asyncio.create_task(must(governor, platform, f"c{number}"))
        await clock.advance(2.0)
        await task
    assert len(governor._chats) < IDLE_BUCKETS


async def test_a_scale_shortens_every_period(clock: ManualClock) -> None:
    governor = RateGovernor(MANIFEST.budgets, clock, scale=0.01)
    platform = Platform(clock)
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(must(governor, platform, "c"))
        await clock.advance(0.2)
    assert len(platform.calls) == 10


async def test_operations_without_a_budget_are_free(clock: ManualClock) -> None:
    budget = Budget(Scope.CHAT, 1, 1.0, "test", operations=frozenset({Operation.POST}))
    governor = RateGovernor((budget,), clock)
    async with governor.required_call(address(), Operation.POST):
        pass
    async with governor.optional_call(address(), Operation.TYPING) as wait:
        assert wait == 0.0


@settings(max_examples=examples(40), deadline=None)
@given(
    plan=st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.floats(0.0, 2.0), st.floats(0.0, 1.5)), max_size=60
    )
)
def test_no_mix_of_calls_ever_overruns_a_limit(plan: list[tuple[int, bool, float, float]]) -> None:
    async def run() -> None:
        clock = ManualClock()
        governor = RateGovernor(MANIFEST.budgets, clock)
        platform = Platform(clock)

        async def call(chat: int, has_to: bool, late: float) -> None:
            place = address(f"g{chat}", ChatKind.GROUP)
            if has_to:
                async with governor.required_call(place, Operation.POST):
                    await clock.sleep(late)
                    platform.calls.append((clock.now(), place.chat))
                return
            async with governor.optional_call(place, Operation.EDIT) as wait:
                if not wait:
                    await clock.sleep(late)
                    platform.calls.append((clock.now(), place.chat))

        async with asyncio.TaskGroup() as group:
            for chat, has_to, pause, late in plan:
                group.create_task(call(chat, has_to, late))
                await clock.advance(pause)
            await clock.advance(400.0)
        musts = sum(has_to for _, has_to, _, _ in plan)
        assert len(platform.calls) >= musts
        assert platform.broken(group=True) == ""

    asyncio.run(run())
