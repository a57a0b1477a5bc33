"""Says where a thread's folders are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langgraph.runtime import Runtime

from agent.core.interfaces.uploads import ThreadFileStore
from agent.core.run_context import RunContext
from agent.core.state import ThreadState
from agent.uploads.folders import ThreadFolders
from agent.uploads.store import UploadStore as LocalUploadStore

HOME = Path(".roebot")


class ThreadDataMiddleware(AgentMiddleware[Any, Any]):
    """Writes `thread_data`: the host paths of the thread's workspace, uploads and outputs.

    The folders are made by whoever writes into them first. Without a thread there is nothing to write.
    Hook: `before_agent`, since middleware and tools after it read the state; it writes only what changed.
    """

    state_schema = ThreadState

    def __init__(self, *, store: ThreadFileStore | None = None) -> None:
        """`store` is the one of the folder `.roebot` otherwise."""
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
    """The files below `.roebot` in the current folder."""
    return LocalUploadStore(ThreadFolders(HOME))
