"""Give every tool call a result before a model sees it, as providers require."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage

from agent.core.state import ThreadState
from agent.core.usage import sum_usage
from agent.middleware.invalid_tool_calls import StreamedArguments
from agent.middleware.model_response import (
    Handler,
    Request,
    Response,
    get_answer,
    with_answer,
    with_text,
    with_update,
    without_calls,
)
from agent.models.callbacks import attach_callback
from agent.models.visible_output import VisibleOutput, replace_message

UNANSWERED = "Interrupted: this call has no result, and whether it had an effect is unknown."
UNREADABLE = (
    "This call was not made: its arguments could not be read. Write them as JSON, and where they were cut "
    "off, in smaller calls."
)
GIVEN_UP = "I could not call {tools}: what I wrote for it was unreadable."
RETRIES = 2
_Results = dict[str, ToolMessage]


class DanglingToolCallMiddleware(AgentMiddleware[Any, Any]):
    """Completes unanswered tool calls with an error result, right after their message.

    A result elsewhere is moved there, one without a call is dropped. An answer whose calls all have
    unreadable arguments is requested again, at most `retries` times, since the run would end with it; next to
    other calls such a call is removed. Truncated arguments count as unreadable, although langchain completes
    them. If people have seen the text of such an answer, the next one is not streamed and replaces it, as in
    `agent.models.retry`. Hook: `wrap_model_call`, since only the model needs it. The repair is stored with
    the answer, and only if no older answer would have to be rewritten (clients would take it for a new one);
    otherwise it is repeated for each call. The usage of repeated answers is stored too.
    """

    state_schema = ThreadState

    def __init__(self, *, retries: int = RETRIES) -> None:
        super().__init__()
        self._retries = retries

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with a complete conversation."""
        whole = repair_history(request.messages)
        response, lost = await self._retry_unreadable(request.override(messages=whole), handler)
        stored = request.state["messages"]
        update: dict[str, Any] = {}
        if writes := _repair_writes(stored, repair_history(stored, whole), response):
            update["messages"] = writes
        if usage := sum_usage(lost):
            update["usage"] = usage
        return with_update(response, **update) if update else response

    async def _retry_unreadable(self, request: Request, handler: Handler) -> tuple[Response, list[AIMessage]]:
        """Return the response and the discarded answers before it."""
        lost: list[AIMessage] = []
        shown = VisibleOutput()
        response = await _call_model(request, handler, shown)
        for _ in range(self._retries):
            answer = get_answer(response)
            if answer is None or not answer.invalid_tool_calls or answer.tool_calls:
                break
            lost.append(answer)
            told = [*request.messages, answer, *_complete_results(answer, {})]
            response = await _call_model(request.override(messages=told), handler, shown)
        answer = get_answer(response)
        if answer is None or not answer.invalid_tool_calls:
            return response, lost
        bare = without_calls(answer, [call["id"] for call in answer.invalid_tool_calls if call["id"]])
        clean = bare.model_copy(update={"invalid_tool_calls": []})
        if not clean.tool_calls and not clean.text.strip():
            names = {call["name"] or "a tool" for call in answer.invalid_tool_calls}
            clean = with_text(clean, GIVEN_UP.format(tools=", ".join(sorted(names))))
        return with_answer(response, clean), lost


async def _call_model(request: Request, handler: Handler, shown: VisibleOutput) -> Response:
    """Return the response with truncated calls marked; it replaces the text that was shown."""
    raw = StreamedArguments()
    with attach_callback(raw), shown.watch_attempt() as place:
        response = await handler(request)
    if place is not None:
        response = replace_message(response, place)
    answer = get_answer(response)
    return response if answer is None else with_answer(response, raw.mark_broken_calls(answer))


def repair_history(messages: Sequence[AnyMessage], candidates: Sequence[AnyMessage] = ()) -> list[AnyMessage]:
    """Return the messages with each call's result after it.

    `candidates` are further messages that may contain missing results.
    """
    results = _results_by_message(candidates)
    for maker, own in _results_by_message(messages).items():
        results.setdefault(maker, {}).update(own)
    whole: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            whole.append(message)
            whole += _complete_results(message, results)
        elif not isinstance(message, ToolMessage):
            whole.append(message)
    return whole


def _results_by_message(messages: Sequence[AnyMessage]) -> dict[str | None, _Results]:
    """Return results by the id of the message that made the call: the last such message before them.

    A call id alone is ambiguous, since some providers restart counting in each answer. Results before any
    such message are under None.
    """
    found: dict[str | None, _Results] = {}
    makers: dict[str | None, str | None] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            makers.update((call["id"], message.id) for call in calls)
        elif isinstance(message, ToolMessage):
            found.setdefault(makers.get(message.tool_call_id), {})[message.tool_call_id] = message
    return found


def _complete_results(message: AIMessage, results: dict[str | None, _Results]) -> Iterator[ToolMessage]:
    """Yield the results of the message's calls in their order, then placeholders for missing ones."""
    calls: list[tuple[str | None, str, str]] = []
    calls += [(call["id"], call["name"], UNANSWERED) for call in message.tool_calls]
    calls += [(call["id"], call["name"] or "unknown", UNREADABLE) for call in message.invalid_tool_calls]
    wanted = {call_id for call_id, _, _ in calls if call_id}
    for known in [results[maker] for maker in dict.fromkeys((message.id, None)) if maker in results]:
        for answered in [answered for answered in known if answered in wanted]:
            yield known.pop(answered)
            wanted.discard(answered)
    for call_id, name, text in calls:
        if call_id in wanted:
            wanted.discard(call_id)
            yield ToolMessage(text, tool_call_id=call_id, name=name, status="error", id=str(uuid4()))


def _repair_writes(
    stored: Sequence[AnyMessage], whole: Sequence[AnyMessage], response: Response
) -> list[Any]:
    """Return the state update that repairs the stored messages from the first difference on."""
    same = 0
    for old, new in zip(stored, whole, strict=False):
        if old.id != new.id:
            break
        same += 1
    tail = list(whole[same:])
    if (same == len(stored) and not tail) or any(isinstance(message, AIMessage) for message in tail):
        return []
    for message in response.result:
        message.id = message.id or str(uuid4())
    gone = [RemoveMessage(id=m.id) for m in [*stored[same:], *response.result] if m.id]
    return [*gone, *tail, *response.result]
