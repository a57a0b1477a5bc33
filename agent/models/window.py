"""Cuts a conversation to a small context window, so that a long one keeps working."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
MESSAGE_TOKENS = 8
CUT_MARK = " […] "


class ContextWindow(AgentMiddleware[Any, Any]):
    """Shows the model the newest messages that fit `tokens`, the system prompt included."""

    def __init__(self, *, tokens: int) -> None:
        super().__init__()
        self._tokens = tokens

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model with what fits."""
        system = request.system_message
        room = self._tokens - (_message_tokens(system) if system is not None else 0)
        return await handler(request.override(messages=fit_messages(request.messages, room)))


def fit_messages(messages: Sequence[AnyMessage], tokens: int) -> list[AnyMessage]:
    """The newest messages within `tokens`, from a human one on; the last is cut rather than left out."""
    kept: list[AnyMessage] = []
    left = tokens
    for message in reversed(messages):
        cost = _message_tokens(message)
        if cost > left:
            break
        kept.insert(0, message)
        left -= cost
    while len(kept) > 1 and not isinstance(kept[0], HumanMessage):
        kept.pop(0)
    if not kept and messages:
        kept = [_shorten_message(messages[-1], tokens - MESSAGE_TOKENS)]
    return kept


def estimate_tokens(text: str) -> int:
    """Tokens of a text, rather too many than too few: one for 3 ASCII characters, 3 for any other."""
    ascii_characters = sum(character.isascii() for character in text)
    return (ascii_characters + 2) // 3 + 3 * (len(text) - ascii_characters)


def _message_tokens(message: AnyMessage | SystemMessage) -> int:
    return MESSAGE_TOKENS + estimate_tokens(message.text)


def _shorten_message(message: AnyMessage, tokens: int) -> AnyMessage:
    """The message with the middle of its text taken out until it fits."""
    text = str(message.text)
    keep = len(text)
    shorter = text
    while keep > 0 and estimate_tokens(shorter) > tokens:
        keep = keep * 3 // 4
        head = (keep + 1) // 2
        shorter = text[:head] + CUT_MARK + text[len(text) - (keep - head) :]
    return message.model_copy(update={"content": shorter})
