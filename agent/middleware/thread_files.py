"""A thread's files in a run: folder paths, new uploads, and images opened by a tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from agent.core.interfaces import ThreadFileStore
from agent.core.model_request import (
    AnyResponse,
    Handler,
    Request,
    change_request,
    is_from_person,
    with_note,
)
from agent.core.run_context import RunContext
from agent.core.state import ThreadState, UploadedFile, ViewedImage
from agent.errors import ModelCallFailed
from agent.middleware.model_response import messages_since_user, with_update
from agent.middleware.tool_calls import Result, ToolHandler
from agent.models.failure_texts import Category
from agent.shared.run_identity import NOTE_SOURCE
from agent.tools.images import collect_images, view_image
from agent.uploads.folders import ThreadFolders
from agent.uploads.inline_images import NEW, ShowLimits, ShowUploads, list_file_names
from agent.uploads.store import UploadStore as LocalUploadStore

log = structlog.get_logger(__name__)
HOME = Path(".roebot")
SOURCE = "view_image"
MAX_IMAGES, MAX_IMAGE_CHARACTERS = 8, 20_000_000
"""Limits of one call; the strictest providers take 8 images and 32 MB."""
LEFT_OUT = "Not shown, because these are too many images for one step: {paths}. Open them with view_image."
REJECTED = "The images {paths} could not be shown: the model's provider rejected them."
_REJECTED = frozenset({Category.INVALID_REQUEST, Category.CONTEXT})


class ThreadDataMiddleware(AgentMiddleware[Any, Any]):
    """Writes `thread_data`: the host paths of the thread's workspace, uploads and outputs.

    The first writer creates the folders. Without a thread there is nothing to write. Hook: `wrap_model_call`;
    inner middleware finds the paths in the request's state, tools after the answer is stored with them.
    """

    state_schema = ThreadState

    def __init__(self, *, store: ThreadFileStore | None = None) -> None:
        """`store` defaults to the one under `.roebot`."""
        super().__init__()
        self._store = store or default_store()

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        thread_id = RunContext.of(request.runtime).thread_id
        paths = None if thread_id is None else self._store.folders(thread_id)
        known: Mapping[str, Any] = request.state
        if paths is None or known.get("thread_data") == paths:
            return await handler(request)
        state: Any = {**known, "thread_data": paths}
        response = await handler(change_request(request, state=state))
        return with_update(response, thread_data=paths)


def default_store() -> LocalUploadStore:
    """Return the store under `.roebot` in the current directory."""
    return LocalUploadStore(ThreadFolders(HOME))


class UploadsMiddleware(ShowUploads):
    """Announces files that have arrived since the last turn and shows them to the model.

    The last human message lists the files that no message has listed yet, once; `uploaded_files` records the
    known ones. Files that the bot sends with a message are already listed there. Hook: `wrap_model_call`,
    around everything that reads messages; the first call of a turn looks for new files, inner middleware
    finds them in the request's state, and the list is stored with the answer. A failed call announces them
    again. Names, small texts and images are never stored.
    """

    state_schema = ThreadState

    def __init__(self, *, store: ThreadFileStore | None = None, limits: ShowLimits | None = None) -> None:
        """`store` defaults to the one under `.roebot`."""
        super().__init__(store or default_store(), limits or ShowLimits())

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        update = await self._find_new_files(request)
        if update is None:
            return await handler(await self._add_uploads(request))
        told = {message.id: message for message in update.get("messages", ())}
        stored = [told.get(message.id, message) for message in request.state["messages"]]
        messages = [told.get(message.id, message) for message in request.messages]
        state: Any = {**request.state, **update, "messages": stored}
        announcing = change_request(request, messages=messages, state=state)
        return with_update(await handler(await self._add_uploads(announcing)), **update)

    async def _find_new_files(self, request: Request) -> dict[str, Any] | None:
        """Return the state update for new files; None if there are none or the turn has already been
        checked.
        """
        thread_id = RunContext.of(request.runtime).thread_id
        state: Mapping[str, Any] = request.state
        message = next(filter(is_from_person, reversed(state["messages"])), None)
        if thread_id is None or message is None or messages_since_user(state["messages"]):
            return None
        uploads = await self._store.list_uploads(thread_id)
        now = [UploadedFile(filename=u.filename, size=u.size, path=u.path) for u in uploads]
        known = state.get("uploaded_files") or []
        if now == known:
            return None
        told = {name for earlier in state["messages"] for name in list_file_names(earlier)}
        new = [file for file in now if file not in known and file["filename"] not in told]
        update: dict[str, Any] = {"uploaded_files": now}
        if new:
            kwargs = {**message.additional_kwargs, NEW: new}
            update["messages"] = [message.model_copy(update={"additional_kwargs": kwargs})]
        return update


class ViewImageMiddleware(AgentMiddleware[Any, Any]):
    """Puts `viewed_images` into the next model call, then clears them; brings the tool that opens them.

    For models with vision. Images are shown once and never stored as a message, since an image in the history
    would cost tokens in every call. Any tool inside this middleware can show images
    (`agent.tools.images.show_image`). If the provider rejects a call with images, it is made again without
    them, so that they can't block the thread. Hooks: `wrap_model_call` and `wrap_tool_call`; images are
    cleared together with the answer, so a call that fails otherwise shows them again.
    """

    state_schema = ThreadState

    def __init__(self, *, tools: Sequence[BaseTool] = (view_image,)) -> None:
        super().__init__()
        self.tools = list(tools)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: ToolHandler) -> Result:
        with collect_images() as images:
            result = await handler(request)
        if not images:
            return result
        if isinstance(result, ToolMessage):
            return Command(update={"messages": [result], "viewed_images": images})
        update = result.update if isinstance(result.update, dict) else {}
        shown = {**images, **(update.get("viewed_images") or {})}
        changed: Command[Any] = replace(result, update={**update, "viewed_images": shown})
        return changed

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        state: Mapping[str, Any] = request.state
        images: Mapping[str, ViewedImage] = state.get("viewed_images") or {}
        if not images:
            return await handler(request)
        try:
            messages = [*request.messages, render_images(images)]
            response = await handler(change_request(request, messages=messages))
        except ModelCallFailed as error:
            if error.category not in _REJECTED:
                raise
            log.warning("images_rejected", images=len(images), category=error.category)
            note = REJECTED.format(paths=", ".join(images))
            response = await handler(with_note(request, note, SOURCE))
        return with_update(response, viewed_images={})


def render_images(images: Mapping[str, ViewedImage]) -> HumanMessage:
    """Return a message with the images, each after its path; images beyond the limits are only listed."""
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": "The images that you opened:"}]
    room = MAX_IMAGE_CHARACTERS
    left_out: list[str] = []
    for number, (path, image) in enumerate(images.items()):
        room -= len(image["base64"])
        if number >= MAX_IMAGES or room < 0:
            left_out.append(path)
            continue
        blocks.append({"type": "text", "text": path})
        blocks.append({"type": "image", "base64": image["base64"], "mime_type": image["mime_type"]})
    if left_out:
        blocks.append({"type": "text", "text": LEFT_OUT.format(paths=", ".join(left_out))})
    return HumanMessage(blocks, additional_kwargs={NOTE_SOURCE: SOURCE})
