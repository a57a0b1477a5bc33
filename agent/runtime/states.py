"""Thread states, read and changed through their graphs."""

from __future__ import annotations

import re
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
from agent.runtime.executor import parse_command
from agent.runtime.graphs import READ, UPDATE, AnyGraph, GraphRegistry
from agent.runtime.run_saver import RunSaver
from agent.runtime.serializers import interrupts_view
from agent.runtime.store import runs, threads
from agent.runtime.store.database import RuntimeDatabase

EMPTY_STATE: Json = {
    "values": {},
    "next": [],
    "tasks": [],
    "metadata": None,
    "created_at": None,
    "checkpoint": None,
    "parent_checkpoint": None,
    "interrupts": [],
    "checkpoint_id": None,
    "parent_checkpoint_id": None,
}
_METADATA_KEY = re.compile(r"[A-Za-z0-9_.-]+")
"""Keys that LangGraph's checkpoint saver accepts in a filter."""
_ADDRESS = ("checkpoint_id", "checkpoint_ns", "checkpoint_map")


def thread_config(thread_id: str, checkpoint: Json | None = None) -> RunnableConfig:
    """Return the config of a thread or its checkpoint. Raises `Invalid` for a checkpoint of another
    thread.
    """
    found = {key: value for key, value in (checkpoint or {}).items() if value is not None}
    if str(found.pop("thread_id", thread_id)) != thread_id:
        raise Invalid("The checkpoint belongs to another thread")
    address: Json = {key: found[key] for key in _ADDRESS if key in found}
    if address:
        address.setdefault("checkpoint_ns", "")
    return {"configurable": {"thread_id": thread_id, **address}}


class ThreadStates:
    """Reads and changes thread states; a change is refused while a run is active."""

    def __init__(
        self, *, database: RuntimeDatabase, saver: RunSaver, graphs: GraphRegistry, clock: Clock
    ) -> None:
        self._database = database
        self._saver = saver
        self._graphs = graphs
        self._clock = clock

    @asynccontextmanager
    async def _open_graph(self, thread: Thread, access: str) -> AsyncIterator[AnyGraph | None]:
        graph_id = thread.metadata.get("graph_id")
        if graph_id is None:
            yield None
            return
        async with self._graphs.open_graph(graph_id, thread_config(thread.thread_id), access=access) as graph:
            yield graph

    async def read_state(
        self, thread_id: str, checkpoint: Json | None, *, subgraphs: bool
    ) -> StateSnapshot | None:
        """Return a state, or None if the thread has no graph yet. Raises `NotFound` for thread or
        checkpoint.
        """
        thread = await self._database.read(threads.get_thread, thread_id)
        config = thread_config(thread_id, checkpoint)
        async with self._open_graph(thread, READ) as graph:
            if graph is None:
                return None
            checkpoint_id = config["configurable"].get("checkpoint_id")
            if checkpoint_id is not None and await self._saver.aget_tuple(config) is None:
                raise NotFound(f"Checkpoint {checkpoint_id} not found")
            return await graph.aget_state(config, subgraphs=subgraphs)

    async def list_states(
        self, thread_id: str, *, limit: int, before: Any, metadata: Json | None, checkpoint: Json | None
    ) -> Sequence[StateSnapshot]:
        """Return states, newest first. Raises `NotFound`, `Invalid`."""
        if unknown := [key for key in metadata or () if not _METADATA_KEY.fullmatch(key)]:
            raise Invalid(f"metadata: {unknown[0]!r} is not a valid key: use letters, digits, ., _ and -")
        thread = await self._database.read(threads.get_thread, thread_id)
        if isinstance(before, str):
            before = {"checkpoint_id": before}
        elif before is not None and "configurable" in before:
            before = before["configurable"]
        async with self._open_graph(thread, READ) as graph:
            if graph is None:
                return []
            found = graph.aget_state_history(
                thread_config(thread_id, checkpoint),
                filter=metadata,
                before=None if before is None else thread_config(thread_id, before),
                limit=limit,
            )
            return [state async for state in found]

    async def update_state(
        self, thread_id: str, values: Any, *, as_node: str | None, checkpoint: Json | None
    ) -> Json:
        """Update a state and return the `configurable` of the new checkpoint.

        Raises `NotFound`, `Conflict`, `BadRequest`.
        """
        thread = await self._require_idle(thread_id)
        config = thread_config(thread_id, checkpoint)
        async with self._open_graph(thread, UPDATE) as graph:
            if graph is None:
                raise BadRequest(f"Thread {thread_id} has no graph yet")
            config["metadata"] = {"graph_id": thread.metadata["graph_id"]}
            try:
                if isinstance(values, list):
                    for item in values:
                        config = await graph.aupdate_state(config, item, as_node=as_node)
                else:
                    config = await graph.aupdate_state(config, values, as_node=as_node)
            except InvalidUpdateError as error:
                raise BadRequest(str(error)) from error
            await self._mirror_state(thread_id, graph)
        return dict(config["configurable"])

    async def write_supersteps(self, thread_id: str, steps: Sequence[Sequence[Json]]) -> None:
        """Write the history of a new thread. Raises `BadRequest`."""
        thread = await self._database.read(threads.get_thread, thread_id)
        async with self._open_graph(thread, UPDATE) as graph:
            if graph is None:
                raise BadRequest("supersteps need a graph_id")
            config = thread_config(thread_id) | {"metadata": {"graph_id": thread.metadata["graph_id"]}}
            try:
                await graph.abulk_update_state(
                    config, [[_to_state_update(item) for item in step] for step in steps]
                )
            except InvalidUpdateError as error:
                raise BadRequest(str(error)) from error
            await self._mirror_state(thread_id, graph)

    async def copy_thread(self, thread_id: str, copy_id: str, metadata: Json) -> Thread:
        """Copy a thread with all its checkpoints, but without its runs. Raises `NotFound`.

        `metadata` is merged into that of the copy.
        """
        source = await self._database.read(threads.get_thread, thread_id)
        now = self._clock()
        copy = replace(
            source,
            thread_id=copy_id,
            metadata={**source.metadata, **metadata},
            status=ThreadStatus.IDLE,
            created_at=now,
            updated_at=now,
            config={},
            error=None,
        )
        await self._database.write(threads.create_thread, copy, if_exists="raise")
        await self._saver.acopy_thread(thread_id, copy.thread_id)
        async with self._open_graph(copy, UPDATE) as graph:
            if graph is not None and await self._saver.latest_checkpoint_id(copy.thread_id) is not None:
                await self._mirror_state(copy.thread_id, graph)
        return await self._database.read(threads.get_thread, copy.thread_id)

    async def keep_latest(self, thread_id: str) -> None:
        """Delete the past states of a thread. Raises `NotFound`, `Conflict`."""
        await self._require_idle(thread_id)
        await self._saver.aprune([thread_id])

    async def _require_idle(self, thread_id: str) -> Thread:
        thread = await self._database.read(threads.get_thread, thread_id)
        if thread.status is ThreadStatus.BUSY:
            for status in INFLIGHT:
                page = await self._database.read(runs.list_runs, thread_id, status=status, limit=1, offset=0)
                if page.total:
                    raise Conflict(f"Thread {thread_id} is busy")
        return thread

    async def _mirror_state(self, thread_id: str, graph: AnyGraph) -> None:
        """Copy the latest state into the thread's row."""
        state = await graph.aget_state(thread_config(thread_id))
        status = ThreadStatus.INTERRUPTED if state.next else ThreadStatus.IDLE
        changes = {
            "status": status,
            "values": dumps(state.values),
            "interrupts": dumps(interrupts_view(state)),
            "state_updated_at": self._clock(),
        }
        await self._database.write(threads.patch_thread, thread_id, changes, now=self._clock())


def _to_state_update(item: Json) -> StateUpdate:
    values = item.get("values")
    if item.get("command") is not None:
        values = parse_command(item["command"])
    return StateUpdate(values, item.get("as_node"))
