"""Execution of subagents as graphs in this process, with limits on number, turns and time, outside all
streams.

A graph called inside a tool inherits the run's callbacks, streams and checkpointer: its tokens would appear
in the answer and its steps in the thread. A subagent therefore gets an empty context and a saver in memory.
One that is interrupted by a crash is reported, and restarts only if the lead agent decides so. If a run is
canceled, the tokens of its subagents are not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

import structlog
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Interrupt

from agent.core.interfaces import (
    StepListener,
    SubagentKind,
    SubagentResult,
    SubagentStatus,
    SubagentStep,
    SubagentTask,
    SubagentWaiting,
)
from agent.core.run_context import RunContext
from agent.core.run_meter import isolated_context
from agent.core.state import UsageCounts
from agent.errors import AgentError, hide_host_folders, redact_line
from agent.subagents.kinds import BudgetSpent, SubagentType

ASKS = "It needed a person's answer or approval, which only you can request. Output so far: {text}"
SILENT = "It ended without a result."
NOTHING = "(nothing yet)"


class SubagentProgress:
    """Tracks the newest state and reports each model answer to `on_step`."""

    def __init__(self, on_step: StepListener | None) -> None:
        self._on_step = on_step
        self._values: Mapping[str, Any] = {}
        self._turns = 0
        self._text = ""

    def begin(self) -> None:
        """Report that the work starts, or continues after a question."""
        if self._on_step is not None:
            self._on_step(SubagentStep(0))

    def update(self, values: Mapping[str, Any]) -> None:
        """Process the next state."""
        self._values = values
        answers = self._find_answers()
        texts = (answer.text.strip() for answer in reversed(answers))
        self._text = next(filter(None, texts), self._text)
        # A summary removes answers from the messages, so the budget counts them apart.
        turns = values.get("turns") or len(answers)
        if turns > self._turns:
            self._turns = turns
            if self._on_step is not None:
                calls = answers[-1].tool_calls if answers else []
                self._on_step(SubagentStep(turns, tuple(call["name"] for call in calls)))

    def to_result(self) -> SubagentResult:
        if self._values.get("__interrupt__"):
            return self.finish(SubagentStatus.FAILED, ASKS.format(text=self.last_text))
        answers = self._find_answers()
        text = answers[-1].text.strip() if answers else ""
        if not text:
            return self.finish(SubagentStatus.FAILED, SILENT)
        return self.finish(SubagentStatus.COMPLETED, text)

    def finish(self, status: SubagentStatus, text: str) -> SubagentResult:
        """Return a result with the usage and artifacts so far."""
        artifacts = tuple(self._values.get("artifacts") or ())
        return SubagentResult(status, text, self._total_usage, artifacts)

    @property
    def last_text(self) -> str:
        return self._text or NOTHING

    @property
    def _total_usage(self) -> UsageCounts | None:
        found: UsageCounts | None = self._values.get("usage")
        return found

    def _find_answers(self) -> list[AIMessage]:
        return [one for one in self._values.get("messages", ()) if isinstance(one, AIMessage)]


log = structlog.get_logger(__name__)
MAX_CONCURRENT = 3
SECONDS = 900.0
GUARD_SECONDS = 30.0
"""Seconds to wait for the end of a subagent that exceeded its time limit, before it is abandoned."""
CANCEL_SECONDS = 0.5
"""The same for a cancelled run, which must end within a second."""
STEPS_A_TURN, STEPS_AROUND = 6, 20
UNKNOWN = "There is no subagent type {kind}. Available: {known}."
OUT_OF_TIME = "It was stopped after {seconds:g} seconds. Its output so far: {said}"
OUT_OF_BUDGET = "It used up its {spent}. Its output so far: {said}"
BROKE = "It failed: {problem}"
Sleep = Callable[[float], Awaitable[None]]


class SubagentGraphSource(Protocol):
    """Provides the graphs of usable types, by name."""

    types: Mapping[str, SubagentType]

    async def get_graph(self, kind: SubagentType, turns: int) -> Any:
        """Return a type's graph for tasks of at most `turns` model calls; beyond that it raises
        BudgetSpent.
        """
        ...


class GraphSubagents:
    """Runs an agent's subagents.

    At most `max_concurrent` run per thread, others wait for a slot; each may take `seconds` from then on,
    unless its type has another limit. A subagent runs in its own context, so that no callback or stream of
    the lead agent's run sees it, and is cancelled with its caller. What it uses counts for the run
    (`agent.core.run_meter`).
    """

    def __init__(
        self,
        graphs: SubagentGraphSource,
        *,
        max_concurrent: int = MAX_CONCURRENT,
        seconds: float = SECONDS,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        """Raises ValueError for a limit below 1."""
        if max_concurrent < 1:
            raise ValueError(f"The limit must allow at least one subagent, not {max_concurrent}.")
        self._graphs, self._kinds = graphs, graphs.types
        self._max_concurrent, self._seconds, self._sleep = max_concurrent, seconds, sleep
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._unfinished: set[asyncio.Task[SubagentResult]] = set()

    @property
    def kinds(self) -> Sequence[SubagentKind]:
        return [SubagentKind(kind.name, kind.description) for kind in self._kinds.values()]

    async def run(
        self,
        task: SubagentTask,
        context: RunContext,
        on_step: StepListener | None = None,
        waiting: SubagentWaiting | None = None,
    ) -> SubagentResult:
        kind = self._kinds.get(task.kind)
        if kind is None:
            text = UNKNOWN.format(kind=task.kind[:100], known=", ".join(self._kinds))
            return SubagentResult(SubagentStatus.FAILED, text)
        work = _Work(task, kind, context, SubagentProgress(on_step), waiting)
        while True:
            async with self._acquire_slot(context.thread_id or task.id):
                work.progress.begin()
                result = await self._run_with_timeout(work)
            if waiting is None or not work.questions:
                return result
            work.answers = await waiting.ask(work.questions)

    @asynccontextmanager
    async def _acquire_slot(self, thread_id: str) -> AsyncIterator[None]:
        places = self._slots.get(thread_id)
        if places is None:
            places = self._slots[thread_id] = asyncio.Semaphore(self._max_concurrent)
        async with places:
            yield

    async def _run_with_timeout(self, wanted: _Work) -> SubagentResult:
        loop, progress = asyncio.get_running_loop(), wanted.progress
        work = loop.create_task(
            self._run_graph(wanted),
            name=f"subagent:{wanted.task.id}",
            context=isolated_context(wanted.task.id),
        )
        seconds = wanted.kind.seconds or self._seconds
        timer = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait([work, timer], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._cancel_work(work, GUARD_SECONDS)
                text = OUT_OF_TIME.format(seconds=seconds, said=progress.last_text)
                return progress.finish(SubagentStatus.TIMED_OUT, text)
            return work.result()
        finally:
            timer.cancel()
            if not work.done() and work not in self._unfinished:
                await self._cancel_work(work, CANCEL_SECONDS)

    async def _cancel_work(self, work: asyncio.Task[SubagentResult], seconds: float) -> None:
        """Cancel the task and wait up to `seconds` for it, then abandon it."""
        work.cancel()
        guard = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait([work, guard], return_when=asyncio.FIRST_COMPLETED)
        finally:
            guard.cancel()
            if not work.done():
                log.error("subagent_does_not_end", name=work.get_name(), seconds=seconds)
                self._unfinished.add(work)
                work.add_done_callback(self._unfinished.discard)

    async def _run_graph(self, work: _Work) -> SubagentResult:
        task, progress = work.task, work.progress
        turns = work.kind.limit_turns(task.max_turns)
        work.questions = ()
        try:
            graph = await self._graphs.get_graph(work.kind, turns)
            await _follow_graph(graph, work, _run_config(work.context, turns))
        except BudgetSpent as spent:
            text = OUT_OF_BUDGET.format(spent=spent, said=progress.last_text)
            return progress.finish(SubagentStatus.FAILED, text)
        except Exception as error:  # noqa: BLE001 - supervisor: the lead agent gets the error as the result
            problem = str(error) if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
            problem = redact_line(hide_host_folders(problem))
            log.warning("subagent_failed", name=task.id, error=type(error).__name__, detail=problem)
            return progress.finish(SubagentStatus.FAILED, BROKE.format(problem=problem))
        return progress.to_result()


@dataclass(slots=True)
class _Work:
    """A task and its progress: the open `questions` of its subagent, and the `answers` to resume it with."""

    task: SubagentTask
    kind: SubagentType
    context: RunContext
    progress: SubagentProgress
    waiting: SubagentWaiting | None
    questions: Sequence[Interrupt] = ()
    answers: Mapping[str, Any] = field(default_factory=dict)


async def _follow_graph(graph: Any, work: _Work, config: RunnableConfig) -> None:
    """Start or resume the subagent and follow it until it finishes or asks a question."""
    given: Any = {"messages": [HumanMessage(work.task.prompt, id=str(uuid4()))]}
    waiting = work.waiting
    if waiting is not None:
        graph = graph.copy(update={"checkpointer": waiting.saver})
        known = await graph.aget_state(config)
        if known.interrupts and not work.answers:
            work.questions = known.interrupts
            return
        given = Command(resume=dict(work.answers)) if known.interrupts else given
    async for values in graph.astream(given, config, stream_mode="values"):
        work.progress.update(values)
    if waiting is not None and (state := await graph.aget_state(config)).interrupts:
        await waiting.store()
        work.questions = state.interrupts


def _run_config(context: RunContext, turns: int) -> RunnableConfig:
    """Return the config of a subagent's run: only the run context of the lead agent."""
    known = {one.name: getattr(context, one.name) for one in fields(context)}
    told = {
        name: list(value) if isinstance(value, tuple) else value for name, value in known.items() if value
    }
    told.pop("run_id", None)
    return {"configurable": told, "recursion_limit": turns * STEPS_A_TURN + STEPS_AROUND}
