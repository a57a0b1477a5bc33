"""Summaries of the lead agent's threads on request, by a graph with a single step on the same state.

It runs on a thread like the lead agent, so that the runtime orders, resumes and cancels it like any run. A
repeated run with the same key changes nothing.

A graph of its own, because a server that does not know it answers with 404 or 422, whereas it would take an
option of an ordinary run for a message. The run needs a thread without other runs (`reject`): it would
discard the question of one before it. If the runtime has lost the run, the key in the channel shows that it
has ended. Until the next message the thread's metadata names this graph. `/stop` does not stop a summary.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from agent.core.run_context import CompactionOrder, RunOptions
from agent.core.run_meter import RunLimits, RunMeter
from agent.core.state import ThreadCompaction, ThreadState, merge_usage, usage_of_cost
from agent.middleware.run_limits import UsageCounter
from agent.middleware.summarization import SummarizationMiddleware, replacing_writes
from agent.middleware.summary_cut import Measure, count_tokens
from agent.models.visible_output import attach_callback
from agent.shared.compaction import COMPACTION, COMPACTION_GRAPH

PrepareSummaries = Callable[[RunOptions], Awaitable[tuple[BaseChatModel, SummarizationMiddleware]]]
"""Returns the agent's model for a run, and the middleware that summarizes its threads."""
LoadLimits = Callable[[], Awaitable[RunLimits]]
"""Returns the limits of a run with the prices of the models; a summary has no limits."""


async def _load_no_prices() -> RunLimits:
    return RunLimits()


def build_compaction_graph(
    prepare: PrepareSummaries, load_limits: LoadLimits = _load_no_prices
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Return the graph. Its run fails with ModelCallFailed if no model writes the summary."""

    async def compact(state: ThreadState, *, runtime: Runtime[Any]) -> dict[str, Any]:
        configurable = get_config().get("configurable") or {}
        order = CompactionOrder.of(configurable)
        done = state.get("compaction")
        if done is not None and done["key"] == order.key:
            return {}
        model, summaries = await prepare(RunOptions.of(configurable))
        request = ModelRequest(model=model, messages=state["messages"], state=state, runtime=runtime)
        meter = RunMeter(order.key, await load_limits())
        with attach_callback(UsageCounter(meter)):
            changes = await compact_thread(summaries, request, order)
        if not meter.cost:
            return changes
        cost = usage_of_cost(meter.cost, meter.limits.currency)
        return {**changes, "usage": merge_usage(changes.get("usage"), cost)}

    graph: StateGraph[Any, Any, Any, Any] = StateGraph(ThreadState)
    graph.add_node("compact", compact)
    graph.add_edge(START, "compact")
    graph.add_edge("compact", END)
    return graph.compile(name=COMPACTION_GRAPH)


async def compact_thread(
    summaries: SummarizationMiddleware, request: ModelRequest[Any], order: CompactionOrder
) -> dict[str, Any]:
    """Return the thread's changes: the summary, unless it would not be shorter, and the sizes."""
    messages: Sequence[AnyMessage] = request.messages
    before = Measure.of(messages)
    same = ThreadCompaction(key=order.key, messages=0, before=before.sum_all, after=before.sum_all)
    going = summaries.rules_for(request.model).select_most(messages)
    if not going:
        return {COMPACTION: same}
    written = await summaries.write_summary(request, going, focus=order.focus)
    used = {"usage": written.usage} if written.usage else {}
    gone = {id(message) for message in going}
    kept = before.sum(at for at, message in enumerate(messages) if id(message) not in gone)
    after = kept + int(count_tokens(written.message) * before.scale)
    if after >= before.sum_all:
        return {COMPACTION: same, **used}
    done = ThreadCompaction(key=order.key, messages=len(going), before=before.sum_all, after=after)
    return {COMPACTION: done, "messages": replacing_writes(written.message, going), **used}
