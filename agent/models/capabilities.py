"""Adaptation of requests to models with fewer capabilities: context size, vision, tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from agent.core.model_request import Handler, Request, Response, change_request
from agent.errors import ModelUnavailable
from agent.models.resolve import get_model_name
from agent.models.spec import ModelSpec
from agent.uploads.inline_images import list_file_names

MESSAGE_TOKENS = 8
CUT_MARK = " […] "


class ContextWindow(AgentMiddleware[Any, Any]):
    """Shows the model the newest messages that fit `tokens`, including the system prompt."""

    def __init__(self, *, tokens: int) -> None:
        super().__init__()
        self._tokens = tokens

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        system = request.system_message
        room = self._tokens - (_message_tokens(system) if system is not None else 0)
        return await handler(change_request(request, messages=fit_messages(request.messages, room)))


def fit_messages(messages: Sequence[AnyMessage], tokens: int) -> list[AnyMessage]:
    """Return the newest messages within `tokens`, starting with a human message.

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
    """Estimate tokens conservatively: one per 3 ASCII characters, 3 per other character."""
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


OMITTED_IMAGE = "(an image, which this model can't see)"
_IMAGE_BLOCKS = frozenset({"image", "image_url", "input_image"})
_IMAGE_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class WithoutVision(AgentMiddleware[Any, Any]):
    """Replaces images with a note for a model without vision.

    With `strict`, an image that was not answered yet raises ModelUnavailable instead.
    """

    def __init__(self, *, model_name: str, strict: bool = False) -> None:
        super().__init__()
        self._model_name = model_name
        self._strict = strict

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        if self._strict and _has_new_images(request.messages):
            raise ModelUnavailable(f'The model "{self._model_name}" does not support images.')
        if any(_shows_images(message) for message in request.messages):
            request = change_request(
                request, messages=[without_images(message) for message in request.messages]
            )
        return await handler(request)


def without_images(message: AnyMessage) -> AnyMessage:
    if not _shows_images(message):
        return message
    content = [
        {"type": "text", "text": OMITTED_IMAGE} if _is_image(block) else block for block in message.content
    ]
    return message.model_copy(update={"content": content})


def _has_new_images(messages: Sequence[AnyMessage]) -> bool:
    """Return whether there are images after the last answer."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return False
        brought = (name for name in list_file_names(message) if name.lower().endswith(_IMAGE_ENDINGS))
        if _shows_images(message) or any(brought):
            return True
    return False


def _shows_images(message: AnyMessage) -> bool:
    return isinstance(message.content, list) and any(map(_is_image, message.content))


def _is_image(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _IMAGE_BLOCKS


class WithoutTools(AgentMiddleware[Any, Any]):
    """Removes the tools from a request."""

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        return await handler(change_request(request, tools=[]))


class FallbackCapabilities(AgentMiddleware[Any, Any]):
    """Adapts each request to its fallback model, by the model's configured name."""

    def __init__(self, specs: Iterable[ModelSpec], *, strict: bool = False) -> None:
        super().__init__()
        self._around = {
            spec.name: [
                *capability_middleware(spec, strict=strict),
                *([] if spec.supports_tools else [WithoutTools()]),
            ]
            for spec in specs
        }

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        for one in reversed(self._around.get(get_model_name(request.model) or "", [])):
            handler = partial(one.awrap_model_call, handler=handler)
        return await handler(request)


def capability_middleware(spec: ModelSpec, *, strict: bool) -> list[AgentMiddleware[Any, Any]]:
    """Return the middleware that adapts messages to the model, outermost first.

    With `strict`, new images are an error for a model without vision.
    """
    chain: list[AgentMiddleware[Any, Any]] = []
    if not spec.supports_vision:
        chain.append(WithoutVision(model_name=spec.name, strict=strict))
    if spec.context_tokens is not None:
        chain.append(ContextWindow(tokens=spec.context_tokens))
    return chain
