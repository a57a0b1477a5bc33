"""Reading and changing a thread's state through its graph."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.errors import InvalidUpdateError
from langgraph.types import StateSnapshot, StateUpdate

from agent.errors import BadRequest, Conflict, Invalid, NotFound
from agent.runtime.domain import INFLIGHT, Clock, Json, Thread, ThreadStatus
from agent.runtime.encode import dumps
from agent.runtime.execute import command_of
from agent.runtime.graphs import READ, UPDATE, AnyGraph, GraphRegistry
from agent.runtime.ids import new_id
from agent.runtime.saver import RuntimeSaver
from agent.runtime.serializers import interrupts_view
from agent.runtime.store import RuntimeStore

EMPTY: Json = {
    "values": {},
    "next": [],
    "tasks": [],
    "metadata": {},
    "created_at": None,
    "parent_checkpoint": None,
    "interrupts": [],
}
_ADDRESS = ("checkpoint_id", "checkpoint_ns", "checkpoint_map")


def address(thread_id: str, checkpoint: Json | None = None) -> RunnableConfig:
    """The config that names a thread, or one of its checkpoints. Raises `Invalid` for another thread's."""
    found = {key: value for key, value in (checkpoint or {}).items() if value is not None}
    if str(found.pop("thread_id", thread_id)) != thread_id:
        raise Invalid("The checkpoint belongs to another thread")
    known: Json = {key: found[key] for key in _ADDRESS if key in found}
    return {"configurable": {"thread_id": thread_id, **known}}


class ThreadStates:
    """States of threads; changing one is refused while a run is on."""

    def __init__(
        self, *, store: RuntimeStore, saver: RuntimeSaver, graphs: GraphRegistry, clock: Clock
    ) -> None:
        self._store = store
        self._saver = saver
        self._graphs = graphs
        self._clock = clock

    @asynccontextmanager
    async def _graph(self, thread: Thread, access: str) -> AsyncIterator[AnyGraph | None]:
        graph_id = thread.metadata.get("graph_id")
        if graph_id is None:
            yield None
            return
        async with self._graphs.graph(graph_id, address(thread.thread_id), access=access) as graph:
            yield graph

    async def read(self, thread_id: str, checkpoint: Json | None, *, subgraphs: bool) -> StateSnapshot | None:
        """One state; None for a thread without a graph. Raises `NotFound` for it or its checkpoint."""
        thread = await self._store.get_thread(thread_id)
        config = address(thread_id, checkpoint)
        async with self._graph(thread, READ) as graph:
            if graph is None:
                return None
            wanted = config["configurable"].get("checkpoint_id")
            if wanted is not None and await self._saver.aget_tuple(config) is None:
                raise NotFound(f"Checkpoint {wanted} not found")
            return await graph.aget_state(config, subgraphs=subgraphs)

    async def history(
        self, thread_id: str, *, limit: int, before: Any, metadata: Json | None, checkpoint: Json | None
    ) -> Sequence[StateSnapshot]:
        """States, newest first. Raises `NotFound`."""
        thread = await self._store.get_thread(thread_id)
        if isinstance(before, str):
            before = {"checkpoint_id": before}
        elif before is not None and "configurable" in before:
            before = before["configurable"]
        async with self._graph(thread, READ) as graph:
            if graph is None:
                return []
            found = graph.aget_state_history(
                address(thread_id, checkpoint),
                filter=metadata,
                before=None if before is None else address(thread_id, before),
                limit=limit,
            )
            return [state async for state in found]

    async def update(
        self, thread_id: str, values: Any, *, as_node: str | None, checkpoint: Json | None
    ) -> Json:
        """Write to a state; the new checkpoint's address. Raises `NotFound`, `Conflict`, `BadRequest`."""
        thread = await self._idle(thread_id)
        config = address(thread_id, checkpoint)
        async with self._graph(thread, UPDATE) as graph:
            if graph is None:
                raise BadRequest(f"Thread {thread_id} has no graph yet")
            try:
                if isinstance(values, list):
                    for item in values:
                        config = await graph.aupdate_state(config, item, as_node=as_node)
                else:
                    config = await graph.aupdate_state(config, values, as_node=as_node)
            except InvalidUpdateError as error:
                raise BadRequest(str(error)) from error
            await self._mirror(thread_id, graph)
        return dict(config["configurable"])

    async def supersteps(self, thread_id: str, steps: Sequence[Sequence[Json]]) -> None:
        """Write a new thread's history. Raises `BadRequest`."""
        thread = await self._store.get_thread(thread_id)
        async with self._graph(thread, UPDATE) as graph:
            if graph is None:
                raise BadRequest("supersteps need a graph_id")
            try:
                await graph.abulk_update_state(
                    address(thread_id), [[_update(item) for item in step] for step in steps]
                )
            except InvalidUpdateError as error:
                raise BadRequest(str(error)) from error
            await self._mirror(thread_id, graph)

    async def copy(self, thread_id: str) -> Thread:
        """A new thread with all checkpoints of this one. Raises `NotFound`, `Conflict`."""
        source = await self._idle(thread_id)
        now = self._clock()
        made = replace(source, thread_id=new_id(), created_at=now, updated_at=now)
        await self._store.create_thread(made, if_exists="raise")
        await self._saver.copy_all(thread_id, made.thread_id)
        return made

    async def _idle(self, thread_id: str) -> Thread:
        thread = await self._store.get_thread(thread_id)
        if thread.status is ThreadStatus.BUSY:
            for status in INFLIGHT:
                page = await self._store.list_runs(thread_id, status=status, limit=1, offset=0)
                if page.total:
                    raise Conflict(f"Thread {thread_id} is busy")
        return thread

    async def _mirror(self, thread_id: str, graph: AnyGraph) -> None:
        """Bring the thread row up to its newest state."""
        state = await graph.aget_state(address(thread_id))
        status = ThreadStatus.INTERRUPTED if state.next else ThreadStatus.IDLE
        changes = {
            "status": status,
            "values": dumps(state.values),
            "interrupts": dumps(interrupts_view(state)),
            "state_updated_at": self._clock(),
        }
        await self._store.patch_thread(thread_id, changes)


def _update(item: Json) -> StateUpdate:
    values = item.get("values")
    if item.get("command") is not None:
        values = command_of(item["command"])
    return StateUpdate(values, item.get("as_node"))
