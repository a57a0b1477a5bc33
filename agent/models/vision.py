"""Handle images for models without vision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage

from agent.errors import ModelUnavailable
from agent.uploads.inline_images import listed_in

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
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

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model without images."""
        if self._strict and _has_new_images(request.messages):
            raise ModelUnavailable(f'The model "{self._model_name}" does not support images.')
        if any(_shows_images(message) for message in request.messages):
            request = request.override(messages=[without_images(message) for message in request.messages])
        return await handler(request)


def without_images(message: AnyMessage) -> AnyMessage:
    """Return the message with a note for each image."""
    if not _shows_images(message):
        return message
    content = [
        {"type": "text", "text": OMITTED_IMAGE} if _is_image(block) else block for block in message.content
    ]
    return message.model_copy(update={"content": content})


def _has_new_images(messages: Sequence[AnyMessage]) -> bool:
    """Return whether there are images since the last answer."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return False
        if _shows_images(message) or _brings_images(message):
            return True
    return False


def _shows_images(message: AnyMessage) -> bool:
    return isinstance(message.content, list) and any(map(_is_image, message.content))


def _is_image(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _IMAGE_BLOCKS


def _brings_images(message: AnyMessage) -> bool:
    """Return whether the message lists an image among its files."""
    return any(name.lower().endswith(_IMAGE_ENDINGS) for name in listed_in(message))
