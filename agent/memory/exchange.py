"""Select the messages of a conversation to remember: people's messages and final answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.core.interfaces import MemoryScope


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A queued message. `role` is `person` or `assistant`; `id` is its id in the thread."""

    id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class PendingUpdate:
    """The pending update of one thread. `id` changes whenever messages are added to it.

    `erasures` is the number of times the scope had been erased when the update was read from the queue.
    """

    id: str
    scope: MemoryScope
    thread_id: str
    messages: tuple[QueuedMessage, ...]
    attempts: int
    erasures: int


SENDER = "sender"
"""The key in a message's `additional_kwargs` that holds its author, as `platform:id`."""
MAX_MESSAGE_CHARACTERS, MAX_MESSAGES = 4_000, 60
CUT = " […] "


def select_memorable(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return the messages without tool calls, tool results and messages that middleware inserted."""
    return [message for message in messages if _is_memorable(message)]


def filter_for_scope(messages: Iterable[BaseMessage], scope: MemoryScope) -> list[BaseMessage]:
    """Return the messages that may enter the memory of the scope.

    A person's memory takes neither messages by other people nor the answers to them.
    """
    if scope.kind != "person":
        return list(messages)
    kept, is_own = [], True
    for message in messages:
        if isinstance(message, HumanMessage):
            is_own = message.additional_kwargs.get(SENDER, scope.key) == scope.key
        if is_own:
            kept.append(message)
    return kept


def to_queued_messages(messages: Sequence[BaseMessage]) -> list[QueuedMessage]:
    """Convert the newest `MAX_MESSAGES` messages for the queue, without the middle of long ones."""
    found = []
    for place, message in enumerate(messages):
        who = "person" if isinstance(message, HumanMessage) else "assistant"
        seed = f"{place}:{who}:{message.text}"
        found.append(
            QueuedMessage(message.id or sha256(seed.encode()).hexdigest()[:16], who, _shorten(message.text))
        )
    return found[-MAX_MESSAGES:]


def _shorten(text: str) -> str:
    half = (MAX_MESSAGE_CHARACTERS - len(CUT)) // 2
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else f"{text[:half]}{CUT}{text[-half:]}"


def _is_memorable(message: BaseMessage) -> bool:
    if "lc_source" in message.additional_kwargs or not message.text.strip():
        return False
    if isinstance(message, AIMessage):
        return not message.tool_calls and not message.invalid_tool_calls
    return isinstance(message, HumanMessage)
