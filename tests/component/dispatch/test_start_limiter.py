"""How turns begin in a burst: few at a time, typing for the others before that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bot.account_state import AccountState, Live
from bot.dispatch.pacing import AccountChannel, RateGovernor
from bot.dispatch.start_limiter import CLAIMS, CREATIONS, PATIENCE, TYPING_CALLS, StartLimiter
from bot.domain import ChatKind, ReplyAddress
from bot.platforms.manifest import Budget, Operation, Scope
from bot.store.admission_types import Accepted
from bot.turn import TurnKind
from roebot_testing.adapter import MANIFEST, RecordingAdapter
from roebot_testing.clock import ManualClock


class SlowTyping(RecordingAdapter):
    """Typing calls last until they are let go."""

    def hold(self) -> None:
        self.gate = asyncio.Event()
        self.now = self.most = 0

    async def typing(self, address: ReplyAddress) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.gate.wait()
        self.now -= 1
        await RecordingAdapter.typing(self, address)


class Stage:
    """A start limiter over one account."""

    def __init__(self, adapter: RecordingAdapter, *, budgets: tuple[Budget, ...] = ()) -> None:
        self.clock = ManualClock()
        self.adapter = adapter
        self.channel = AccountChannel("rec", adapter, MANIFEST, RateGovernor(budgets, self.clock))
        self.channel.ready.set()
        self.starts = StartLimiter(self, self.clock)

    def get(self, account: str) -> AccountChannel | None:
        return self.channel if account == "rec" else None

    def state(self, account: str) -> AccountState:
        return AccountState(Live.LIVE)

    def restart(self, account: str) -> bool:
        return False

    def states(self) -> dict[str, tuple[str, AccountState]]:
        return {}

    def hear(self, conversation: int, kind: TurnKind = TurnKind.CHAT, account: str = "rec") -> None:
        address = ReplyAddress(account, f"c{conversation}", ChatKind.PRIVATE)
        self.starts.on_accepted(Accepted(conversation, conversation, kind, address))

    async def begin(self, conversation: int, taken: list[int], leave: asyncio.Event) -> None:
        async with self.starts.claim_slot(conversation):
            taken.append(conversation)
            await leave.wait()

    @property
    def typed(self) -> list[str]:
        return [chat for operation, chat, _ in self.adapter.calls if operation == "typing"]


@asynccontextmanager
async def at_work(stage: Stage) -> AsyncIterator[Stage]:
    work = asyncio.create_task(stage.starts.run())
    await stage.clock.run_ready()
    yield stage
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


async def test_one_message_begins_at_once_without_typing() -> None:
    async with at_work(Stage(RecordingAdapter())) as stage:
        stage.hear(1)
        async with stage.starts.claim_slot(1):
            assert stage.typed == []
        assert stage.starts.pop_typed_at(1) == 0.0


async def test_who_waits_sees_typing_and_few_begin() -> None:
    async with at_work(Stage(RecordingAdapter())) as stage:
        taken: list[int] = []
        leave = asyncio.Event()
        for number in range(10):
            stage.hear(number)
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(stage.begin(number, taken, leave))
            await stage.clock.run_ready()
            assert taken == list(range(CLAIMS))
            assert stage.typed == [f"c{number}" for number in range(CLAIMS, 10)]
            leave.set()
        assert sorted(taken) == list(range(10))
        assert stage.starts.pop_typed_at(9) == stage.clock.now()
        assert stage.starts.pop_typed_at(9) == 0.0, "it is asked once"
        assert stage.starts.pop_typed_at(0) == 0.0


async def test_typing_calls_are_bounded_and_slow_ones_hold_nobody_up_for_long() -> None:
    adapter = SlowTyping()
    adapter.hold()
    async with at_work(Stage(adapter)) as stage:
        taken: list[int] = []
        leave = asyncio.Event()
        count = CLAIMS + TYPING_CALLS + 5
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                stage.hear(number)
                group.create_task(stage.begin(number, taken, leave))
            await stage.clock.run_ready()
            assert (adapter.now, taken) == (TYPING_CALLS, list(range(CLAIMS)))
            leave.set()
            await stage.clock.advance(PATIENCE / 2)
            assert len(taken) == CLAIMS, "typing goes first"
            await stage.clock.advance(PATIENCE)
            assert len(taken) == count
            adapter.gate.set()
        await stage.clock.run_ready()
        assert adapter.most == TYPING_CALLS
        assert len(stage.typed) == TYPING_CALLS, "who has begun shows typing itself"


async def test_typing_that_the_budget_refuses_counts_as_not_shown() -> None:
    one = Budget(Scope.ACCOUNT, 1, 10.0, "a test", operations=frozenset({Operation.TYPING}))
    async with at_work(Stage(RecordingAdapter(), budgets=(one,))) as stage:
        taken: list[int] = []
        leave = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(CLAIMS + 2):
                stage.hear(number)
                group.create_task(stage.begin(number, taken, leave))
            await stage.clock.run_ready()
            leave.set()
        shown = [stage.starts.pop_typed_at(number) > 0 for number in range(CLAIMS, CLAIMS + 2)]
        assert shown == [True, False]


@pytest.mark.parametrize("account", ["rec", "gone"])
async def test_an_account_that_is_not_there_is_not_called(account: str) -> None:
    async with at_work(Stage(RecordingAdapter())) as stage:
        stage.channel.ready.clear()
        taken: list[int] = []
        leave = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(CLAIMS + 1):
                stage.hear(number, account=account)
                group.create_task(stage.begin(number, taken, leave))
            await stage.clock.run_ready()
            leave.set()
        assert stage.typed == []
        assert len(taken) == CLAIMS + 1


async def test_commands_and_what_was_recovered_show_no_typing() -> None:
    async with at_work(Stage(RecordingAdapter())) as stage:
        taken: list[int] = []
        leave = asyncio.Event()
        stage.hear(CLAIMS, TurnKind.COMMAND)
        async with asyncio.TaskGroup() as group:
            for number in range(CLAIMS + 2):
                group.create_task(stage.begin(number, taken, leave))
            await stage.clock.run_ready()
            leave.set()
        assert stage.typed == []


async def test_one_that_is_cancelled_while_it_waits_leaves_nothing_behind() -> None:
    async with at_work(Stage(RecordingAdapter())) as stage:
        taken: list[int] = []
        leave = asyncio.Event()
        tasks = [asyncio.create_task(stage.begin(number, taken, leave)) for number in range(CLAIMS + 1)]
        await stage.clock.run_ready()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(1), stage.starts.claim_slot(99), stage.starts.claim_slot(98):
            taken.append(99)
    assert taken == [*range(CLAIMS), 99]


async def test_runs_are_created_few_at_a_time() -> None:
    async with at_work(Stage(RecordingAdapter())) as stage:
        creating: list[int] = []
        leave = asyncio.Event()

        async def create(number: int) -> None:
            async with stage.starts.creation_slot():
                creating.append(number)
                await leave.wait()

        async with asyncio.TaskGroup() as group:
            for number in range(CREATIONS + 3):
                group.create_task(create(number))
            await stage.clock.run_ready()
            assert len(creating) == CREATIONS
            leave.set()
        assert len(creating) == CREATIONS + 3


async def test_who_came_first_still_lets_a_later_burst_see_typing() -> None:
    """The second half of a burst is received while the first half begins."""
    adapter = SlowTyping()
    adapter.hold()
    async with at_work(Stage(adapter)) as stage:
        taken: list[int] = []
        leave = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for number in range(CLAIMS + 2):  # recovered ones: nobody shows them typing
                group.create_task(stage.begin(number, taken, leave))
            await stage.clock.run_ready()
            stage.hear(50)
            group.create_task(stage.begin(50, taken, leave))
            await stage.clock.run_ready()
            assert adapter.now == 1
            leave.set()
            await stage.clock.run_ready()
            assert taken == list(range(CLAIMS)), "typing goes first"
            adapter.gate.set()
            await stage.clock.run_ready()
        assert stage.typed == ["c50"]
        assert taken[-1] == 50
