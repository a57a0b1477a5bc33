"""Repair of tool calls: in new answers, in the thread, and in their arguments before they run.

`agent.middleware.answer_rules` holds the rules for answers, `agent.middleware.tool_arguments` those for
arguments. They apply at two places of the chain, around everything that works with calls and inside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest

from agent.core.model_request import AnyResponse, Handler, Request, Response, change_request
from agent.core.run_context import RunContext
from agent.core.state import ThreadState, sum_usage
from agent.middleware.answer_calls import with_unique_ids, without_calls
from agent.middleware.answer_rules import (
    AT_THE_MODEL,
    BEFORE_STORING,
    NOT_STREAMED,
    AnswerFacts,
    AnswerRule,
    StreamedArguments,
    clean_texts,
    is_unreadable,
    name_of_tool,
    repair_answer,
)
from agent.middleware.call_results import UNREADABLE, complete_results, make_repair_writes, repair_history
from agent.middleware.model_response import get_answer, with_answer, with_text, with_update
from agent.middleware.stopped_calls import find_stopped_calls
from agent.middleware.tool_arguments import explain_unknown_arguments, fit_request
from agent.middleware.tool_calls import Result, ToolHandler
from agent.middleware.tool_order import BEGUN, BegunCalls
from agent.models.visible_output import VisibleOutput, attach_callback, replace_message

GIVEN_UP = {
    "en": "I could not call {tools}, because the arguments that I wrote were unreadable, even when I tried "
    "again. Ask me to take smaller steps, or choose another model.",
    "zh": "我没能调用 {tools}：写出的参数无法读取，重试后仍然如此。可以让我把任务拆小一些，或换一个模型。",
}
RETRIES = 2


class AnswerRepairMiddleware(AgentMiddleware[Any, Any]):
    """Repairs answers by the model rules, and the thread's messages before each call.

    Hook: `wrap_model_call`, close to the model, since all other middleware works with the calls and their
    ids. Stored messages stay as they are: ids that are there twice and lone surrogates are replaced in what
    the model gets.
    """

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        response = await handler(change_request(request, messages=repair_messages(request.messages)))
        return _repair_response(AT_THE_MODEL, request, response)


class CallRepairMiddleware(AgentMiddleware[Any, Any]):
    """Completes unanswered tool calls with an error result, and repairs new calls before they are stored.

    A result elsewhere is moved to its call, one without a call is dropped. Of a step that was stopped, calls
    that ended get their results, and those that never began are named as such, if `ToolOrderMiddleware` ran
    the step in this process (`agent.middleware.stopped_calls`). The repair is stored with the answer, and
    only if no older answer would have to be rewritten (clients would take it for a new one); otherwise it is
    repeated for each call.

    An answer whose calls all have unreadable arguments is requested again, at most `retries` times, since the
    run would end with it; next to other calls such a call is not run, and its result says why. If people have
    seen the text of an answer that is requested again, the next one is not streamed and replaces it, as in
    `agent.models.retry`. The usage of repeated answers is stored too.

    A call runs with arguments that fit its tool (`agent.middleware.tool_arguments`). The stored message keeps
    them as the model wrote them, because providers check the calls that they get back.

    Hooks: `wrap_model_call`, around the summary, which has to read complete conversations. `wrap_tool_call`,
    around the guardrail, so that people and rules decide about the arguments that the tool gets.
    """

    state_schema = ThreadState

    def __init__(self, *, retries: int = RETRIES, begun: BegunCalls = BEGUN) -> None:
        super().__init__()
        self._retries = retries
        self._begun = begun

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        stopped = await find_stopped_calls(request, self._begun)
        whole = repair_history(request.messages, stopped)
        response, lost = await self._retry_unreadable(change_request(request, messages=whole), handler)
        stored = request.state["messages"]
        update: dict[str, Any] = {}
        if writes := make_repair_writes(stored, repair_history(stored, whole), response):
            update["messages"] = writes
        if usage := sum_usage(lost):
            update["usage"] = usage
        return with_update(response, **update) if update else response

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        fitted = fit_request(request)
        call = fitted.tool_call
        text = UNREADABLE if is_unreadable(request.tool_call) else explain_unknown_arguments(fitted)
        if text:
            return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
        return await handler(fitted)

    async def _retry_unreadable(self, request: Request, handler: Handler) -> tuple[Response, list[AIMessage]]:
        """Return the response and the answers discarded before it."""
        lost: list[AIMessage] = []
        shown = VisibleOutput()
        response = await _call_model(request, handler, shown)
        for _ in range(self._retries):
            answer = get_answer(response)
            if answer is None or not answer.invalid_tool_calls or answer.tool_calls:
                break
            lost.append(answer)
            messages = [*request.messages, answer, *complete_results(answer, {})]
            response = await _call_model(change_request(request, messages=messages), handler, shown)
        answer = get_answer(response)
        if answer is None or not answer.invalid_tool_calls:
            return response, lost
        clean = without_calls(answer, [call["id"] for call in answer.invalid_tool_calls])
        if not clean.tool_calls and not clean.text.strip():
            locale = RunContext.of(request.runtime).locale or "en"
            clean = with_text(clean, _explain_giving_up(answer, locale))
        return with_answer(response, clean), lost


def repair_messages(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with unique call ids and valid texts."""
    return [clean_texts(message) for message in with_unique_ids(messages)]


def _repair_response(
    rules: Sequence[AnswerRule],
    request: Request,
    response: Response,
    streamed: StreamedArguments = NOT_STREAMED,
) -> Response:
    answer = get_answer(response)
    if answer is None:
        return response
    names = {name_of_tool(tool) for tool in request.tools}
    repaired = repair_answer(rules, answer, AnswerFacts(names, streamed))
    return with_answer(response, repaired)


def _explain_giving_up(answer: AIMessage, locale: str) -> str:
    names = dict.fromkeys(call["name"] or "unknown" for call in answer.invalid_tool_calls)
    is_chinese = locale.startswith("zh")
    return GIVEN_UP["zh" if is_chinese else "en"].format(tools=("、" if is_chinese else ", ").join(names))


async def _call_model(request: Request, handler: Handler, shown: VisibleOutput) -> Response:
    """Return the response with repaired calls; it replaces the displayed text."""
    streamed = StreamedArguments()
    with attach_callback(streamed), shown.watch_attempt() as place:
        response = await handler(request)
    if place is not None:
        response = replace_message(response, place)
    return _repair_response(BEFORE_STORING, request, response, streamed)
