"""Tells the agent of new files in its thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from agent.context import RunContext
from agent.middleware.thread_data import default_store
from agent.ports.uploads import UploadStore
from agent.state import ThreadState, UploadedFile
from agent.uploads.shown import NEW, ShowLimits, ShowUploads, listed_in


class UploadsMiddleware(ShowUploads):
    """Announces files that came since the last turn, and shows them to the model.

    The last message of a person lists what no message has listed yet, once; `uploaded_files` says what is
    known. Files that the bot sends with a message are listed there already. Hooks: `before_agent`, since the
    list has to be in the state before any model or summary sees the message (it writes only what changed);
    `wrap_model_call` for names, small texts and images, which are never stored.
    """

    state_schema = ThreadState

    def __init__(self, *, store: UploadStore | None = None, limits: ShowLimits | None = None) -> None:
        """`store` is the one of the folder `.roebot` otherwise."""
        super().__init__(store or default_store(), limits or ShowLimits())

    async def abefore_agent(self, state: ThreadState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Announce what is new."""
        thread_id = RunContext.of(runtime).thread_id
        if thread_id is None:
            return None
        uploads = await self._store.listed(thread_id)
        now = [UploadedFile(filename=u.filename, size=u.size, path=u.path) for u in uploads]
        known = state.get("uploaded_files") or []
        if now == known:
            return None
        message = _last_of_a_person(state["messages"])
        if message is None:
            return None
        told = {name for earlier in state["messages"] for name in listed_in(earlier)}
        new = [file for file in now if file not in known and file["filename"] not in told]
        update: dict[str, Any] = {"uploaded_files": now}
        if new:
            kwargs = {**message.additional_kwargs, NEW: new}
            update["messages"] = [message.model_copy(update={"additional_kwargs": kwargs})]
        return update


def _last_of_a_person(messages: Sequence[AnyMessage]) -> HumanMessage | None:
    people = (message for message in reversed(messages) if isinstance(message, HumanMessage))
    return next((message for message in people if "lc_source" not in message.additional_kwargs), None)
