"""Uploads shown to the model: names, small texts, images if supported, and outlines of documents.

A human message has `additional_kwargs["files"]`, the files sent with it, and `["new_files"]`, other new files
of the thread: lists of `{filename, size, path}`. Only the copy of the message for the model is changed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AnyMessage, HumanMessage

from agent.core.interfaces import ThreadFileStore
from agent.core.model_request import AnyResponse, Handler, Request, change_request
from agent.core.paths import safe_name
from agent.core.run_context import RunContext
from agent.core.schemas import UploadInfo
from agent.uploads.document_facts import count_lines, describe_document, quote_file

TEXT_BYTES = 16_384
IMAGE_BYTES = 3_932_160
"""Largest image for a model: Anthropic takes 5 MiB (5,242,880 bytes) of base64, which is a third longer."""
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
CAME, NEW = "files", "new_files"
_NOTES = {CAME: "Files sent with this message:", NEW: "New files in this conversation:"}


@dataclass(frozen=True, slots=True)
class ShowLimits:
    """Limits of a model call: bytes of `texts` of all files (newest first), and number of `images`."""

    texts: int = 65_536
    images: int = 4
    vision: bool = False


@dataclass(slots=True)
class _Room:
    texts: int
    images: int
    vision: bool


class ShowUploads(AgentMiddleware[Any, Any]):
    """Adds the thread's uploads to the messages that list them."""

    def __init__(self, store: ThreadFileStore, limits: ShowLimits) -> None:
        super().__init__()
        self._store = store
        self._limits = limits

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        return await handler(await self._add_uploads(request))

    async def _add_uploads(self, request: Request) -> Request:
        thread_id = RunContext.of(request.runtime).thread_id
        if thread_id is None or not any(list_file_names(message) for message in request.messages):
            return request
        shown = await with_uploads(request.messages, thread_id, self._store, self._limits)
        return change_request(request, messages=shown)


def list_file_names(message: AnyMessage) -> list[str]:
    """Return the names of a message's files, starting with those sent with it."""
    return [name for key in _NOTES for name in _names(message, key)]


async def with_uploads(
    messages: Sequence[AnyMessage], thread_id: str, store: ThreadFileStore, limits: ShowLimits
) -> list[AnyMessage]:
    """Add files to the messages, including the newest files' content within the limits."""
    uploads = {upload.filename: upload for upload in await store.list_uploads(thread_id)}
    start = find_first_shown([_measure(message, uploads, limits) for message in messages], limits)
    room = _Room(limits.texts, limits.images if limits.vision else 0, limits.vision)
    newer = _UploadRenderer(thread_id, store, uploads, room)
    older = _UploadRenderer(thread_id, store, uploads, _Room(0, 0, limits.vision))
    shown = [await newer.add_files(message) for message in reversed(messages[start:])][::-1]
    return [*[await older.add_files(message) for message in messages[:start]], *shown]


def find_first_shown(costs: Sequence[tuple[int, int]], limits: ShowLimits) -> int:
    """Return the position of the first message whose files are shown with content.

    `costs` are the bytes of text and the images of each message. When the limits are exceeded, content leaves
    in steps of a quarter of them: what is shown of older messages changes rarely, and each change costs the
    rest of the conversation its place in the provider's cache.
    """
    start = texts = images = 0
    for at, (text, pictures) in enumerate(costs):
        texts, images = texts + text, images + pictures
        if texts <= limits.texts and images <= limits.images:
            continue
        start, texts, images = at, text, pictures
        while start > 0:
            more, further = costs[start - 1]
            if (texts + more) * 4 > limits.texts * 3 or (images + further) * 4 > limits.images * 3:
                break
            start, texts, images = start - 1, texts + more, images + further
    return start


def _measure(message: AnyMessage, uploads: Mapping[str, UploadInfo], limits: ShowLimits) -> tuple[int, int]:
    """Return the bytes of text and the number of images that a message's files would add."""
    texts = images = 0
    for upload in (uploads[name] for name in list_file_names(message) if name in uploads):
        if upload.markdown is not None:
            size, pictures = upload.markdown.size, len(upload.markdown.pictures)
        else:
            size, pictures = upload.size, int(upload.mime_type in IMAGE_TYPES)
        texts += size if size <= TEXT_BYTES and (upload.markdown or not pictures) else 0
        images += min(pictures, limits.images) if limits.vision else 0
    return texts, images


@dataclass(frozen=True, slots=True)
class _UploadRenderer:
    """Renders uploads for one model call; `room` is the remainder of the limits."""

    thread_id: str
    store: ThreadFileStore
    uploads: Mapping[str, UploadInfo]
    room: _Room

    async def add_files(self, message: AnyMessage) -> AnyMessage:
        notes: list[str] = []
        images: list[dict[str, Any]] = []
        for key, title in _NOTES.items():
            if names := _names(message, key):
                lines = await self._lines(names, images)
                notes.append("\n".join([title, *lines]))
        if not notes:
            return message
        text = "\n\n".join(filter(None, [message.text, *notes]))
        content: Any = [{"type": "text", "text": text}, *_images_of(message), *images]
        return message.model_copy(update={"content": content if len(content) > 1 else text})

    async def _lines(self, names: Iterable[str], images: list[dict[str, Any]]) -> list[str]:
        lines: list[str] = []
        for name in names:
            upload = self.uploads.get(name)
            if upload is None:
                lines.append(f"- {name} (no longer available)")
                continue
            lines.append(f"- {upload.path} ({upload.size:,} bytes)")
            if (made := upload.markdown) is not None:
                text = await self._text(PurePosixPath(made.path).name, made.size) if made.path else None
                lines += describe_document(name, made, text)
                lines += await self._pictures(made.pictures, images)
            elif image := await self._image(upload):
                images.append(image)
            elif text := await self._text(name, upload.size):
                lines[-1] = f"- {upload.path} ({upload.size:,} bytes, {count_lines(text)})"
                lines.append(quote_file(name, text))
        return lines

    async def _pictures(self, paths: Sequence[str], images: list[dict[str, Any]]) -> list[str]:
        """Add a document's first images, each after its path, and return the lines about all of them."""
        if not paths:
            return []
        if not self.room.vision:
            return [f"  It also contains pictures ({len(paths)}), which you can't see."]
        shown = 0
        for path in paths:
            image = await self._read_image(PurePosixPath(path).name, "image/jpeg")
            if image is None:
                break
            images += [{"type": "text", "text": path}, image]
            shown += 1
        lines = [f"  Pictures in it, shown below: {', '.join(paths[:shown])}"] if shown else []
        if rest := paths[shown:]:
            lines.append(f"  Pictures in it that you can open with view_image: {', '.join(rest)}")
        return lines

    async def _image(self, upload: UploadInfo) -> dict[str, Any] | None:
        if upload.mime_type not in IMAGE_TYPES:
            return None
        return await self._read_image(upload.filename, upload.mime_type)

    async def _read_image(self, name: str, mime_type: str) -> dict[str, Any] | None:
        if self.room.images <= 0:
            return None
        content = await self.store.read(self.thread_id, name, limit=IMAGE_BYTES)
        if content is None:
            return None
        self.room.images -= 1
        encoded = base64.b64encode(content).decode()
        return {"type": "image", "base64": encoded, "mime_type": mime_type}

    async def _text(self, name: str, size: int) -> str | None:
        limit = min(TEXT_BYTES, self.room.texts)
        if size > limit or not size:
            return None
        content = await self.store.read(self.thread_id, name, limit=limit)
        try:
            text = (content or b"").decode()
        except UnicodeDecodeError:
            return None
        if "\x00" in text:
            return None
        self.room.texts -= size
        return text


def _names(message: AnyMessage, key: str) -> list[str]:
    listed = message.additional_kwargs.get(key) if isinstance(message, HumanMessage) else None
    if not isinstance(listed, list):
        return []
    names = [entry.get("filename") for entry in listed if isinstance(entry, dict)]
    return [safe_name(name) for name in names if isinstance(name, str) and name]


def _images_of(message: AnyMessage) -> list[Any]:
    if isinstance(message.content, str):
        return []
    return [block for block in message.content if isinstance(block, dict) and block.get("type") != "text"]
