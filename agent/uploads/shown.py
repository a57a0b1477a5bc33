"""What the model sees of uploads: names always, small texts quoted, images where it can see.

A message of a person carries `additional_kwargs["files"]`: a list of `{filename, size, path}`. The stored
message stays as it is; only the copy for the model is filled in.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.config import get_config

from agent.errors import FileError
from agent.uploads.folders import UPLOADS, ThreadFolders
from agent.uploads.names import safe_name

Handler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
TEXT_BYTES = 16_384
IMAGE_BYTES = 5_000_000
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(frozen=True, slots=True)
class ShowLimits:
    """How much is shown in one call: `texts` in bytes over all files (newest first), `images` in number."""

    texts: int = 65_536
    images: int = 4
    vision: bool = False


@dataclass(slots=True)
class _Room:
    texts: int
    images: int


class ShowUploads(AgentMiddleware[Any, Any]):
    """Puts uploads of this thread into the messages that came with them."""

    def __init__(self, folders: ThreadFolders, limits: ShowLimits) -> None:
        super().__init__()
        self._folders = folders
        self._limits = limits

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model with the files in view."""
        if not any(_files(message) for message in request.messages):
            return await handler(request)
        thread_id = str(get_config().get("configurable", {}).get("thread_id", ""))
        shown = await asyncio.to_thread(
            with_uploads, request.messages, thread_id, self._folders, self._limits
        )
        return await handler(request.override(messages=shown))


def with_uploads(
    messages: Sequence[AnyMessage], thread_id: str, folders: ThreadFolders, limits: ShowLimits
) -> list[AnyMessage]:
    """The messages with their files, newest first until the limits are reached. Blocking."""
    room = _Room(limits.texts, limits.images if limits.vision else 0)
    shown = [_with_files(message, thread_id, folders, room) for message in reversed(messages)]
    return shown[::-1]


def _with_files(message: AnyMessage, thread_id: str, folders: ThreadFolders, room: _Room) -> AnyMessage:
    files = _files(message)
    if not files:
        return message
    lines: list[str] = []
    images: list[dict[str, Any]] = []
    for name in files:
        path = _located(folders, thread_id, name)
        if path is None:
            lines.append(f"- {name} (no longer there)")
            continue
        lines.append(f"- {name} ({path.stat().st_size} bytes)")
        if image := _image(path, room):
            images.append(image)
        elif text := _text(path, room):
            lines.append(_quoted(name, text))
    note = "Files that came with this message:\n" + "\n".join(lines)
    text = f"{message.text}\n\n{note}" if message.text else note
    content: Any = [{"type": "text", "text": text}, *images] if images else text
    return message.model_copy(update={"content": content})


def _files(message: AnyMessage) -> list[str]:
    listed = message.additional_kwargs.get("files") if isinstance(message, HumanMessage) else None
    if not isinstance(listed, list):
        return []
    names = [entry.get("filename") for entry in listed if isinstance(entry, dict)]
    return [safe_name(name) for name in names if isinstance(name, str) and name]


def _located(folders: ThreadFolders, thread_id: str, name: str) -> Path | None:
    try:
        return folders.find(thread_id, f"{UPLOADS}/{name}")
    except FileError:
        return None


def _image(path: Path, room: _Room) -> dict[str, Any] | None:
    kind = mimetypes.guess_type(path.name)[0]
    if kind not in IMAGE_TYPES or room.images <= 0 or path.stat().st_size > IMAGE_BYTES:
        return None
    room.images -= 1
    return {"type": "image", "base64": base64.b64encode(path.read_bytes()).decode(), "mime_type": kind}


def _text(path: Path, room: _Room) -> str | None:
    size = path.stat().st_size
    if size > min(TEXT_BYTES, room.texts) or not size:
        return None
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    if "\x00" in text:
        return None
    room.texts -= size
    return text


def _quoted(name: str, text: str) -> str:
    """The text as quoted content; a closing mark inside it can't end the quotation."""
    body = text.replace("</file", "<\\/file")
    return f'<file name="{name}">\n{body}\n</file>'
