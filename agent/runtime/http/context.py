"""What the routes share: the runtime's parts, and finding an assistant."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from langgraph.store.base import BaseStore
from starlette.requests import Request

from agent.errors import Invalid, NotFound
from agent.runtime.domain import Assistant, Clock
from agent.runtime.graphs import GraphRegistry
from agent.runtime.ids import assistant_uuid
from agent.runtime.manager import RunManager
from agent.runtime.saver import RuntimeSaver
from agent.runtime.settings import RuntimeSettings
from agent.runtime.states import ThreadStates
from agent.runtime.store import RuntimeStore


@dataclass(slots=True)
class Parts:
    """One running runtime."""

    settings: RuntimeSettings
    store: RuntimeStore
    saver: RuntimeSaver
    items: BaseStore
    graphs: GraphRegistry
    manager: RunManager
    states: ThreadStates
    clock: Clock
    known: dict[str, Assistant] = field(default_factory=dict)

    async def assistant(self, name: str) -> Assistant:
        """By graph name or id. Raises `NotFound`."""
        found = self.known.get(name)
        if found is None:
            found = await self._find(name)
        return found

    async def _find(self, name: str) -> Assistant:
        if name in self.graphs.names:
            self.known[name] = self.graphs.system_assistant(name)
            return self.known[name]
        try:
            wanted = str(UUID(name))
        except ValueError:
            raise NotFound(f"No graph or assistant named {name!r}") from None
        for graph_id in self.graphs.names:
            if assistant_uuid(graph_id) == wanted:
                self.known[wanted] = self.graphs.system_assistant(graph_id)
                return self.known[wanted]
        stored = await self.store.get_assistant(wanted)
        if stored is None:
            raise NotFound(f"Assistant {wanted} not found")
        return stored


def parts_of(request: Request) -> Parts:
    """The runtime that serves this request."""
    parts: Parts = request.app.state.parts
    return parts


def path_id(request: Request, name: str) -> str:
    """An id in the path. Raises `Invalid` when it is no UUID."""
    text: str = request.path_params[name]
    try:
        return str(UUID(text))
    except ValueError:
        raise Invalid(f"Invalid {name.replace('_', ' ')}: must be a UUID") from None
