"""Detection of models that repeat tool calls with the same results: first a warning, then a stop."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from agent.core.model_request import AnyResponse, Handler, Request, Response, change_request, with_note
from agent.core.run_context import RunContext
from agent.core.state import sum_usage
from agent.errors import ModelCallFailed
from agent.middleware.answer_calls import list_calls, without_calls
from agent.middleware.model_response import (
    get_answer,
    messages_since_user,
    with_answer,
    with_text,
    with_update,
)
from agent.models.visible_output import VisibleOutput, replace_message
from agent.shared.text import choose_text

log = structlog.get_logger(__name__)
_Calls = tuple[tuple[str, str], ...]
_Results = tuple[tuple[str, str, str], ...]
SOURCE = "loop_detection"
WARN_AT = 3
STOP_AT = 5
ERRORS_AT = 8
WINDOW = 20
ERROR_CHARACTERS = 300
WARNING = (
    "[System notice] You have made the same tool call {count} times in this turn, and nothing changed. "
    "Do not repeat it: use the results that you have, try something else, or say what is missing."
)
ERROR_WARNING = (
    "[System notice] {tools} failed {count} times in a row with the same error. Other arguments do not help: "
    "use another tool, or say what is missing."
)
LAST = (
    "[System notice] You are repeating yourself, so the calls of your last answer were not made, and no more "
    "tools are run. Write your last answer now, without tools: say what you did and found, where the results "
    "are, what is missing and why, and what people can do next."
)
STOPPED = {
    "en": "I stopped because I was making the same call again and again without any progress.",
    "zh": "我反复进行同样的调用，没有任何进展，所以先停了下来。",
}
FAILING = {
    "en": "I stopped because the same step failed {count} times in a row with the same error: {error}",
    "zh": "同一步骤连续 {count} 次出现同样的错误，我先停了下来。错误信息：{error}",
}
NEXT = {
    "en": "Tell me how to continue, or ask me to try another way.",
    "zh": "请告诉我接下来怎么做，或让我换一种方法。",
}


@dataclass(frozen=True, slots=True)
class _Step:
    """Calls in one answer, their results, and the error text if all failed in the same way (otherwise "")."""

    calls: _Calls
    results: _Results
    error: str

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.calls)


class LoopDetectionMiddleware(AgentMiddleware[Any, Any]):
    """Warns when the same calls have produced the same results `warn_at` times in a turn, and stops at
    `stop_at`.

    Calls are the same if tools and arguments match, in any order, among the last `window` answers since a
    person wrote. Calls whose results change, such as those that wait for something, are no loop. An answer
    that repeats calls and adds more of the same tools counts too, since other middleware may have cut the
    earlier ones. Calls with other arguments are a loop if the same tools fail `errors_at` times in a row with
    the same error. Only the model sees the warning. To stop, the answer is replaced by a
    last one that the model writes without tools; if that fails, the calls are removed and a note is appended.
    Everything is read from the messages, so counting survives a restart, separately for each thread.
    Hook: `wrap_model_call`, so that stopped calls never get into the state.
    """

    def __init__(
        self,
        *,
        warn_at: int = WARN_AT,
        stop_at: int = STOP_AT,
        window: int = WINDOW,
        errors_at: int = ERRORS_AT,
    ) -> None:
        """Raises ValueError unless 2 <= warn_at < stop_at <= window and warn_at < errors_at."""
        super().__init__()
        if not 2 <= warn_at < stop_at <= window:
            raise ValueError("Loop detection needs 2 <= warn_at < stop_at <= window.")
        if errors_at <= warn_at:
            raise ValueError("Loop detection needs warn_at < errors_at.")
        self._warn_at, self._stop_at, self._window, self._errors_at = warn_at, stop_at, window, errors_at

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        steps = find_steps(request.state["messages"])[-self._window :]
        warning, shown = self._find_warning(steps), VisibleOutput()
        with shown.watch_attempt():
            response = await handler(with_note(request, warning, SOURCE) if warning else request)
        answer = get_answer(response)
        if answer is None or not answer.tool_calls:
            return response
        locale = RunContext.of(request.runtime).locale or "en"
        reason = self._find_stop(answer, steps, locale)
        if not reason:
            return response
        log.warning("loop_stopped", tools=sorted({call["name"] for call in answer.tool_calls}))
        last = await _request_last_answer(request, handler, shown)
        final = None if last is None else get_answer(last)
        if last is not None and final is not None and final.text.strip() and not list_calls(final):
            return _with_lost_usage(last, answer)
        bare = without_calls(answer, [call["id"] for call in answer.tool_calls])
        noted = with_text(bare, f"{reason}\n\n{choose_text(NEXT, locale)}")
        return _with_lost_usage(with_answer(response, noted), final)

    def _find_warning(self, steps: Sequence[_Step]) -> str:
        if not steps:
            return ""
        if (count := sum(one.results == steps[-1].results for one in steps)) >= self._warn_at:
            return WARNING.format(count=count)
        if (count := _count_failures(steps)) >= self._warn_at:
            return ERROR_WARNING.format(tools=", ".join(sorted(steps[-1].tools)), count=count)
        return ""

    def _find_stop(self, answer: AIMessage, steps: Sequence[_Step], locale: str) -> str:
        """Return why the answer's calls must not be made, or "" if they may."""
        if _count_repeats(answer, steps) + 1 >= self._stop_at:
            return choose_text(STOPPED, locale)
        failures = _count_failures(steps)
        if failures >= self._errors_at and {call["name"] for call in answer.tool_calls} <= steps[-1].tools:
            error = " ".join(steps[-1].error.split())[:ERROR_CHARACTERS]
            return choose_text(FAILING, locale).format(count=failures, error=error)
        return ""


async def _request_last_answer(request: Request, handler: Handler, shown: VisibleOutput) -> Response | None:
    """Return the response to a request without tools, or None if it failed."""
    asking = change_request(with_note(request, LAST, SOURCE), tools=[], tool_choice=None)
    try:
        with shown.watch_attempt() as place:
            response = await handler(asking)
    except ModelCallFailed as error:
        log.warning("last_answer_failed", category=str(error.category))
        return None
    return response if place is None else replace_message(response, place)


def _with_lost_usage(response: Response, lost: AIMessage | None) -> AnyResponse:
    usage = sum_usage([lost] if lost is not None else [])
    return response if usage is None else with_update(response, usage=usage)


def find_steps(messages: Sequence[AnyMessage]) -> list[_Step]:
    """Return the answers with calls since a person's last message, with the calls' results."""
    steps: list[_Step] = []
    calling: AIMessage | None = None
    results: dict[str, ToolMessage] = {}
    for message in messages_since_user(messages):
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
        elif isinstance(message, AIMessage):
            if calling is not None:
                steps.append(_make_step(calling, results))
            calling, results = (message if message.tool_calls else None), {}
    return [*steps, _make_step(calling, results)] if calling is not None else steps


def _make_step(message: AIMessage, results: Mapping[str, ToolMessage]) -> _Step:
    calls = _call_signature(message)
    found = [(call, results.get(call["id"] or "")) for call in message.tool_calls]
    texts = {call["id"]: _result_text(result) for call, result in found}
    signature = tuple(sorted((call["name"], _dump(call["args"]), texts[call["id"]]) for call, _ in found))
    failed = all(result is not None and result.status == "error" for _, result in found)
    return _Step(
        calls, signature, texts[found[0][0]["id"]] if failed and len(set(texts.values())) == 1 else ""
    )


def _result_text(result: ToolMessage | None) -> str:
    """Return the content without the call's id, which is part of the file names of long outputs."""
    if result is None:
        return ""
    text = result.content if isinstance(result.content, str) else _dump(result.content)
    return re.sub(re.escape(result.tool_call_id), "", text) if result.tool_call_id else text


def _call_signature(message: AIMessage) -> _Calls:
    return tuple(sorted((call["name"], _dump(call["args"])) for call in message.tool_calls))


def _count_repeats(answer: AIMessage, steps: Sequence[_Step]) -> int:
    """Return how often the answer's calls were made with the same result as the last time."""
    signature = Counter(_call_signature(answer))
    tools = {name for name, _ in signature}
    most = 0
    for calls in {step.calls for step in steps if step.tools == tools}:
        if Counter(calls) <= signature:
            results = [step.results for step in steps if step.calls == calls]
            most = max(most, results.count(results[-1]))
    return most


def _count_failures(steps: Sequence[_Step]) -> int:
    """Return how many of the latest consecutive steps failed with the same error of the same tools."""
    count = 0
    for step in reversed(steps):
        if not step.error or (step.error, step.tools) != (steps[-1].error, steps[-1].tools):
            break
        count += 1
    return count


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
