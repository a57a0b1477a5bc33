"""The state after a rollback equals the state before, whatever happened in the thread."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from agent.runtime.run_saver import RunSaver
from tests.harness.saver_database import SaverDatabase


def _append(known: list[str], writes: list[list[str]]) -> list[str]:
    return [*known, *(text for write in writes for text in write)]


class State(TypedDict):
    """Channels of each kind: stored as differences, in the checkpoint, and apart from it."""

    said: Annotated[list[str], DeltaChannel(_append, snapshot_frequency=3)]
    total: Annotated[int, operator.add]
    last: str
    everything: Annotated[list[str], operator.add]


async def _note(state: State) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"said": [f"{state.get('last')} noted"], "total": 1, "everything": [str(state.get("last"))]}


async def _ask(state: State) -> dict[str, Any]:
    answer = interrupt("sure?") if state.get("last", "").startswith("?") else "done"
    return {"said": [f"{state.get('last')} {answer}"]}


async def _close(state: State) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"total": 10, "said": ["closed"]}


def build(saver: RunSaver) -> Any:
    """Two steps, the first of which has two tasks and may wait for an answer."""
    graph = StateGraph(State)
    graph.add_node("note", _note)
    graph.add_node("ask", _ask)
    graph.add_node("close", _close)
    graph.add_edge(START, "note")
    graph.add_edge(START, "ask")
    graph.add_edge(["note", "ask"], "close")
    return graph.compile(checkpointer=saver)


class Thread:
    """A thread, and what a client may do with it."""

    def __init__(self, saver: RunSaver, name: str) -> None:
        self.saver, self.name, self.graph = saver, name, build(saver)

    def place(self, **more: Any) -> Any:
        """The config of the thread."""
        return {"configurable": {"thread_id": self.name, "checkpoint_ns": "", **more}}

    async def history(self) -> list[Any]:
        """All states, latest first."""
        return [state async for state in self.graph.aget_state_history(self.place())]

    async def act(self, kind: str, number: int, run: str) -> None:
        """Do one thing as the run `run`."""
        found = await self.history()
        place = self.place(run_id=run)
        if kind in ("fork", "update") and found:
            chosen = found[number % len(found)].config["configurable"]
            place["configurable"]["checkpoint_id"] = chosen["checkpoint_id"]
        if kind == "update":
            await self.graph.aupdate_state(place, {"said": [f"u{number}"], "last": "updated"}, as_node="note")
        elif kind == "prune":
            await self.saver.aprune([self.name])
        else:
            text = {"last": f"{'?' if kind == 'question' else ''}{number}"}
            source = Command(resume=f"yes {number}") if kind == "resume" else {**text, "said": [f"q{number}"]}
            await self.graph.ainvoke(source, place, durability="async")

    async def undo(self, kind: str, number: int, steps: int) -> None:
        """Start a run, cancel it after some steps of the loop, and roll it back as the runtime does."""
        base, writes = None, None
        if kind == "resume" and (base := await self.saver.latest_checkpoint_id(self.name)) is not None:
            writes = await self.saver.pending_writes(self.name, base)
        run = f"undone-{self.name}"
        task = asyncio.create_task(self.act(kind, number, run))
        for _ in range(steps):
            await asyncio.sleep(0)
        if steps < WHOLE:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await self.saver.end_run(run)
        await self.saver.roll_back_run(self.name, run, base, writes)


def without_stray(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The rows without writes that nothing reads, which langgraph leaves on a thread without checkpoints."""
    known = {row[:3] for row in rows["checkpoints"]}
    return {
        table: [row for row in found if not table.endswith("writes") or row[:3] in known]
        for table, found in rows.items()
    }


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all examples."""
    with asyncio.Runner() as runner:
        yield runner


WHOLE = 100
"""Steps of the loop from which on a run is not cancelled."""
KINDS = st.sampled_from(["say", "question", "resume", "fork"])
ACTIONS = st.tuples(KINDS | st.sampled_from(["update", "prune"]), st.integers(0, 9))


@pytest.mark.timeout(300)
def test_the_state_after_a_rollback_equals_the_state_before(
    saver_database: SaverDatabase, runner: asyncio.Runner
) -> None:
    names, opened = count(), saver_database.open()
    saver = runner.run(opened.__aenter__())

    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(ACTIONS, max_size=6), KINDS, st.integers(0, 9), st.integers(0, 2 * WHOLE))
    @example([("question", 1)], "resume", 2, WHOLE)
    @example([("say", 1), ("question", 1), ("prune", 0)], "resume", 2, WHOLE)
    @example([("say", 1)] * 4, "fork", 2, WHOLE)
    def check(actions: list[tuple[str, int]], kind: str, number: int, steps: int) -> None:
        async def compare() -> None:
            thread = Thread(saver, f"t{next(names)}")
            await saver.adelete_thread(f"t{int(thread.name[1:]) - 1}")
            for place, (action, value) in enumerate(actions):
                await thread.act(action, value, f"run-{thread.name}-{place}")
            states, rows = await thread.history(), without_stray(saver_database.read_all())
            await thread.undo(kind, number, steps)
            assert saver_database.read_all() == rows
            assert await thread.history() == states
            await thread.act("say", 1, f"next-{thread.name}")

        runner.run(compare())

    try:
        check()
    finally:
        runner.run(opened.__aexit__(None, None, None))
