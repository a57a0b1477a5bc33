"""Store the paths of a thread's folders in its state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langgraph.runtime import Runtime

from agent.core.interfaces import ThreadFileStore
from agent.core.run_context import RunContext
from agent.core.state import ThreadState
from agent.uploads.folders import ThreadFolders
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
