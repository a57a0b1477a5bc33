"""Routes of threads and their states."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated

from fastapi import Body, Header, Query
from starlette.responses import Response

from agent.errors import Conflict, Invalid, NotFound
from agent.runtime.access import allows
from agent.runtime.domain import Json, Thread, ThreadStatus, new_id, require_uuid
from agent.runtime.encode import loads
from agent.runtime.extraction import Path, extract_values, parse_paths
from agent.runtime.http.base import (
    DeleteThread,
    Flag,
    OpenRuntime,
    ReadThread,
    Runtime,
    StringList,
    ThreadId,
    UpdateThread,
    json_response,
    pagination_headers,
)
from agent.runtime.http.bodies import (
    ThreadCreate,
    ThreadExpiry,
    ThreadHistory,
    ThreadPatch,
    ThreadPrune,
    ThreadSearch,
    ThreadStateRead,
    ThreadStateUpdate,
)
from agent.runtime.http.trust import Trusted, require_trust
from agent.runtime.serializers import expiry_view, select_keys, state_view, thread_view
from agent.runtime.states import EMPTY_STATE
from agent.runtime.store import expiries, threads
from agent.runtime.stream_modes import checkpoint_of
from agent.runtime.thread_removal import remove_thread
from agent.shared.json_routes import make_router

router = make_router("threads", prefix="/threads")


@router.post("")
async def create_thread(runtime: Runtime, trusted: Trusted, body: ThreadCreate) -> Response:
    """Create a thread."""
    if body.supersteps:
        require_trust(trusted, "the history of a thread")
    thread_id = require_uuid(body.thread_id, "thread id") if body.thread_id is not None else new_id()
    now = runtime.clock()
    value: Json = {"thread_id": thread_id, "metadata": body.metadata, "if_exists": body.if_exists}
    wanted = await runtime.access.authorize("threads", "create", value)
    new = Thread(thread_id, ThreadStatus.IDLE, value["metadata"], now, now, now)
    thread = await runtime.database.write(threads.create_thread, new, if_exists=body.if_exists)
    if thread is not new:
        if not allows(wanted, thread.metadata):
            raise Conflict(f"Thread {thread_id} already exists")
        is_changed = body.ttl is not None or body.supersteps is not None
        await runtime.authorize_thread(thread_id, "read", *(["update"] if is_changed else []))
    default = runtime.settings.project.thread_ttl if thread is new else None
    expiry = ThreadExpiry(strategy=default[0], ttl=default[1]) if default else None
    await _set_expiry(runtime, thread_id, body.ttl or expiry)
    if body.supersteps:
        steps = [[update.model_dump() for update in step.updates] for step in body.supersteps]
        await runtime.states.write_supersteps(thread_id, steps)
        thread = await runtime.database.read(threads.get_thread, thread_id)
    return json_response(thread_view(thread))


async def _set_expiry(runtime: OpenRuntime, thread_id: str, expiry: ThreadExpiry | None) -> None:
    if expiry is not None and expiry.ttl is not None:
        strategy, minutes, now = expiry.strategy, expiry.ttl, runtime.clock()
        await runtime.database.write(
            expiries.set_expiry, thread_id, strategy=strategy, minutes=minutes, now=now
        )


@router.post("/search")
async def search_threads(
    runtime: Runtime, body: Annotated[ThreadSearch, Body(default_factory=ThreadSearch)]
) -> Response:
    """Search threads."""
    paths = parse_paths(body.extract or {})
    page = await runtime.database.read(threads.search_threads, await _to_query(runtime, body))
    views = [_search_view(thread, body.select, paths) for thread in page.rows]
    headers = pagination_headers(page.total, offset=body.offset, limit=body.limit)
    return json_response(views, headers=headers)


def _search_view(thread: Thread, select: list[str] | None, paths: Mapping[str, Path]) -> Json:
    view = select_keys(thread_view(thread), select)
    if paths:
        source = {
            "values": loads(thread.values or b"null"),
            "metadata": thread.metadata,
            "config": thread.config,
            "interrupts": loads(thread.interrupts),
        }
        view["extracted"] = extract_values(source, paths)
    return view


@router.post("/count")
async def count_threads(
    runtime: Runtime, body: Annotated[ThreadSearch, Body(default_factory=ThreadSearch)]
) -> Response:
    """Count matching threads."""
    query = await _to_query(runtime, body)
    return json_response(await runtime.database.read(threads.count_threads, query))


async def _to_query(runtime: OpenRuntime, body: ThreadSearch) -> threads.ThreadQuery:
    ids = None if body.ids is None else [require_uuid(item, "thread id") for item in body.ids]
    value = {**body.model_dump(include={"values", "status", "limit", "offset"}), "ids": ids}
    value["metadata"] = body.metadata or {}
    wanted = await runtime.access.authorize("threads", "search", value)
    return threads.ThreadQuery(
        metadata=value["metadata"],
        wanted=wanted,
        values=body.values,
        status=body.status,
        ids=ids,
        limit=body.limit,
        offset=body.offset,
        sort_by=body.sort_by,
        descending=body.sort_order == "desc",
    )


@router.post("/prune")
async def prune_threads(runtime: Runtime, body: ThreadPrune) -> Response:
    """Delete several threads or, with `keep_latest`, only their past states."""
    remove = partial(remove_thread, runtime)
    prune = remove if body.strategy == "delete" else runtime.states.keep_latest
    pruned = 0
    thread_ids = [require_uuid(item, "thread id") for item in body.thread_ids]
    for thread_id in thread_ids:
        await runtime.authorize_thread(thread_id, "delete")
    for thread_id in thread_ids:
        with suppress(NotFound):
            await prune(thread_id)
            pruned += 1
    return json_response({"pruned_count": pruned})


@router.get("/{thread_id}/state")
async def get_thread_state(
    runtime: Runtime, thread_id: ReadThread, subgraphs: Flag = False, select: StringList = None
) -> Response:
    """Return the latest state of a thread."""
    return await _read_state(runtime, thread_id, None, subgraphs, select)


@router.post("/{thread_id}/state")
async def update_thread_state(
    runtime: Runtime,
    trusted: Trusted,
    thread_id: UpdateThread,
    body: Annotated[ThreadStateUpdate, Body(default_factory=ThreadStateUpdate)],
) -> Response:
    """Update the state of a thread."""
    require_trust(trusted, "changes of a thread's state")
    checkpoint = body.checkpoint or ({"checkpoint_id": body.checkpoint_id} if body.checkpoint_id else None)
    configurable = await runtime.states.update_state(
        thread_id, body.values, as_node=body.as_node, checkpoint=checkpoint
    )
    view = checkpoint_of({"configurable": configurable})
    checkpoint_id = configurable.get("checkpoint_id")
    return json_response({"checkpoint": view, "configurable": view, "checkpoint_id": checkpoint_id})


@router.post("/{thread_id}/state/checkpoint")
async def get_thread_state_at_checkpoint(
    runtime: Runtime,
    thread_id: ReadThread,
    body: Annotated[ThreadStateRead, Body(default_factory=ThreadStateRead)],
) -> Response:
    """Return the state of a thread at a checkpoint."""
    return await _read_state(runtime, thread_id, body.checkpoint, body.subgraphs, body.select)


@router.get("/{thread_id}/state/{checkpoint_id}")
async def get_thread_state_at_checkpoint_id(
    runtime: Runtime,
    thread_id: ReadThread,
    checkpoint_id: str,
    subgraphs: Flag = False,
    select: StringList = None,
) -> Response:
    """Return the state of a thread at the checkpoint with this id."""
    return await _read_state(runtime, thread_id, {"checkpoint_id": checkpoint_id}, subgraphs, select)


async def _read_state(
    runtime: OpenRuntime, thread_id: str, checkpoint: Json | None, subgraphs: bool, select: list[str] | None
) -> Response:
    state = await runtime.states.read_state(thread_id, checkpoint, subgraphs=subgraphs)
    if state is None:
        return json_response(select_keys(EMPTY_STATE, select, known=False))
    return json_response(select_keys(state_view(state), select, known=False))


@router.post("/{thread_id}/history")
async def list_thread_history(
    runtime: Runtime,
    thread_id: ReadThread,
    body: Annotated[ThreadHistory, Body(default_factory=ThreadHistory)],
) -> Response:
    """List past states of a thread, newest first."""
    states = await runtime.states.list_states(
        thread_id,
        limit=body.limit,
        before=body.before,
        metadata=body.metadata,
        checkpoint=body.checkpoint,
    )
    return json_response([select_keys(state_view(state), body.select, known=False) for state in states])


@router.get("/{thread_id}/history")
async def get_thread_history(
    runtime: Runtime,
    thread_id: ReadThread,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    before: str | None = None,
) -> Response:
    """List the latest states of a thread, newest first."""
    return await list_thread_history(runtime, thread_id, ThreadHistory(limit=limit, before=before))


@router.post("/{thread_id}/copy")
async def copy_thread(runtime: Runtime, thread_id: ReadThread) -> Response:
    """Copy a thread with its checkpoints."""
    value: Json = {"thread_id": new_id(), "metadata": {}}
    await runtime.access.authorize("threads", "create", value)
    copy = await runtime.states.copy_thread(thread_id, str(value["thread_id"]), value["metadata"])
    return json_response(thread_view(copy))


@router.get("/{thread_id}")
async def get_thread(runtime: Runtime, thread_id: ReadThread, include: StringList = None) -> Response:
    """Return a thread; with `include=ttl`, also the time at which it expires."""
    if unknown := set(include or ()) - {"ttl"}:
        raise Invalid(f"include: unknown field {min(unknown)!r}; known: ttl")
    view = thread_view(await runtime.database.read(threads.get_thread, thread_id))
    expiry = await runtime.database.read(expiries.find_expiry, thread_id) if include else None
    return json_response(view if expiry is None else {**view, "ttl": expiry_view(expiry)})


@router.patch("/{thread_id}")
async def patch_thread(
    runtime: Runtime,
    thread_id: ThreadId,
    body: Annotated[ThreadPatch, Body(default_factory=ThreadPatch)],
    prefer: Annotated[str, Header()] = "",
) -> Response:
    """Merge metadata into a thread."""
    value = await runtime.authorize_thread(thread_id, "update", metadata=body.metadata)
    changes = {"metadata": value["metadata"]}
    thread = await runtime.database.write(threads.patch_thread, thread_id, changes, now=runtime.clock())
    await _set_expiry(runtime, thread_id, body.ttl)
    if "return=minimal" in prefer:
        return Response(status_code=204)
    return json_response(thread_view(thread))


@router.delete("/{thread_id}", status_code=204)
async def delete_thread(runtime: Runtime, thread_id: DeleteThread) -> Response:
    """Cancel a thread's runs, then delete the thread and all its data."""
    await remove_thread(runtime, thread_id)
    return Response(status_code=204)
