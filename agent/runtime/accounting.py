"""What a run cost in tokens: the difference of the state's channel `usage`, for graphs that have one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from agent.core.usage import usage_between
from agent.runtime.domain import Json, Run
from agent.runtime.graphs import AnyGraph

KEY = "usage"
"""The channel, and the key in the metadata of runs and threads."""


def usage_in(values: Any) -> Mapping[str, Any]:
    """The thread's usage as the values have it, nothing for a graph without the channel."""
    found = values.get(KEY) if isinstance(values, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def cost(before: Any, after: Any) -> Json | None:
    """What was added between two values of the state; None where nothing was counted."""
    later = usage_in(after)
    return dict(usage_between(usage_in(before), later)) if later else None


async def values_before(graph: AnyGraph, run: Run) -> Any:
    """The values of the thread when the run began, read from its checkpoints."""
    config: RunnableConfig = {"configurable": {"thread_id": run.thread_id}}
    first = None
    async for state in graph.aget_state_history(config, filter={"run_id": run.run_id}):
        first = state
    if first is None or first.parent_config is None:
        return {}
    return (await graph.aget_state(first.parent_config)).values
