"""The tool that shows an image to a vision model, and support for other tools to show images."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId
from langgraph.types import Command

from agent.core.interfaces import SandboxError
from agent.core.state import ViewedImage
from agent.tools.documented_tool import documented_tool
from agent.tools.image_check import image_type, without_damaged_extras
from agent.tools.missing_files import read_existing
from agent.tools.sandbox import current_sandbox
from agent.uploads.inline_images import IMAGE_BYTES

_shown: ContextVar[dict[str, ViewedImage] | None] = ContextVar("roebot_shown_images", default=None)


@documented_tool
async def view_image(path: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Look at an image that someone sent or a chart that you drew. You will see it in your next step.

    Args:
        path: A PNG, JPEG, GIF or WebP file in the sandbox.
    """
    content = await read_existing(current_sandbox(), path)
    if image_type(content) is None:
        raise SandboxError(f"{path} is not a PNG, JPEG, GIF or WebP image.")
    if len(content) > IMAGE_BYTES:
        raise SandboxError(
            f"{path} is larger than {IMAGE_BYTES / 1_000_000:.1f} MB; create a smaller copy of it."
        )
    message = ToolMessage(f"Opened {path}.", tool_call_id=tool_call_id, name="view_image")
    return Command(update={"messages": [message], "viewed_images": {path: _to_viewed(content)}})


@contextmanager
def collect_images() -> Iterator[dict[str, ViewedImage]]:
    """Collect the images shown by a tool call in this context, by path."""
    images: dict[str, ViewedImage] = {}
    token = _shown.set(images)
    try:
        yield images
    finally:
        _shown.reset(token)


def show_image(path: str, content: bytes) -> bool:
    """Show the model an image in its next step; return False for a model without vision.

    `content` has passed `agent.tools.image_check.find_image_problem`.
    """
    images = _shown.get()
    if images is None:
        return False
    images[path] = _to_viewed(content)
    return True


def _to_viewed(content: bytes) -> ViewedImage:
    shown = without_damaged_extras(content)
    return ViewedImage(base64=base64.b64encode(shown).decode(), mime_type=image_type(content) or "")


view_image.metadata = {"idempotent": True}
