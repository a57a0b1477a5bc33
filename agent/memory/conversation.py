"""The part of a conversation that is worth remembering: what people wrote, and the final answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from agent.core.interfaces import MemoryScope
from agent.memory.queued_exchange import Said

SENDER = "sender"
"""In a message's `additional_kwargs`: who wrote it, as `platform:id`."""
LONGEST, MOST = 4_000, 60
CUT = " […] "


def worth_remembering(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Without tool calls, their results, and what middleware put in."""
    return [message for message in messages if _counts(message)]


def own_words(messages: Iterable[BaseMessage], scope: MemoryScope) -> list[BaseMessage]:
    """What may enter the scope's memory: of a person nothing that others wrote, nor the answers to that."""
    if scope.kind != "person":
        return list(messages)
    kept, is_own = [], True
    for message in messages:
        if isinstance(message, HumanMessage):
            is_own = message.additional_kwargs.get(SENDER, scope.key) == scope.key
        if is_own:
            kept.append(message)
    return kept


def said(messages: Sequence[BaseMessage]) -> list[Said]:
    """The newest messages as they are queued: long ones without their middle, at most `MOST`."""
    found = []
    for place, message in enumerate(messages):
        who = "person" if isinstance(message, HumanMessage) else "assistant"
        seed = f"{place}:{who}:{message.text}"
        found.append(Said(message.id or sha256(seed.encode()).hexdigest()[:16], who, _short(message.text)))
    return found[-MOST:]


def _short(text: str) -> str:
    half = (LONGEST - len(CUT)) // 2
    return text if len(text) <= LONGEST else f"{text[:half]}{CUT}{text[-half:]}"


def _counts(message: BaseMessage) -> bool:
    if "lc_source" in message.additional_kwargs or not message.text.strip():
        return False
    if isinstance(message, AIMessage):
        return not message.tool_calls and not message.invalid_tool_calls
    return isinstance(message, HumanMessage)
