"""Thread state: its channels and their reducers, and message token usage.

`messages` is stored as deltas (LangGraph's `DeltaChannel`, in beta, used only in this module): each
checkpoint holds the writes of its step, with a full snapshot every `SNAPSHOT_EVERY` writes. The default
channel would store the whole list at every step, which grows with the square of the thread's length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, Required, TypedDict
from uuid import NAMESPACE_OID, uuid5

from langchain.agents import AgentState
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)
from langgraph.channels import DeltaChannel
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from agent.core.run_meter import READ, RunSpent, count_details
from agent.core.valid_text import clean_text
from agent.shared.run_identity import REQUESTED_SKILL, SHOWN_SKILL


class UsageCounts(TypedDict):
    """Token counts; `total_tokens` is the provider's figure, usually the sum of input and output.

    `cached_tokens` are the input tokens that the provider read from its cache. `cost` is what the calls of
    models with a configured price cost, in `currency`; both are missing without such calls.
    """

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int
    cost: NotRequired[float]
    currency: NotRequired[str]


def cached_tokens(usage: Mapping[str, Any]) -> int:
    """Return the input tokens read from the cache, from langchain's or a thread's usage."""
    if (counted := usage.get("cached_tokens")) is not None:
        return int(counted)
    return count_details(usage.get("input_token_details") or {}, READ)


def sum_usage(messages: Iterable[BaseMessage]) -> UsageCounts | None:
    """Return the total usage of the answers among `messages`; None if no provider reported any."""
    said = [m.usage_metadata for m in messages if isinstance(m, AIMessage) and m.usage_metadata]
    return _add_up(said) if said else None


def merge_usage(current: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> UsageCounts:
    """Add two usages; the reducer for the channel `usage`."""
    return _add_up([part for part in (current, new) if part])


def usage_between(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> UsageCounts:
    """Return a run's usage, from the first and last values of its thread."""
    earlier, later = _add_up([before or {}]), _add_up([after or {}])
    used = UsageCounts(
        input_tokens=later["input_tokens"] - earlier["input_tokens"],
        output_tokens=later["output_tokens"] - earlier["output_tokens"],
        total_tokens=later["total_tokens"] - earlier["total_tokens"],
        cached_tokens=later["cached_tokens"] - earlier["cached_tokens"],
    )
    cost = round(later.get("cost", 0.0) - earlier.get("cost", 0.0), COST_DIGITS)
    return UsageCounts(**used, cost=cost, currency=later.get("currency", "")) if cost else used


def _add_up(parts: Iterable[Mapping[str, Any]]) -> UsageCounts:
    total = UsageCounts(input_tokens=0, output_tokens=0, total_tokens=0, cached_tokens=0)
    for part in parts:
        given = int(part.get("input_tokens") or 0), int(part.get("output_tokens") or 0)
        total["input_tokens"] += given[0]
        total["output_tokens"] += given[1]
        total["total_tokens"] += int(part.get("total_tokens") or sum(given))
        total["cached_tokens"] += cached_tokens(part)
        if part.get("cost"):
            total["cost"] = round(total.get("cost", 0.0) + float(part["cost"]), COST_DIGITS)
            total["currency"] = str(part.get("currency") or "")
    return total


def usage_of_cost(cost: float, currency: str) -> UsageCounts:
    """Return a usage without tokens, to add a cost to the thread's usage."""
    return merge_usage(None, {"cost": cost, "currency": currency})


COST_DIGITS = 9
"""Decimal places of a stored cost; a cheap model's token costs 0.00000005."""
SNAPSHOT_EVERY = 50


class UploadedFile(TypedDict):
    """A file that a person uploaded: `size` in bytes, `path` as the agent sees it."""

    filename: str
    size: int
    path: str


class ViewedImage(TypedDict):
    """An image shown to the model: `base64` is its content."""

    base64: str
    mime_type: str


class ThreadData(TypedDict, total=False):
    """The thread's folders as host paths."""

    workspace_path: str
    uploads_path: str
    outputs_path: str


class SandboxRef(TypedDict, total=False):
    """The sandbox that serves the thread."""

    sandbox_id: str


class Steered(TypedDict):
    """Ids of the messages that joined the turn while it was running."""

    turn: str
    ids: list[str]


class ThreadCompaction(TypedDict):
    """The newest summary on request: the request's `key`, number of summarized messages, tokens before and
    after. Without summarized messages, the conversation is unchanged.
    """

    key: str
    messages: int
    before: int
    after: int


class ShownChat(TypedDict):
    """The system prompt's section about the chat: its `text`, its facts, and the time since when it is shown,
    in seconds since the epoch.
    """

    text: str
    facts: dict[str, Any]
    since: float


class TodoItem(TypedDict):
    """One item of the plan: `status` is pending, in_progress or completed."""

    content: str
    status: str


def merge_messages(state: Sequence[Any], writes: Sequence[Any]) -> list[AnyMessage]:
    """Apply writes in order: append, replace by id, remove by id, or remove all.

    Each write is one message-like object or a list of them. Deterministic and independent of how writes are
    grouped, as replay requires; a message without id gets one derived from its position and content. Removing
    an unknown id does nothing. A message that replaces one keeps the skill that was shown with it, since a
    step can write both the skill and something else.
    """
    merged: dict[str, BaseMessage] = {}
    for message in _to_messages(state):
        merged[_ensure_id(message, merged)] = message
    for message in _to_messages(_flatten(writes)):
        if not isinstance(message, RemoveMessage):
            number = _ensure_id(message, merged)
            merged[number] = _keep_shown_skill(message, merged.get(number))
        elif message.id == REMOVE_ALL_MESSAGES:
            merged.clear()
        else:
            merged.pop(message.id or "", None)
    return list(merged.values())  # type: ignore[arg-type]


def with_shown_skill(message: BaseMessage, text: str) -> BaseMessage:
    """Return the message with the text of the skill shown with it."""
    kwargs = {**message.additional_kwargs, SHOWN_SKILL: text}
    return message.model_copy(update={"additional_kwargs": kwargs})


def _keep_shown_skill(message: BaseMessage, replaced: BaseMessage | None) -> BaseMessage:
    if replaced is None or not (shown := replaced.additional_kwargs.get(SHOWN_SKILL)):
        return message
    asked = replaced.additional_kwargs.get(REQUESTED_SKILL)
    if SHOWN_SKILL in message.additional_kwargs or message.additional_kwargs.get(REQUESTED_SKILL) != asked:
        return message
    return _drop_fields_set(with_shown_skill(message, shown))


def merge_names(current: list[str] | None, new: list[str] | None) -> list[str]:
    """Append new names in order of first mention."""
    return list(dict.fromkeys([*(current or []), *(new or [])]))


def merge_by_message(current: Mapping[str, str] | None, new: Mapping[str, str] | None) -> dict[str, str]:
    return {**(current or {}), **(new or {})}


def merge_viewed_images(
    current: Mapping[str, ViewedImage] | None, new: Mapping[str, ViewedImage] | None
) -> dict[str, ViewedImage]:
    """Merge by path; an empty mapping clears all, None changes nothing."""
    if new is None:
        return dict(current or {})
    return {**(current or {}), **new} if new else {}


RejectedTools = Annotated[list[str], merge_names]


class ThreadState(AgentState[Any]):
    """The stored state of a thread."""

    messages: Required[
        Annotated[list[AnyMessage], DeltaChannel(merge_messages, snapshot_frequency=SNAPSHOT_EVERY)]
    ]
    title: NotRequired[str | None]
    artifacts: NotRequired[Annotated[list[str], merge_names]]
    todos: NotRequired[list[TodoItem] | None]
    uploaded_files: NotRequired[list[UploadedFile] | None]
    viewed_images: NotRequired[Annotated[dict[str, ViewedImage], merge_viewed_images]]
    thread_data: NotRequired[ThreadData | None]
    sandbox: NotRequired[SandboxRef | None]
    usage: NotRequired[Annotated[UsageCounts, merge_usage]]
    promoted_tools: NotRequired[Annotated[list[str], merge_names]]
    rejected_tools: NotRequired[RejectedTools]
    steered: NotRequired[Steered | None]
    run_spent: NotRequired[RunSpent | None]
    compaction: NotRequired[ThreadCompaction | None]
    outputs: NotRequired[dict[str, int] | None]
    held_answer: NotRequired[AIMessage | None]
    days: NotRequired[Annotated[dict[str, str], merge_by_message]]
    shown_chat: NotRequired[ShownChat | None]


def _flatten(writes: Sequence[Any]) -> list[Any]:
    return [item for write in writes for item in (write if isinstance(write, list) else [write])]


def _to_messages(items: Sequence[Any]) -> list[BaseMessage]:
    if all(isinstance(item, BaseMessage) for item in items):
        typed = list(items)
    else:
        typed = convert_to_messages(items)
    return [
        _drop_fields_set(message_chunk_to_message(m) if isinstance(m, BaseMessageChunk) else m) for m in typed
    ]


def _drop_fields_set(message: BaseMessage) -> BaseMessage:
    """Drop pydantic's set of assigned fields, which takes a third of a short message's memory."""
    if message.__pydantic_fields_set__:
        object.__setattr__(message, "__pydantic_fields_set__", set())
    return message


def _ensure_id(message: BaseMessage, taken: Mapping[str, BaseMessage]) -> str:
    if not message.id:
        # Parallel calls see the same state and may return the same result, so the call id distinguishes them.
        call = message.tool_call_id if isinstance(message, ToolMessage) else ""
        seed = f"{len(taken)}:{message.type}:{call}:{message.content}"
        message.id = str(uuid5(NAMESPACE_OID, clean_text(seed)))
        while message.id in taken:
            message.id = str(uuid5(NAMESPACE_OID, message.id))
    return message.id
