"""Give tool calls ids that every provider accepts: one for each call, and no id twice.

Servers of local models leave ids out, give several calls of an answer the same one, or restart counting in
each answer. Anthropic rejects a conversation with an id twice or an empty one ("`tool_use` ids must be
unique": anomalyco/opencode issue 1279, after a change of models), and results are assigned by id.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

_Queues = Mapping[str, deque[str]]
_BLOCKS = frozenset({"tool_use", "tool_call", "function_call"})


def with_ids(answer: AIMessage) -> AIMessage:
    """Return the answer with a new id for each call that has none, or that of a call before it."""
    seen: set[str] = set()
    ids: list[str] = []
    for call in _list_calls(answer):
        known = call["id"]
        ids.append(f"call_{uuid4().hex[:24]}" if not known or known in seen else known)
        seen.add(ids[-1])
    return _rename(answer, ids)


def with_unique_ids(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with each id once in the conversation; results follow their calls.

    The new ids depend on nothing but the messages before, so that providers can cache a conversation.
    """
    taken: set[str] = set()
    waiting: _Queues = {}
    unique: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            ids = list(_choose_ids([call["id"] for call in _list_calls(message)], taken))
            waiting = _queue_ids(message, ids)
            unique.append(_rename(message, ids))
        elif isinstance(message, ToolMessage) and waiting.get(message.tool_call_id):
            new = waiting[message.tool_call_id].popleft()
            is_same = new == message.tool_call_id
            unique.append(message if is_same else message.model_copy(update={"tool_call_id": new}))
        else:
            unique.append(message)
    return unique


def _choose_ids(ids: Sequence[str | None], taken: set[str]) -> Iterator[str]:
    """Yield an id for each call and add it to those that are taken."""
    for one in ids:
        new, number = one or "", 1
        while not new or new in taken:
            number += 1
            new = f"{one or 'call'}_{number}"
        taken.add(new)
        yield new


def _list_calls(answer: AIMessage) -> list[Any]:
    return [*answer.tool_calls, *answer.invalid_tool_calls]


def _queue_ids(answer: AIMessage, ids: Sequence[str]) -> _Queues:
    """Return the new ids of the calls by their old ones, "" for none."""
    queues: dict[str, deque[str]] = defaultdict(deque)
    for call, new in zip(_list_calls(answer), ids, strict=True):
        queues[call["id"] or ""].append(new)
    return queues


def _rename(answer: AIMessage, ids: Sequence[str]) -> AIMessage:
    """Return the answer with these ids for its calls, wherever they are; the same one if nothing changes."""
    calls = _list_calls(answer)
    if [call["id"] for call in calls] == list(ids):
        return answer
    changed = [{**call, "id": new} for call, new in zip(calls, ids, strict=True)]
    count = len(answer.tool_calls)
    update: dict[str, Any] = {"tool_calls": changed[:count], "invalid_tool_calls": changed[count:]}
    if isinstance(answer.content, list):
        queues = _queue_ids(answer, ids)
        update["content"] = [_rename_block(block, queues) for block in answer.content]
    if isinstance(raw := answer.additional_kwargs.get("tool_calls"), list):
        queues = _queue_ids(answer, ids)
        update["additional_kwargs"] = {
            **answer.additional_kwargs,
            "tool_calls": [_rename_key(call, "id", queues) for call in raw],
        }
    return answer.model_copy(update=update)


def _rename_block(block: Any, queues: _Queues) -> Any:
    if not isinstance(block, dict) or block.get("type") not in _BLOCKS:
        return block
    return _rename_key(block, "call_id" if block["type"] == "function_call" else "id", queues)


def _rename_key(holder: Any, key: str, queues: _Queues) -> Any:
    waiting = queues.get(holder.get(key) or "")
    return {**holder, key: waiting.popleft()} if waiting else holder
