"""Metrics of model calls and tool calls.

Models are named as in the configuration. The outcome of a call is OK, CANCELLED, or the class of its error; a
tool call may also be `interrupted` (to ask a person), or report an `error` to the model.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from prometheus_client import Counter, Histogram, Summary

from agent.core.run_meter import READ, count_details
from agent.shared.metrics import REGISTRY, bound_label

OK: Final = "ok"
CANCELLED: Final = "cancelled"
UNKNOWN: Final = "unknown"
"""The tool of a call that names none of the tools."""
T = TypeVar("T")
_model_calls = Histogram(
    "roebot_model_call_seconds",
    "Duration of model calls in seconds",
    ["model", "outcome"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320),
    registry=REGISTRY,
)
_tokens = Counter(
    "roebot_model_tokens",
    "Tokens of model calls; cached ones are part of the input",
    ["model", "kind"],
    registry=REGISTRY,
)
_cost = Counter(
    "roebot_model_cost",
    "Cost of model calls, for models with a price",
    ["model", "currency"],
    registry=REGISTRY,
)
_tool_calls = Summary(
    "roebot_tool_call_seconds",
    "Duration of tool calls in seconds",
    ["tool", "outcome"],
    registry=REGISTRY,
)


def count_model_call(model: str, seconds: float, outcome: str) -> None:
    """Count a finished model call."""
    labels = bound_label("model", model), bound_label("model_outcome", outcome)
    _model_calls.labels(*labels).observe(seconds)


def count_usage(model: str, usage: Mapping[str, Any], cost: float, currency: str) -> None:
    """Count the usage of a model call, in langchain's `UsageMetadata` format, and its cost."""
    model = bound_label("model", model)
    cached = count_details(usage.get("input_token_details") or {}, READ)
    counts = {"input": usage.get("input_tokens"), "output": usage.get("output_tokens"), "cached": cached}
    for kind, count in counts.items():
        _tokens.labels(model, kind).inc(count or 0)
    if cost:
        _cost.labels(model, currency).inc(cost)


async def record_tool_call(request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[T]]) -> T:
    """Make a tool call, and count it."""
    tool = UNKNOWN if request.tool is None else bound_label("tool", request.tool_call["name"])
    began, outcome = time.perf_counter(), OK
    try:
        result = await handler(request)
        if isinstance(result, ToolMessage) and result.status == "error":
            outcome = "error"
        return result
    except BaseException as error:
        outcome = name_outcome(error)
        raise
    finally:
        labels = tool, bound_label("tool_outcome", outcome)
        _tool_calls.labels(*labels).observe(time.perf_counter() - began)


def name_outcome(error: BaseException) -> str:
    """Return the outcome of a call that raised."""
    if isinstance(error, GraphBubbleUp):
        return "interrupted"
    return CANCELLED if isinstance(error, asyncio.CancelledError) else type(error).__name__
