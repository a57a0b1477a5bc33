"""Placement of every tool call's result directly after the call, as providers require."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage

from agent.core.model_request import Response
from agent.middleware.answer_calls import list_calls

UNANSWERED = "Interrupted: this call has no result, and it is unknown whether it had an effect."
UNREADABLE = (
    "This call was not made, because its arguments could not be read. Write them as JSON; if they were cut "
    "off, make several smaller calls."
)
_Results = dict[str, ToolMessage]


def repair_history(messages: Sequence[AnyMessage], candidates: Sequence[AnyMessage] = ()) -> list[AnyMessage]:
    """Return the messages with each result after its call.

    `candidates` are further messages that may contain missing results.
    """
    results = _results_by_message(candidates)
    for maker, own in _results_by_message(messages).items():
        results.setdefault(maker, {}).update(own)
    whole: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            whole.append(message)
            whole += complete_results(message, results)
        elif not isinstance(message, ToolMessage):
            whole.append(message)
    return whole


def _results_by_message(messages: Sequence[AnyMessage]) -> dict[str | None, _Results]:
    """Return results by the id of the message with the call, which is the last such message before them.

    A call id alone is ambiguous, since some providers restart counting in each answer. Results before any
    such message are under None.
    """
    found: dict[str | None, _Results] = {}
    makers: dict[str | None, str | None] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            makers.update((call["id"], message.id) for call in list_calls(message))
        elif isinstance(message, ToolMessage):
            found.setdefault(makers.get(message.tool_call_id), {})[message.tool_call_id] = message
    return found


def complete_results(message: AIMessage, results: dict[str | None, _Results]) -> Iterator[ToolMessage]:
    """Yield the results of a message's calls in order, with placeholders for missing ones."""
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


def make_repair_writes(
    stored: Sequence[AnyMessage], whole: Sequence[AnyMessage], response: Response
) -> list[Any]:
    """Return the state update that repairs the stored messages, starting at the first difference."""
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
