"""The part of a conversation that is worth remembering: what people wrote, and the final answers."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage


def worth_remembering(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Without tool calls, their results, and what middleware put in."""
    return [message for message in messages if _counts(message)]


def _counts(message: BaseMessage) -> bool:
    if "lc_source" in message.additional_kwargs or not message.text.strip():
        return False
    if isinstance(message, AIMessage):
        return not message.tool_calls and not message.invalid_tool_calls
    return isinstance(message, HumanMessage)
