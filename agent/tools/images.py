"""Tool that shows an image to a model with vision."""

from __future__ import annotations

import base64
from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command

from agent.core.interfaces import SandboxError
from agent.core.state import ViewedImage
from agent.tools.sandbox import current_sandbox

IMAGE_BYTES = 5_000_000
"""Limit of the providers."""


@tool
async def view_image(path: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Look at an image that someone sent or a chart that you drew. You will see it in your next step.

    Args:
        path: A PNG, JPEG, GIF or WebP file in the sandbox.
    """
    content = await current_sandbox().read_file(path)
    mime_type = image_type(content)
    if mime_type is None:
        raise SandboxError(f"{path} is not a PNG, JPEG, GIF or WebP image.")
    if len(content) > IMAGE_BYTES:
        raise SandboxError(
            f"{path} is larger than {IMAGE_BYTES // 1_000_000} MB; create a smaller copy of it."
        )
    image = ViewedImage(base64=base64.b64encode(content).decode(), mime_type=mime_type)
    message = ToolMessage(f"Opened {path}.", tool_call_id=tool_call_id, name="view_image")
    return Command(update={"messages": [message], "viewed_images": {path: image}})


def image_type(content: bytes) -> str | None:
    """Detect the media type of an image by its first bytes, None for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return "image/webp"
    return None


view_image.metadata = {"idempotent": True}
