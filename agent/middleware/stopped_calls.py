"""Outcome of tool calls in an answer whose step was stopped.

Langgraph drops the results of such a step when the thread goes on, but the checkpoint before it keeps them.
Which calls began is only known in the process that ran them (`agent.middleware.tool_order`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.config import get_config
from langgraph.runtime import ExecutionInfo
from langgraph.types import Interrupt, Send

from agent.core.checkpoint_barrier import find_saver, locate_checkpoint, wait_for_checkpoint
from agent.core.model_request import Request
from agent.core.run_context import RunContext
from agent.middleware.answer_calls import find_open_calls
from agent.middleware.clarification import NAME as CLARIFICATION
from agent.middleware.tool_order import BegunCalls
from agent.subagents.kinds import TASK

NOT_RUN = "Not run: the work was stopped before this call began, so it had no effect."
UNANSWERED_QUESTION = "Not answered: the work was stopped while this question was open."
MAX_CHECKPOINTS = 30
"""Checkpoints that are searched for the step; a run that was stopped at once adds a few."""
_TASKS, _RESUME = "__pregel_tasks", "__resume__"
"""Keys of a checkpoint's values and its writes (langgraph has no public way to them)."""
_CONTROL = ("__", "branch:")
"""Beginnings of the names of channels that are not the thread's state."""
_MESSAGES, _USAGE = "messages", "usage"


@dataclass(frozen=True, slots=True)
class _Step:
    """A stopped step: results by call id, calls that waited for approval, and types of open questions."""

    results: dict[str, ToolMessage] = field(default_factory=dict)
    undecided: set[str] = field(default_factory=set)
    questions: set[str] = field(default_factory=set)


async def find_stopped_calls(request: Request, begun_calls: BegunCalls) -> list[AnyMessage]:
    """Return the last answer with the known outcomes of its calls: their results, NOT_RUN for calls that
    never started, and UNANSWERED_QUESTION for an open question. Empty if all calls have results, or if
    nothing is known.
    """
    answer, missing = find_open_calls(request.messages)
    if answer is None or not missing:
        return []
    step = await _read_step(request, frozenset(str(call["id"]) for call in missing))
    if step is None:
        return []
    begun = begun_calls.find(RunContext.of(request.runtime).thread_id, answer.id)
    unbegun = {call["id"] for call in missing if begun is not None and call["id"] not in begun}
    unbegun |= step.undecided
    known: list[AnyMessage] = []
    for call in missing:
        text = NOT_RUN if call["id"] in unbegun else ""
        if call["name"] == CLARIFICATION and "clarification" in step.questions:
            text = UNANSWERED_QUESTION
        if (result := step.results.get(str(call["id"]))) is not None:
            known.append(result)
        elif text:
            place = {"tool_call_id": call["id"], "name": call["name"], "id": str(uuid4())}
            known.append(ToolMessage(text, status="error", **place))
    return [answer, *known] if known else []


async def _read_step(request: Request, calls: frozenset[str]) -> _Step | None:
    """Return the step that was to run these calls; None if no checkpoint of the thread contains it."""
    info = getattr(request.runtime, "execution_info", None)
    try:
        saver = find_saver(get_config())
    except RuntimeError:
        return None
    if info is None or saver is None:
        return None
    found = await _read_checkpoint(saver, info)
    for _ in range(MAX_CHECKPOINTS):
        if found is None:
            return None
        if not calls.isdisjoint(_list_waiting(found)):
            return _parse_step(found)
        found = await saver.aget_tuple(found.parent_config) if found.parent_config else None
    return None


async def _read_checkpoint(saver: BaseCheckpointSaver[Any], step: ExecutionInfo) -> CheckpointTuple | None:
    """Return the checkpoint from which a step started. It may not be stored yet: without a barrier to wait
    at, return the newest stored one, which precedes the step's checkpoint.
    """
    await wait_for_checkpoint(step)
    place = locate_checkpoint(step)
    if (found := await saver.aget_tuple(place)) is not None:
        return found
    del place["configurable"]["checkpoint_id"]
    return await saver.aget_tuple(place)


def _list_waiting(found: CheckpointTuple) -> Iterator[str]:
    """Yield the ids of the calls in a checkpoint's next step."""
    for send in found.checkpoint["channel_values"].get(_TASKS) or ():
        for call in send.arg if isinstance(send, Send) and isinstance(send.arg, list) else ():
            if isinstance(call, Mapping):
                yield str(call.get("id"))


def _parse_step(found: CheckpointTuple) -> _Step:
    step = _Step()
    tasks: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for task, channel, value in found.pending_writes or ():
        tasks[task].append((channel, value))
    for writes in tasks.values():
        _add_results(step, writes)
        for _, value in writes:
            for one in value if isinstance(value, list | tuple) else (value,):
                # A subagent's question names a call of its own.
                if isinstance(one, Interrupt) and isinstance(one.value, Mapping):
                    kind = str(one.value.get("type"))
                    step.questions.add(kind)
                    step.undecided.update([str(one.value.get("call_id"))] if kind == "approval" else ())
    if any(channel == _RESUME for writes in tasks.values() for channel, _ in writes):
        # Answered questions can't be distinguished from unanswered ones.
        step.undecided.clear()
        step.questions.clear()
    return step


def _add_results(step: _Step, writes: Iterable[tuple[str, Any]]) -> None:
    """Add a task's results, except those about a lost change of the state, such as a new plan.

    A subagent's report holds without the files that it presented. Usage is omitted: that of the stopped run
    has it.
    """
    state = {channel: value for channel, value in writes if not channel.startswith(_CONTROL)}
    said = state.get(_MESSAGES)
    for one in said if isinstance(said, list | tuple) else (said,):
        if isinstance(one, ToolMessage) and (one.name == TASK or state.keys() <= {_MESSAGES, _USAGE}):
            step.results[one.tool_call_id] = one
