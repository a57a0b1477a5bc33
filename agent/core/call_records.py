"""Metrics and spans of model calls and tool calls.

Models are named as in the configuration. The outcome of a call is OK, CANCELLED, or the class of its error; a
tool call may also be `interrupted` (to ask a person), or report an `error` to the model.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.run_meter import READ, count_details
from agent.shared.metrics import bound_label, counter, histogram, summary
from agent.shared.tracing import CLIENT, begin_span, end_span, record_span, records_content

OK: Final = "ok"
CANCELLED: Final = "cancelled"
UNKNOWN: Final = "unknown"
"""The tool of a call that names none of the tools."""
ROLES: Final = {"human": "user", "ai": "assistant"}
T = TypeVar("T")
_model_calls = histogram(
    "roebot_model_call_seconds",
    "Duration of model calls in seconds",
    ["model", "outcome"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320),
)
_tokens = counter(
    "roebot_model_tokens", "Tokens of model calls; cached ones are part of the input", ["model", "kind"]
)
_cost = counter("roebot_model_cost", "Cost of model calls, for models with a price", ["model", "currency"])
_tool_calls = summary("roebot_tool_call_seconds", "Duration of tool calls in seconds", ["tool", "outcome"])


class ModelCallRecord:
    """A model call, from its begin (s since the epoch) on. `model` is its configured name."""

    def __init__(
        self, model: str, metadata: Mapping[str, Any], messages: Iterable[BaseMessage], begin: float
    ) -> None:
        self.model = model
        self.begin = begin
        self.answers: list[BaseMessage] = []
        name = metadata.get("ls_model_name") or model
        facts = {"gen_ai.operation.name": "chat", "gen_ai.request.model": name}
        facts |= {"gen_ai.provider.name": metadata.get("ls_provider")}
        facts |= _content("gen_ai.input.messages", messages)
        self._span = begin_span(f"chat {name}", facts, CLIENT)

    def end(self, end: float, outcome: str, usage: Mapping[str, Any]) -> None:
        """Count the call; `usage` has its `input_tokens`, `output_tokens` and `cached_tokens`, if known."""
        labels = bound_label("model", self.model), bound_label("model_outcome", outcome)
        _model_calls.labels(*labels).observe(end - self.begin)
        names = {"input": "input_tokens", "output": "output_tokens", "cache_read.input": "cached_tokens"}
        used = {f"gen_ai.usage.{name}_tokens": usage.get(key) for name, key in names.items()}
        answers = _content("gen_ai.output.messages", self.answers)
        end_span(self._span, "" if outcome == OK else outcome, {**used, **answers})


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
    """Make a tool call, count it and record its span."""
    call = request.tool_call
    tool = UNKNOWN if request.tool is None else bound_label("tool", call["name"])
    began, outcome, content = time.perf_counter(), OK, records_content()
    facts: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    facts |= {"gen_ai.tool.call.id": call["id"]}
    if content:
        facts |= {"gen_ai.tool.call.arguments": json.dumps(call["args"])}
    try:
        with record_span(f"execute_tool {tool}", facts, expected=(GraphBubbleUp,)) as later:
            result = await handler(request)
            if isinstance(result, ToolMessage) and result.status == "error":
                outcome = later["error.type"] = "error"
            if isinstance(result, ToolMessage) and content:
                later["gen_ai.tool.call.result"] = result.text
            return result
    except BaseException as error:
        outcome = name_outcome(error)
        raise
    finally:
        labels = tool, bound_label("tool_outcome", outcome)
        _tool_calls.labels(*labels).observe(time.perf_counter() - began)


def _content(name: str, messages: Iterable[BaseMessage]) -> Mapping[str, str]:
    """Return an attribute with the texts of messages, if spans contain them."""
    if not records_content():
        return {}
    parts = [
        {"role": ROLES.get(one.type, one.type), "parts": [{"type": "text", "content": one.text}]}
        for one in messages
    ]
    return {name: json.dumps(parts)}


def name_outcome(error: BaseException) -> str:
    """Return the outcome of a call that raised."""
    if isinstance(error, GraphBubbleUp):
        return "interrupted"
    return CANCELLED if isinstance(error, asyncio.CancelledError) else type(error).__name__
