"""Give every tool call a result before a model sees it, as providers require, and detect truncated calls.

langchain completes arguments that break off in a stream, at the provider's token limit or because the model
wrote invalid JSON, so that they look complete. Only the streamed pieces show it. Arguments that are complete
but no strict JSON, such as a Python literal or a code fence, are read (`agent.core.loose_json`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    InvalidToolCall,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.messages.tool import ToolCall, invalid_tool_call, tool_call
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk

from agent.core.loose_json import parse_arguments
from agent.core.run_context import RunContext
from agent.core.state import ThreadState, sum_usage
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
from agent.middleware.stopped_calls import find_stopped_calls
from agent.middleware.tool_order import BEGUN, BegunCalls
from agent.models.visible_output import VisibleOutput, attach_callback, replace_message


@dataclass(slots=True)
class _Piece:
    """The streamed part of a call. Without an index each piece is a separate call."""

    run_id: UUID
    index: int | str | None
    call_id: str
    args: str

    def continues_with(self, new: _Piece) -> bool:
        """Return whether the new piece belongs to the same call."""
        is_same = self.index is not None and (self.run_id, self.index) == (new.run_id, new.index)
        return is_same and (not new.call_id or not self.call_id or new.call_id == self.call_id)


class StreamedArguments(AsyncCallbackHandler):
    """Collects the arguments of tool calls as they are streamed."""

    run_inline = True

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **_: Any,
    ) -> None:
        """Record a piece of an answer."""
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else None
        for piece in message.tool_call_chunks if isinstance(message, AIMessageChunk) else ():
            self._add_piece(_Piece(run_id, piece["index"], piece["id"] or "", piece["args"] or ""))

    def _add_piece(self, new: _Piece) -> None:
        for known in reversed(self._pieces):
            if known.continues_with(new):
                known.call_id = known.call_id or new.call_id
                known.args += new.args
                return
        self._pieces.append(new)

    def _assign_pieces(self) -> tuple[dict[str, str], Iterator[str]]:
        """Return the arguments by id, and those of the last answer's calls that had no id of their own.

        Such calls have got a new one (`agent.middleware.call_ids`), so their order is all that is left.
        """
        raw: dict[str, str] = {}
        others: list[str] = []
        known: set[tuple[UUID, str]] = set()
        for piece in self._pieces:
            key = piece.run_id, piece.call_id
            if piece.call_id and key not in known:
                known.add(key)
                raw[piece.call_id] = piece.args
            elif piece.run_id == self._pieces[-1].run_id:
                others.append(piece.args)
        return raw, iter(others)

    def mark_broken_calls(self, answer: AIMessage) -> AIMessage:
        """Move calls without readable arguments to `invalid_tool_calls`, and read those of the others."""
        raw, others = self._assign_pieces()
        calls: list[ToolCall] = []
        invalid = list(answer.invalid_tool_calls)
        for call in answer.tool_calls:
            text = raw[call["id"] or ""] if call["id"] in raw else next(others, "")
            if _is_json(text):
                calls.append(call)
            elif (args := parse_arguments(text)) is not None:
                calls.append({**call, "args": args})
            else:
                invalid.append(
                    invalid_tool_call(name=call["name"], args=text, id=call["id"], error="no JSON")
                )
        if calls == answer.tool_calls:
            return answer
        return answer.model_copy(update={"tool_calls": calls, "invalid_tool_calls": invalid})


def recover_invalid_calls(answer: AIMessage) -> AIMessage:
    """Turn invalid calls whose arguments can be read after all into calls."""
    calls = list(answer.tool_calls)
    invalid: list[InvalidToolCall] = []
    for call in answer.invalid_tool_calls:
        args = parse_arguments(call["args"] or "")
        if args is None or not call["name"] or not call["id"]:
            invalid.append(call)
        else:
            calls.append(tool_call(name=call["name"], args=args, id=call["id"]))
    if len(invalid) == len(answer.invalid_tool_calls):
        return answer
    return answer.model_copy(update={"tool_calls": calls, "invalid_tool_calls": invalid})


def _is_json(args: str) -> bool:
    """Return whether the arguments can be parsed; an empty text means no arguments."""
    try:
        return not args.strip() or isinstance(json.loads(args, strict=False), dict)
    except ValueError:
        return False


UNANSWERED = "Interrupted: this call has no result, and it is unknown whether it had an effect."
UNREADABLE = (
    "This call was not made, because its arguments could not be read. Write them as JSON; if they were cut "
    "off, make several smaller calls."
)
GIVEN_UP = {
    "en": "I could not call {tools}, because the arguments that I wrote were unreadable, even when I tried "
    "again. Ask me to take smaller steps, or choose another model.",
    "zh": "我没能调用 {tools}：写出的参数无法读取，重试后仍然如此。可以让我把任务拆小一些，或换一个模型。",
}
RETRIES = 2
_Results = dict[str, ToolMessage]


class DanglingToolCallMiddleware(AgentMiddleware[Any, Any]):
    """Completes unanswered tool calls with an error result, right after their message.

    A result elsewhere is moved there, one without a call is dropped. Of a step that was stopped, calls that
    ended get their results, and those that never began are named as such, if `ToolOrderMiddleware` ran the
    step in this process (`agent.middleware.stopped_calls`). An answer whose calls all have unreadable
    arguments is requested again, at most `retries` times, since the run would end with it; next to other
    calls such a call is removed. Truncated arguments count as unreadable, although langchain completes them.
    If people have seen the text of such an answer, the next one is not streamed and replaces it, as in
    `agent.models.retry`. Hook: `wrap_model_call`, since only the model needs it. The repair is stored with
    the answer, and only if no older answer would have to be rewritten (clients would take it for a new one);
    otherwise it is repeated for each call. The usage of repeated answers is stored too.
    """

    state_schema = ThreadState

    def __init__(self, *, retries: int = RETRIES, begun: BegunCalls = BEGUN) -> None:
        super().__init__()
        self._retries = retries
        self._begun = begun

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with a complete conversation."""
        stopped = await find_stopped_calls(request, self._begun)
        whole = repair_history(request.messages, stopped)
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
            locale = RunContext.of(request.runtime).locale or "en"
            clean = with_text(clean, _explain_giving_up(answer, locale))
        return with_answer(response, clean), lost


def _explain_giving_up(answer: AIMessage, locale: str) -> str:
    names = dict.fromkeys(call["name"] or "unknown" for call in answer.invalid_tool_calls)
    is_chinese = locale.startswith("zh")
    return GIVEN_UP["zh" if is_chinese else "en"].format(tools=("、" if is_chinese else ", ").join(names))


async def _call_model(request: Request, handler: Handler, shown: VisibleOutput) -> Response:
    """Return the response with truncated calls marked; it replaces the text that was shown."""
    raw = StreamedArguments()
    with attach_callback(raw), shown.watch_attempt() as place:
        response = await handler(request)
    if place is not None:
        response = replace_message(response, place)
    answer = get_answer(response)
    if answer is None:
        return response
    return with_answer(response, recover_invalid_calls(raw.mark_broken_calls(answer)))


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
