"""Thread summaries on request, by a run of a graph for that purpose, on any server that provides it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.shared.compaction import COMPACTION, COMPACTION_GRAPH, LEAD_GRAPH, UNLESS_INTERRUPTED_HEADER
from bot.runtime.events import open_interrupts
from bot.runtime.interface import (
    CompactionOutcome,
    CompactionRequest,
    CompactionState,
    LoggedEvent,
    RunEnded,
    RunFailed,
    TokenUsage,
)

IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
_UNKNOWN = frozenset({httpx.codes.NOT_FOUND, httpx.codes.UNPROCESSABLE_ENTITY, httpx.codes.BAD_REQUEST})
"""What servers answer for the name of a graph that they don't have, or that is no id."""


@dataclass(frozen=True, slots=True)
class RunAccess:
    """Calls of the runtime client: find a thread's run by key ("" for none), and read a run's events."""

    find: Callable[[str, str], Awaitable[str]]
    join: Callable[[str, str, str], AsyncIterator[LoggedEvent]]
    read_usage: Callable[[str, str], Awaitable[TokenUsage | None]]


async def compact_thread(
    client: LangGraphClient, runs: RunAccess, request: CompactionRequest, assistant: str
) -> CompactionOutcome:
    """Start or find the run of this request, and wait until it finishes."""
    thread_id = request.thread_id
    started = await runs.find(thread_id, request.key) or await _start(client, request, assistant)
    if isinstance(started, CompactionState):
        return CompactionOutcome(started)
    problem, status = "", ""
    async for logged in runs.join(thread_id, started, ""):
        if isinstance(logged.event, RunFailed):
            problem = logged.event.message
        elif isinstance(logged.event, RunEnded):
            status = logged.event.status
    used = await runs.read_usage(thread_id, started)
    if problem or status != "success":
        return CompactionOutcome(CompactionState.FAILED, used=used, problem=problem or status)
    found = await client.threads.get_history(thread_id, limit=1, metadata={"run_id": started})
    return _read_outcome(found, used)


async def _start(
    client: LangGraphClient, request: CompactionRequest, assistant: str
) -> str | CompactionState:
    """Return the id of the new run, or the reason why there is none."""
    if not request.starts:
        return CompactionState.BUSY
    configurable = await _read_configurable(client, assistant)
    if configurable is None:
        return CompactionState.UNAVAILABLE
    state = await _or_unknown(client.threads.get_state(request.thread_id))
    if state is None:
        return CompactionState.SHORT
    if open_interrupts(state):
        return CompactionState.QUESTION
    order = {"key": request.key, "focus": request.focus}
    creating = client.runs.create(
        request.thread_id,
        COMPACTION_GRAPH,
        input={"messages": []},
        stream_mode=["updates"],
        stream_resumable=True,
        metadata={"idempotency_key": request.key},
        config={"configurable": {**configurable, **request.configurable, COMPACTION: order}},
        # Never behind another run: that may end with a question, which this run would discard.
        multitask_strategy="reject",
        headers={IDEMPOTENCY_HEADER: request.key, UNLESS_INTERRUPTED_HEADER: "1"},
    )
    try:
        run = await _or_unknown(creating)
    except httpx.HTTPStatusError as error:
        if error.response.status_code == httpx.codes.CONFLICT:
            return CompactionState.BUSY
        raise
    return CompactionState.UNAVAILABLE if run is None else str(run["run_id"])


async def _read_configurable(client: LangGraphClient, assistant: str) -> Mapping[str, Any] | None:
    """Return the settings of a lead agent's assistant; None for another graph, whose state differs."""
    if assistant == LEAD_GRAPH:
        return {}
    found = await _or_unknown(client.assistants.get(assistant))
    if found is None or found["graph_id"] != LEAD_GRAPH:
        return None
    return dict((found.get("config") or {}).get("configurable") or {})


async def _or_unknown(call: Awaitable[Any]) -> Any:
    """Return the result of a call, or None if the server does not know a resource in it."""
    try:
        return await call
    except httpx.HTTPStatusError as error:
        if error.response.status_code in _UNKNOWN:
            return None
        raise


def _read_outcome(history: Sequence[Mapping[str, Any]], used: TokenUsage | None) -> CompactionOutcome:
    values = history[0].get("values") if history else None
    done = (values or {}).get(COMPACTION) or {}
    messages, before, after = (int(done.get(name) or 0) for name in ("messages", "before", "after"))
    state = CompactionState.DONE if messages else CompactionState.SHORT
    return CompactionOutcome(state, messages, before, after, used)
