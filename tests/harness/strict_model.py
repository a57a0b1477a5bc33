"""A scripted model that rejects what providers reject in tool results and images.

- A tool's result is text, and not empty (Anthropic: "text content blocks must be non-empty"; Mistral, Groq
  and DeepSeek take no other content in it).
- An image is in base64, of at most 5 MiB, of the type that is stated, whole, and within 8,000 pixels
  (platform.claude.com/docs/en/build-with-claude/vision).
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core import exceptions as lc
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from PIL import Image

from roebot_testing.agent import Script, ScriptedChatModel

FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WEBP"}
IMAGES = 8


class StrictModel(ScriptedChatModel):
    """Raises ModelInvalidRequestError as a provider would."""

    def _prepare_answer(
        self, messages: list[BaseMessage], kwargs: Mapping[str, Any], manager: BaseRunManager | None
    ) -> tuple[Script, list[ChatGenerationChunk]]:
        if problem := find_problem(messages):
            raise lc.ModelInvalidRequestError(problem)
        return super()._prepare_answer(messages, kwargs, manager)


def strict(*steps: Script) -> StrictModel:
    """A model that takes these steps."""
    return StrictModel(steps=steps, environ={})


def find_problem(messages: Sequence[BaseMessage]) -> str:
    """What is wrong with a request, "" for nothing."""
    for message in messages:
        if isinstance(message, ToolMessage) and not (
            isinstance(message.content, str) and message.content.strip()
        ):
            return f"messages: tool result {message.tool_call_id} is no text: {str(message.content)[:80]}"
    blocks = [block for message in messages for block in _blocks(message) if block.get("type") == "image"]
    if len(blocks) > IMAGES:
        return f"messages: {len(blocks)} images"
    return next(filter(None, map(_image_problem, blocks)), "")


def _blocks(message: BaseMessage) -> list[dict[str, Any]]:
    content = message.content if isinstance(message.content, list) else []
    return [block for block in content if isinstance(block, dict)]


def _image_problem(block: Mapping[str, Any]) -> str:
    data, kind = block.get("base64"), block.get("mime_type")
    if not isinstance(data, str) or len(data) > 5_242_880:
        return "image: no base64, or image exceeds 5 MB maximum"
    if kind not in FORMATS:
        return f"image: media_type {kind}"
    try:
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True)), formats=[FORMATS[kind]]) as image:
            image.load()
            return "image: too many pixels" if max(image.size) > 8_000 else ""
    except (OSError, ValueError, SyntaxError) as error:
        return f"image: Could not process image ({error})"
