"""A turn that calls the service is several runs: what a restart, a retry and a stop make of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.shared.service_calls import READ_CHAT, SERVICE_CALL
from bot.domain import ChatKind, HistoryMessage, ReplyAddress
from bot.runtime.interface import (
    ArtifactsPresented,
    EventsMissing,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunRequest,
    ThreadAnswer,
    TokenUsage,
    ToolCall,
    ToolResult,
    UsageReported,
)
from bot.store.read_models import list_turns
from bot.store.turns import load_turn, stop_turn
from bot.store.usage import TurnUsage
from bot.turn import Busy, TurnState
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import ScriptedRun, ScriptedRuntime
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_busy import asked
from tests.component.dispatch.test_dispatcher import closed
from tests.component.dispatch.test_linked_files import CHART, shown
from tests.component.dispatch.test_turn_edge_cases import first_run

USED = TokenUsage(100, 20, 120)
LISTED = (ToolCall("c1", "ls", {}), ToolResult("c1", "ls", "a"))
WORK: tuple[RunEvent, ...] = (*LISTED, ArtifactsPresented((CHART,)), UsageReported(USED))


def call(number: int = 1) -> tuple[RunEvent, ...]:
    """A run ends with a call to the service."""
    value = {"type": SERVICE_CALL, "name": READ_CHAT, "arguments": {}}
    return RunInterrupted(f"i{number}", value), RunEnded("interrupted")


async def goes_on(at: Bench, run: ScriptedRun, number: int) -> ScriptedRun:
    """A run calls the service; the one that continues it."""
    run.emit(*call(number))
    await at.until(lambda: len(at.runtime.runs) == number + 1)
    await at.rest(0.3)
    return at.runtime.runs[f"run-{number + 1}"]


def ends(run: ScriptedRun) -> None:
    run.emit(UsageReported(USED))
    run.say("done")
    run.end()


async def runs_of(at: Bench, turn: int = 1) -> tuple[str, int, str, int]:
    """The stored runs of a turn: the first and the newest."""
    found = await at.db.transact(load_turn, turn)
    assert found is not None
    one = found.turn
    return one.run_id, one.attempt, one.last_run_id, one.last_attempt


async def check_whole(at: Bench) -> None:
    """Everything that the runs did is in the answer."""
    assert shown(at) == ["done", "chart.png"]
    [view] = await at.db.transact(list_turns, 1)
    assert [step.tool for step in view.steps] == ["ls"]
    assert view.spent == TurnUsage("recording:7", 200, 40, 240)


@pytest.fixture
async def drawing(at: Bench) -> Bench:
    at.runtime.artifacts[CHART] = b"png"
    return at


class TestRestart:
    async def test_the_first_run_and_the_newest_are_stored(self, at: Bench) -> None:
        async with at.running():
            second = await goes_on(at, await first_run(at), 1)
            assert await runs_of(at) == ("run-1", 1, "run-2", 2)
            third = await goes_on(at, second, 2)
            assert await runs_of(at) == ("run-1", 1, "run-3", 3)
            ends(third)
            assert await closed(at) == [TurnState.DONE]
        assert [run.request.key for run in at.runtime.runs.values()] == ["1:1", "1:2", "1:3"]

    async def test_what_the_first_run_did_is_in_the_answer(self, drawing: Bench) -> None:
        at = drawing
        async with at.running():
            run = await first_run(at)
            run.emit(*WORK)
            second = await goes_on(at, run, 1)
        async with at.running():
            await at.rest(1.0)
            ends(second)
            assert await closed(at) == [TurnState.DONE]
        await check_whole(at)
        assert len(at.runtime.runs) == 2

    async def test_the_call_is_not_answered_again_where_its_run_is_known(self, at: Bench) -> None:
        reading = Reading()
        at.adapter = reading
        reading.gate.set()
        async with at.running():
            await at.adapter.hears("hi", topic="t1", kind=ChatKind.GROUP, addressed=True)
            await at.until(lambda: at.runtime.runs)
            third = await goes_on(at, await goes_on(at, at.runtime.runs["run-1"], 1), 2)
            before = reading.reads
        async with at.running():
            ends(third)
            await closed(at)
        assert reading.reads == before
        assert len(at.runtime.runs) == 3

    async def test_a_message_that_joined_the_first_run_is_not_answered_again(self, at: Bench) -> None:
        at.busy = Busy.STEER
        async with at.running():
            run = await first_run(at)
            await at.adapter.hears("also this")
            await at.until(lambda: at.runtime.waiting_offers(run.request.thread_id))
            assert at.runtime.take(run) == ["also this"]
            second = await goes_on(at, run, 1)
        async with at.running():
            await at.rest(1.0)
            ends(second)
            assert await closed(at, 2) == [TurnState.DONE, TurnState.DONE]
        assert len(at.runtime.runs) == 2
        assert asked(at, 1) == ["hi"]

    @pytest.mark.parametrize("stored", [True, False])
    async def test_a_first_run_whose_events_are_gone_leads_on(self, drawing: Bench, stored: bool) -> None:
        """Stored or not: the bot was killed before it had stored the second run."""
        at = drawing
        async with at.running():
            run = await first_run(at)
            if stored:
                second = await goes_on(at, run, 1)
        if not stored:
            request = RunRequest(run.request.thread_id, "1:2", (), {}, answers="i1", decision={})
            second = at.runtime.runs[await at.runtime.create_run(request)]
        run.log[:] = [EventsMissing(), RunEnded("interrupted")]
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(
            ("done",), artifacts=(CHART,), presented=(CHART,), calls=LISTED
        )
        at.runtime.used["run-1"] = USED
        ends(second)
        async with at.running():
            assert await closed(at) == [TurnState.DONE]
        await check_whole(at)
        assert len(at.runtime.runs) == 2

    async def test_what_the_second_run_wrote_meanwhile_is_shown_once(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.emit(call()[0], RunEnded("success"))
            await at.until(lambda: len(at.runtime.runs) == 2)
            await at.rest(0.3)
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("done",))
        ends(at.runtime.runs["run-2"])
        async with at.running():
            assert await closed(at) == [TurnState.DONE]
        assert at.adapter.texts() == ["done"]

    async def test_a_run_that_was_lost_begins_again_under_a_new_key(self, at: Bench) -> None:
        async with at.running():
            second = await goes_on(at, await first_run(at), 1)
        at.runtime.runs.clear()
        at.runtime.script = ends
        async with at.running():
            assert await closed(at) == [TurnState.DONE]
        assert second.request.key == "1:2"
        [run] = at.runtime.runs.values()
        assert (run.request.key, len(run.request.messages)) == ("1:3", 1)
        assert (await runs_of(at))[1:] == (3, "", 0)


async def test_a_retry_forks_from_before_the_first_run(at: Bench) -> None:
    at.runtime.checkpoints |= {"run-1": "before", "run-2": "middle"}
    async with at.running():
        ends(await goes_on(at, await first_run(at), 1))
        await closed(at)
        at.runtime.script = ends
        await at.adapter.hears("/retry")
        await at.until(lambda: "run-3" in at.runtime.runs)
    again = at.runtime.runs["run-3"].request
    assert (again.checkpoint, len(again.messages)) == ("before", 1)


async def test_usage_after_a_gap_is_that_of_all_runs(at: Bench) -> None:
    async with at.running():
        run = await first_run(at)
        at.runtime.used |= {"run-1": USED, "run-2": TokenUsage(7, 7, 14)}
        at.runtime.answers[run.request.thread_id] = ThreadAnswer(("done",))
        run.emit(EventsMissing())
        second = await goes_on(at, run, 1)
        second.emit(EventsMissing())
        second.end()
        await closed(at)
    [view] = await at.db.transact(list_turns, 1)
    assert view.spent == TurnUsage("recording:7", 107, 27, 134)


@dataclass(slots=True)
class Gated(ScriptedRuntime):
    """A runtime that takes its time to create runs that continue others. The run exists before or after."""

    exists_first: bool = True
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    creating: bool = False

    async def create_run(self, request: RunRequest) -> str:
        if not request.answers:
            return await ScriptedRuntime.create_run(self, request)
        self.creating = True
        run_id = await ScriptedRuntime.create_run(self, request) if self.exists_first else ""
        await self.gate.wait()
        return run_id or await ScriptedRuntime.create_run(self, request)


@dataclass(slots=True)
class Reading(RecordingAdapter):
    """A platform whose threads are read when the gate opens."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reads: int = 0

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        self.reads += 1
        await self.gate.wait()
        return []


@dataclass(slots=True)
class Searching(ScriptedRuntime):
    """A runtime that takes its time to find runs."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    searching: bool = False

    async def find_run(self, thread_id: str, key: str) -> str:
        self.searching = True
        await self.gate.wait()
        return await ScriptedRuntime.find_run(self, thread_id, key)


async def stops(at: Bench, **more: Any) -> None:
    await at.adapter.hears("/stop", **more)
    await at.rest(0.5)


class TestStop:
    @pytest.mark.parametrize("exists_first", [True, False])
    async def test_a_run_that_is_being_created_is_cancelled(self, at: Bench, exists_first: bool) -> None:
        runtime = Gated(exists_first=exists_first)
        at.runtime = runtime
        async with at.running():
            run = await first_run(at)
            run.say("A frame that is long enough to be shown.")
            run.emit(*call())
            await at.until(lambda: runtime.creating)
            await stops(at)
            runtime.gate.set()
            assert TurnState.CANCELLED in await closed(at, 2)
        assert runtime.runs["run-2"].cancelled
        assert any(text.endswith("*(stopped)*") for text in at.adapter.texts())

    async def test_a_creation_that_never_ends_does_not_hold_the_stop(self, at: Bench) -> None:
        runtime = Gated()
        at.runtime = runtime
        async with at.running():
            (await first_run(at)).emit(*call())
            await at.until(lambda: runtime.creating)
            await stops(at)
            await at.until(lambda: any("(stopped)" in text for text in at.adapter.texts()), most=10.0)
        assert runtime.runs["run-2"].cancelled

    async def test_no_run_follows_a_call_that_is_being_answered(self, at: Bench) -> None:
        reading = Reading()
        at.adapter = reading
        group: dict[str, Any] = {"topic": "t1", "kind": ChatKind.GROUP, "addressed": True}
        reading.gate.set()
        async with at.running():
            await at.adapter.hears("hi", **group)
            await at.until(lambda: at.runtime.runs)
            await at.rest(0.3)
            reading.gate.clear()
            before = reading.reads
            at.runtime.runs["run-1"].emit(*call())
            await at.until(lambda: reading.reads > before)
            await stops(at, **group)
            reading.gate.set()
            assert TurnState.CANCELLED in await closed(at, 2)
            await at.rest(1.0)
        assert list(at.runtime.runs) == ["run-1"]

    @pytest.mark.parametrize("created", [True, False])
    async def test_a_stop_before_a_crash_reaches_a_run_that_was_not_stored(
        self, at: Bench, created: bool
    ) -> None:
        async with at.running():
            run = await first_run(at)
        run.emit(*call())
        if created:
            request = RunRequest(run.request.thread_id, "1:2", (), {}, answers="i1", decision={})
            await at.runtime.create_run(request)
        await at.db.transact(stop_turn, 1, None, at.clock.now())
        async with at.running():
            assert await closed(at) == [TurnState.CANCELLED]
        assert [one.cancelled for one in at.runtime.runs.values()][1:] == [True] * created

    async def test_a_stop_before_a_crash_reaches_the_newest_run(self, at: Bench) -> None:
        async with at.running():
            run = await first_run(at)
            run.say("first")
            second = await goes_on(at, run, 1)
        await at.db.transact(stop_turn, 1, None, at.clock.now())
        async with at.running():
            assert await closed(at) == [TurnState.CANCELLED]
        assert second.cancelled
        assert at.adapter.texts() == ["first\n\n*(stopped)*"]

    async def test_a_stop_before_a_crash_waits_for_the_runtime(self, at: Bench) -> None:
        async with at.running():
            second = await goes_on(at, await first_run(at), 1)
        await at.db.transact(stop_turn, 1, None, at.clock.now())
        at.runtime.down = True
        async with at.running():
            await at.rest(3.0)
            at.runtime.down = False
            assert await closed(at) == [TurnState.CANCELLED]
        assert second.cancelled

    async def test_a_stop_while_the_next_run_is_searched_leaves_no_question(self, at: Bench) -> None:
        runtime = Searching()
        at.runtime = runtime
        async with at.running():
            run = await first_run(at)
            run.say("first")
        run.emit(*call())
        async with at.running():
            await at.until(lambda: runtime.searching)
            await stops(at)
            runtime.gate.set()
            assert TurnState.CANCELLED in await closed(at, 2)
            await at.adapter.hears("rather this")
            await at.until(lambda: "run-2" in runtime.runs)
        assert any(text.endswith("*(stopped)*") for text in at.adapter.texts())
        assert asked(at, 2) == ["rather this"]
        assert runtime.runs["run-2"].request.answers == ""
