"""A thread's files in a run: the paths of its folders, new uploads, and images that a tool opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from agent.core.interfaces import ThreadFileStore
from agent.core.run_context import RunContext
from agent.core.state import ThreadState, UploadedFile, ViewedImage
from agent.middleware.model_response import Handler, Request, Response, messages_since_user, with_update
from agent.tools.images import view_image
from agent.uploads.folders import ThreadFolders
from agent.uploads.inline_images import NEW, ShowLimits, ShowUploads, list_file_names
from agent.uploads.store import UploadStore as LocalUploadStore

HOME = Path(".roebot")


class ThreadDataMiddleware(AgentMiddleware[Any, Any]):
    """Writes `thread_data`: the host paths of the thread's workspace, uploads and outputs.

    The first writer creates the folders. Without a thread there is nothing to write. Hook: `before_agent`,
    since later middleware and tools read the state; it writes only changes.
    """

    state_schema = ThreadState

    def __init__(self, *, store: ThreadFileStore | None = None) -> None:
        """`store` defaults to the one under `.roebot`."""
        super().__init__()
        self._store = store or default_store()

    async def abefore_agent(self, state: ThreadState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Write the paths."""
        thread_id = RunContext.of(runtime).thread_id
        if thread_id is None:
            return None
        paths = self._store.folders(thread_id)
        return None if state.get("thread_data") == paths else {"thread_data": paths}


def default_store() -> LocalUploadStore:
    """Return the store under `.roebot` in the current directory."""
    return LocalUploadStore(ThreadFolders(HOME))


class UploadsMiddleware(ShowUploads):
    """Announces files that arrived since the last turn and shows them to the model.

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

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with the files in view and new ones announced."""
        update = await self._find_new_files(request)
        if update is None:
            return await handler(await self._add_uploads(request))
        told = {message.id: message for message in update.get("messages", ())}
        stored = [told.get(message.id, message) for message in request.state["messages"]]
        messages = [told.get(message.id, message) for message in request.messages]
        state: Any = {**request.state, **update, "messages": stored}
        announcing = request.override(messages=messages, state=state)
        return with_update(await handler(await self._add_uploads(announcing)), **update)

    async def _find_new_files(self, request: Request) -> dict[str, Any] | None:
        """Return the state update for new files; None if there are none or the turn was checked before."""
        thread_id = RunContext.of(request.runtime).thread_id
        state: Mapping[str, Any] = request.state
        message = _last_user_message(state["messages"])
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


def _last_user_message(messages: Sequence[AnyMessage]) -> HumanMessage | None:
    people = (message for message in reversed(messages) if isinstance(message, HumanMessage))
    return next((message for message in people if "lc_source" not in message.additional_kwargs), None)


class ViewImageMiddleware(AgentMiddleware[Any, Any]):
    """Puts `viewed_images` into the next model call, then clears them; brings the tool that opens them.

    For models with vision. Images are shown once and never stored as a message, since an image in the history
    would cost tokens in every call. Hook: `wrap_model_call`; they are cleared together with the answer, so a
    failed call shows them again.
    """

    state_schema = ThreadState

    def __init__(self, *, tools: Sequence[BaseTool] = (view_image,)) -> None:
        super().__init__()
        self.tools = list(tools)

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with the images at the end."""
        state: Mapping[str, Any] = request.state
        images: Mapping[str, ViewedImage] = state.get("viewed_images") or {}
        if not images:
            return await handler(request)
        response = await handler(request.override(messages=[*request.messages, render_images(images)]))
        return with_update(response, viewed_images={})


def render_images(images: Mapping[str, ViewedImage]) -> HumanMessage:
    """Return a message with the images, each after its path."""
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": "The images that you opened:"}]
    for path, image in images.items():
        blocks.append({"type": "text", "text": path})
        blocks.append({"type": "image", "base64": image["base64"], "mime_type": image["mime_type"]})
    return HumanMessage(content=blocks, additional_kwargs={"lc_source": "view_image"})
