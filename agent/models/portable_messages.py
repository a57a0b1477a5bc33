"""Reduction of a conversation to content that every model accepts: texts, and tool calls with their
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agent.models.capabilities import without_images


def to_portable(messages: Sequence[AnyMessage], count: int | None = None) -> list[AnyMessage] | None:
    """Return the messages without provider-specific reasoning, blocks and ids; None if nothing changes.

    With `count` only that many of the oldest messages are changed. Images stay in the last human
    message, since the person has to know that they are a problem.
    """
    last = max((at for at, one in enumerate(messages) if isinstance(one, HumanMessage)), default=0)
    end = len(messages) if count is None else count
    portable = [_to_portable(one, is_past=at < last) for at, one in enumerate(messages[:end])]
    portable += messages[end:]
    is_same = all(new is old for new, old in zip(portable, messages, strict=True))
    return None if is_same else portable


def _to_portable(message: AnyMessage, *, is_past: bool) -> AnyMessage:
    if isinstance(message, AIMessage):
        return _plain_answer(message)
    if isinstance(message, ToolMessage) and isinstance(message.content, list):
        return message.model_copy(update={"content": str(without_images(message).text)})
    return without_images(message) if is_past and isinstance(message, HumanMessage) else message


def _plain_answer(message: AIMessage) -> AIMessage:
    extra: dict[str, Any] = message.additional_kwargs
    if isinstance(message.content, str) and not any(extra.values()):
        return message
    return message.model_copy(
        update={"content": str(message.text), "additional_kwargs": {}, "response_metadata": {}}
    )
