"""Tool calls in an answer, in every format that providers use: list, replace and remove.

Each call needs an id of its own: results are assigned by id, and Anthropic rejects a conversation with an id
twice or an empty one ("`tool_use` ids must be unique"). Servers of local models leave ids out, give several
calls of an answer the same one, or restart counting in each answer.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.messages.tool import ToolCall

_Replacements = Mapping[str, deque[Mapping[str, Any] | None]]
_BLOCKS = frozenset({"tool_use", "tool_call", "function_call"})
_PIECES = frozenset({"input_json_delta", "tool_call_chunk"})
"""Blocks that belong to a call only if they name it."""


def list_calls(answer: AIMessage) -> list[Any]:
    """Return all calls in an answer, with unreadable arguments last."""
    return [*answer.tool_calls, *answer.invalid_tool_calls]


def replace_calls(answer: AIMessage, calls: Sequence[Mapping[str, Any] | None]) -> AIMessage:
    """Return the answer with its calls (see `list_calls`) replaced; None removes a call.

    Blocks of the content and the provider's raw calls get the new names and ids too; their arguments stay as
    the model wrote them. Returns the same answer if nothing changes.
    """
    before = list_calls(answer)
    if before == list(calls):
        return answer
    count = len(answer.tool_calls)
    update: dict[str, Any] = {
        "tool_calls": [call for call in calls[:count] if call is not None],
        "invalid_tool_calls": [call for call in calls[count:] if call is not None],
    }
    if isinstance(answer.content, list):
        update["content"] = _replace_holders(answer.content, before, calls, are_blocks=True)
    if isinstance(raw := answer.additional_kwargs.get("tool_calls"), list):
        others = {name: one for name, one in answer.additional_kwargs.items() if name != "tool_calls"}
        kept = _replace_holders(raw, before, calls, are_blocks=False)
        update["additional_kwargs"] = {**others, "tool_calls": kept} if kept else others
    return answer.model_copy(update=update)


def without_calls(answer: AIMessage, cut: Collection[str | None]) -> AIMessage:
    return replace_calls(answer, [None if call["id"] in cut else call for call in list_calls(answer)])


def with_ids(answer: AIMessage) -> AIMessage:
    """Return the answer with a new id for each call that has none or repeats an earlier id."""
    seen: set[str] = set()
    ids: list[str] = []
    for call in list_calls(answer):
        known = call["id"]
        ids.append(f"call_{uuid4().hex[:24]}" if not known or known in seen else known)
        seen.add(ids[-1])
    return _with_call_ids(answer, ids)


def with_unique_ids(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages with unique call ids in the conversation; results follow their calls.

    The new ids depend on nothing but the messages before, so that providers can cache a conversation.
    """
    taken: set[str] = set()
    waiting: dict[str, deque[str]] = {}
    unique: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            calls = list_calls(message)
            ids = list(_choose_ids([call["id"] for call in calls], taken))
            waiting = defaultdict(deque)
            for call, new in zip(calls, ids, strict=True):
                waiting[call["id"] or ""].append(new)
            unique.append(_with_call_ids(message, ids))
        elif isinstance(message, ToolMessage) and waiting.get(message.tool_call_id):
            new = waiting[message.tool_call_id].popleft()
            is_same = new == message.tool_call_id
            unique.append(message if is_same else message.model_copy(update={"tool_call_id": new}))
        else:
            unique.append(message)
    return unique


def _choose_ids(ids: Sequence[str | None], taken: set[str]) -> Iterator[str]:
    """Yield an id for each call and add it to the taken ones."""
    for one in ids:
        new, number = one or "", 1
        while not new or new in taken:
            number += 1
            new = f"{one or 'call'}_{number}"
        taken.add(new)
        yield new


def _with_call_ids(answer: AIMessage, ids: Sequence[str]) -> AIMessage:
    calls = list_calls(answer)
    return replace_calls(answer, [{**call, "id": new} for call, new in zip(calls, ids, strict=True)])


def find_open_calls(messages: Sequence[AnyMessage]) -> tuple[AIMessage | None, list[ToolCall]]:
    """Return the last answer and its calls without a result."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return message, [call for call in message.tool_calls if call["id"] not in answered]
    return None, []


def make_call_key(messages: Sequence[AnyMessage], call_id: str | None) -> str:
    """Return a key from message and call id, since some providers restart counting in each message."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            return f"{message.id}/{call_id}"
    return str(call_id)


def _replace_holders(
    holders: Sequence[Any], before: Sequence[Any], calls: Sequence[Any], *, are_blocks: bool
) -> list[Any]:
    """Return blocks or raw calls with the changes of their calls applied."""
    waiting: _Replacements = defaultdict(deque)
    for old, new in zip(before, calls, strict=True):
        waiting[old["id"] or ""].append(new)
    changed = [_replace_holder(one, waiting, is_block=are_blocks) for one in holders]
    return [one for one in changed if one is not None]


def _replace_holder(holder: Any, waiting: _Replacements, *, is_block: bool) -> Any:
    if not isinstance(holder, dict):
        return holder
    key = "call_id" if holder.get("type") == "function_call" else "id"
    known = holder.get(key) or ""
    if is_block and holder.get("type") not in (_BLOCKS | _PIECES if known else _BLOCKS):
        return holder
    queue = waiting.get(known)
    if not queue:
        return holder
    new = queue.popleft() if len(queue) > 1 else queue[0]
    return None if new is None else _rename({**holder, key: new["id"]}, new["name"])


def _rename(holder: dict[str, Any], name: str | None) -> dict[str, Any]:
    function = holder.get("function")
    if name and "name" in holder:
        holder["name"] = name
    if name and isinstance(function, dict) and "name" in function:
        holder["function"] = {**function, "name": name}
    return holder
