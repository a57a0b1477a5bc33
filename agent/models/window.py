"""Cut a conversation to a small context window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
MESSAGE_TOKENS = 8
CUT_MARK = " […] "


class ContextWindow(AgentMiddleware[Any, Any]):
    """Shows the model the newest messages that fit `tokens`, including the system prompt."""

    def __init__(self, *, tokens: int) -> None:
        super().__init__()
        self._tokens = tokens

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model with the messages that fit."""
        system = request.system_message
        room = self._tokens - (_message_tokens(system) if system is not None else 0)
        return await handler(request.override(messages=fit_messages(request.messages, room)))


def fit_messages(messages: Sequence[AnyMessage], tokens: int) -> list[AnyMessage]:
    """Return the newest messages within `tokens`, starting with a human one.

    If not even the last one fits, it is cut.
    """
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
    """Estimate tokens on the high side: one per 3 ASCII characters, 3 for any other character."""
    ascii_characters = sum(character.isascii() for character in text)
    return (ascii_characters + 2) // 3 + 3 * (len(text) - ascii_characters)


def _message_tokens(message: AnyMessage | SystemMessage) -> int:
    return MESSAGE_TOKENS + estimate_tokens(message.text)


def _shorten_message(message: AnyMessage, tokens: int) -> AnyMessage:
    """Return the message with the middle of its text removed until it fits."""
    text = str(message.text)
    keep = len(text)
    shorter = text
    while keep > 0 and estimate_tokens(shorter) > tokens:
        keep = keep * 3 // 4
        head = (keep + 1) // 2
        shorter = text[:head] + CUT_MARK + text[len(text) - (keep - head) :]
    return message.model_copy(update={"content": shorter})
