"""Limits of a run, including its subagents: tool calls, tokens and money.

The model is warned first. At the limit it gives its last answer without tools, and a note tells the person
why the run ended and what it did. An answer that no longer fits is not requested.

LangChain's limits count per graph, without subagents, and end a run with an error or without a word. Tools
stay bound for the last answer: providers reject a conversation with tool calls but no tools, and the cache is
kept. A missing price would count as nothing, so a limit on cost needs one for every model; none is bundled,
as prices change. Tasks of ACP agents count as one call, since nothing reports their usage.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import structlog
from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.outputs import LLMResult
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.call_records import (
    CANCELLED,
    OK,
    ModelCallRecord,
    count_usage,
    name_outcome,
    record_tool_call,
)
from agent.core.model_request import AnyResponse, Handler, Request, Response, is_from_person, with_note
from agent.core.run_context import RunContext
from agent.core.run_meter import (
    ANSWER_TOKENS,
    CallSize,
    LimitState,
    Phase,
    RunLimits,
    RunMeter,
    current_meter,
    current_task,
    use_meter,
)
from agent.core.state import ThreadState, sum_usage, usage_of_cost
from agent.errors import ModelCallFailed
from agent.middleware.answer_calls import list_calls, make_call_key, without_calls
from agent.middleware.model_response import get_answer, with_answer, with_text, with_update
from agent.middleware.run_limit_texts import describe_limit, explain_end, last_notice, refusal, warning_notice
from agent.middleware.tool_calls import Result, ToolHandler
from agent.models.failure_texts import Category
from agent.models.resolve import NAME_KEY, get_model_name
from agent.models.visible_output import attach_callback
from agent.shared.recent_items import RecentItems

log = structlog.get_logger(__name__)
SOURCE = "run_limits"
MODEL_CALLS = "model_calls"
"""Type of the custom event that reports finished model calls, with their tokens, cost and times (s)."""
MAX_RUNS = 1_000


class UsageCounter(BaseCallbackHandler):
    """Charges all model calls in its context to a meter and records them, also titles and summaries."""

    run_inline = True

    def __init__(self, meter: RunMeter, clock: Callable[[], float] = time.time) -> None:
        self._meter = meter
        self._clock = clock
        self._open: dict[UUID, ModelCallRecord] = {}

    def on_chat_model_start(
        self,
        serialized: Any,
        messages: Any,
        *,
        run_id: UUID,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        known = metadata or {}
        name = known.get(NAME_KEY) or ""
        self._open[run_id] = ModelCallRecord(name, known, messages[0], self._clock())

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        cost, used = 0.0, None
        if (call := self._open.get(run_id)) is None:
            return
        for generations in response.generations:
            for generation in generations:
                message = getattr(generation, "message", None)
                if isinstance(message, AIMessage) and message.usage_metadata:
                    charged = self._meter.charge(message.usage_metadata, call.model)
                    count_usage(call.model, message.usage_metadata, charged, self._meter.limits.currency)
                    cost += charged
                    used = sum_usage([message])
                if isinstance(message, AIMessage):
                    call.answers.append(message)
        self._record(run_id, OK, **{**(used or {}), "cost": cost})

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        if run_id in self._open:
            self._record(run_id, name_outcome(error), error=type(error).__name__)

    def close(self) -> None:
        """Record the calls that were cancelled, which langchain doesn't always report."""
        for run_id in [*self._open]:
            self._record(run_id, CANCELLED, error=asyncio.CancelledError.__name__)

    def _record(self, run_id: UUID, outcome: str, **more: Any) -> None:
        end, call = self._clock(), self._open.pop(run_id)
        call.end(end, outcome, more)
        about = {"model": call.model, "begin": call.begin, "end": end, "task": current_task.get()}
        self._meter.model_calls.append({**about, **more})


class RunLimitsMiddleware(AgentMiddleware[Any, Any]):
    """Creates a run's meter, charges model calls to it, and refuses tool calls beyond the limits.

    A run is one turn of the bot (`turn_id`), also if it waits for an approval in between; elsewhere, one run
    of the graph. Subagents use the meter of the run that they work for. Hooks: `wrap_model_call`, around
    everything that calls a model; the counts are stored with the answer, and the cost in the thread's
    `usage`. `wrap_tool_call`, around the guardrail, so that nobody is asked about a call that is refused.
    `RunEndMiddleware` ends the run.
    """

    state_schema = ThreadState

    def __init__(self, *, limits: RunLimits | None = None) -> None:
        super().__init__()
        self._limits = limits or RunLimits()
        self._meters = RecentItems[tuple[str, str], RunMeter](MAX_RUNS)

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        shared = current_meter()
        meter = shared or self._find_meter(request.runtime, request.state)
        # A turn that failed may run again, with counts that are not stored yet.
        goes_on, counter = True, UsageCounter(meter)
        try:
            with use_meter(meter), attach_callback(counter):
                response = await handler(request)
            answer = get_answer(response)
            goes_on = answer is not None and bool(answer.tool_calls)
        finally:
            counter.close()
            if shared is None and meter.model_calls:
                calls, meter.model_calls = meter.model_calls, []
                request.runtime.stream_writer({"type": MODEL_CALLS, "calls": calls})
            if not goes_on and shared is None:
                self._meters.pop(self._key(request.runtime, request.state), None)
        if shared is not None:
            return response
        state: Mapping[str, Any] = request.state
        cost = meter.cost_since(state.get("run_spent"))
        usage = {"usage": usage_of_cost(cost, self._limits.currency)} if cost else {}
        return with_update(response, run_spent=meter.to_state(), **usage)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        meter = current_meter() or self._find_meter(request.runtime, request.state)
        call = request.tool_call
        exceeded = meter.admit_call(make_call_key(request.state["messages"], call["id"]), call["name"])
        if exceeded is not None:
            _log_limit("tool_call_refused", exceeded)
            text = refusal(exceeded)
            return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
        with use_meter(meter):
            result = await record_tool_call(request, handler)
        if request.tool is not None:
            meter.done[call["name"]] += 1
        return result

    def _find_meter(self, runtime: Any, state: Mapping[str, Any]) -> RunMeter:
        """Return the run's meter, restored from the state if another process started it."""
        key = self._key(runtime, state)
        meter = self._meters.get(key)
        if meter is None:
            spent = state.get("run_spent")
            meter = RunMeter(key[1], self._limits, spent if spent and spent["run"] == key[1] else None)
            self._meters[key] = meter
        return meter

    @staticmethod
    def _key(runtime: Any, state: Mapping[str, Any]) -> tuple[str, str]:
        context = RunContext.of(runtime)
        people = (message.id or "" for message in reversed(state["messages"]) if is_from_person(message))
        return context.thread_id or "", context.turn_id or context.run_id or next(people, "")


class RunEndMiddleware(AgentMiddleware[Any, Any]):
    """Warns the model when the run approaches a limit, and stops the run at the limit.

    Only the model sees the warning. At the limit the answer's calls are removed, and a note is appended that
    says why the run ended; if the model wrote nothing, it says what was done. It uses the meter of
    `RunLimitsMiddleware`, and does nothing without one. Hook: `wrap_model_call`, close to the model, so that
    a title is written for the last answer too.
    """

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        meter = current_meter()
        if meter is None:
            return await handler(request)
        size = estimate_call(request, meter.limits)
        state = meter.assess(size)
        locale = RunContext.of(request.runtime).locale or "en"
        if state is not None and state.phase is Phase.OVER:
            _log_limit("run_limit_reached", state)
            text = explain_end(state, meter, _todos_of(request), locale, with_work=True)
            return ModelResponse(result=[AIMessage(text)])
        with meter.reserve(size):
            if state is None:
                return await handler(request)
            if state.phase is Phase.WARNING:
                return await handler(with_note(request, warning_notice(state, meter), SOURCE))
            _log_limit("run_limit_reached", state)
            asking = with_note(request, last_notice(state, meter), SOURCE)
            response = await _request_last_answer(asking, handler)
        return _end_run(response, request, state, meter, locale)


def estimate_call(request: Request, limits: RunLimits) -> CallSize:
    """Return a call's expected size; only estimated if tokens or money are limited."""
    if not limits.tokens and not limits.cost:
        return CallSize(0)
    messages = [*([request.system_message] if request.system_message else []), *request.messages]
    given = count_tokens_approximately(messages, use_usage_metadata_scaling=True, tools=list(request.tools))
    price = limits.prices.get(get_model_name(request.model) or "")
    usage = {"input_tokens": given, "output_tokens": ANSWER_TOKENS}
    return CallSize(given + ANSWER_TOKENS, price.cost_of(usage) if price else 0.0)


async def _request_last_answer(request: Request, handler: Handler) -> Response:
    """Return the response. An empty answer is not a failure here, since the note describes the work."""
    try:
        return await handler(request)
    except ModelCallFailed as error:
        if error.category != Category.EMPTY:
            raise
        return ModelResponse(result=[AIMessage("")])


def _end_run(
    response: Response, request: Request, state: LimitState, meter: RunMeter, locale: str
) -> Response:
    """Return the response without calls and with the note, which completes the run."""
    answer = get_answer(response)
    if answer is None:
        return response
    bare = without_calls(answer, [call["id"] for call in list_calls(answer)])
    text = explain_end(state, meter, _todos_of(request), locale, with_work=not answer.text.strip())
    return with_answer(response, with_text(bare, text))


def _todos_of(request: Request) -> Sequence[Mapping[str, Any]]:
    state: Mapping[str, Any] = request.state
    return state.get("todos") or ()


def _log_limit(event: str, state: LimitState) -> None:
    log.warning(event, limit=describe_limit(state, "en"), used=state.used)
