"""Routes of threads and their states."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import Invalid, NotFound
from agent.runtime.domain import Json, Thread, ThreadStatus
from agent.runtime.http.bodies import (
    History,
    StateAt,
    StateUpdate,
    ThreadBody,
    ThreadPatch,
    ThreadPrune,
    ThreadSearch,
)
from agent.runtime.http.context import Parts, parts_of, path_id
from agent.runtime.http.responses import answer, pages, read_body, several, truth
from agent.runtime.ids import new_id, require_uuid
from agent.runtime.queries import ThreadQuery
from agent.runtime.serializers import selected, state_view, thread_view
from agent.runtime.states import EMPTY
from agent.runtime.stream_modes import checkpoint_of


async def create(request: Request) -> Response:
    """Create a thread."""
    parts = parts_of(request)
    body = await read_body(request, ThreadBody)
    _refuse_ttl(body.ttl)
    thread_id = require_uuid(body.thread_id, "thread id") if body.thread_id is not None else new_id()
    now = parts.clock()
    made = Thread(thread_id, ThreadStatus.IDLE, body.metadata, now, now, now)
    thread = await parts.store.create_thread(made, if_exists=body.if_exists)
    if body.supersteps:
        steps = [[update.model_dump() for update in step.updates] for step in body.supersteps]
        await parts.states.supersteps(thread_id, steps)
        thread = await parts.store.get_thread(thread_id)
    return answer(thread_view(thread))


def _refuse_ttl(ttl: Any) -> None:
    if ttl is not None:
        raise Invalid("ttl: not in this version")


async def get(request: Request) -> Response:
    """One thread."""
    thread = await parts_of(request).store.get_thread(path_id(request, "thread_id"))
    return answer(thread_view(thread))


async def patch(request: Request) -> Response:
    """Merge metadata."""
    body = await read_body(request, ThreadPatch)
    _refuse_ttl(body.ttl)
    thread_id = path_id(request, "thread_id")
    thread = await parts_of(request).store.patch_thread(thread_id, {"metadata": body.metadata})
    if "return=minimal" in request.headers.get("prefer", ""):
        return Response(status_code=204)
    return answer(thread_view(thread))


async def delete(request: Request) -> Response:
    """Drop a thread with all that belongs to it; its runs are ended first."""
    await _delete(parts_of(request), path_id(request, "thread_id"))
    return Response(status_code=204)


async def _delete(parts: Parts, thread_id: str) -> None:
    await parts.store.get_thread(thread_id)
    for handle in reversed(parts.manager.inflight(thread_id)):
        parts.manager.cancel_now(handle.run.run_id)
        await handle.done
    await parts.store.delete_thread(thread_id)
    await parts.saver.adelete_thread(thread_id)


async def prune(request: Request) -> Response:
    """Drop several threads."""
    body = await read_body(request, ThreadPrune)
    if body.strategy != "delete":
        raise Invalid("strategy keep_latest: not in this version")
    gone = 0
    for thread_id in [require_uuid(item, "thread id") for item in body.thread_ids]:
        try:
            await _delete(parts_of(request), thread_id)
        except NotFound:
            continue
        gone += 1
    return answer({"pruned_count": gone})


def _query(body: ThreadSearch) -> ThreadQuery:
    ids = None if body.ids is None else [require_uuid(item, "thread id") for item in body.ids]
    return ThreadQuery(
        metadata=body.metadata,
        values=body.values,
        status=body.status,
        ids=ids,
        limit=body.limit,
        offset=body.offset,
        sort_by=body.sort_by,
        descending=body.sort_order == "desc",
    )


async def search(request: Request) -> Response:
    """A page of threads."""
    body = await read_body(request, ThreadSearch)
    if body.extract:
        raise Invalid("extract: not in this version")
    page = await parts_of(request).store.search_threads(_query(body))
    views = [selected(thread_view(thread), body.select) for thread in page.rows]
    return answer(views, headers=pages(page.total, offset=body.offset, limit=body.limit))


async def count(request: Request) -> Response:
    """How many threads fit."""
    body = await read_body(request, ThreadSearch)
    return answer(await parts_of(request).store.count_threads(_query(body)))


async def copy(request: Request) -> Response:
    """Copy a thread."""
    return answer(thread_view(await parts_of(request).states.copy(path_id(request, "thread_id"))))


async def get_state(request: Request) -> Response:
    """The newest state."""
    return await _state(request, None, truth(request, "subgraphs"), several(request, "select"))


async def get_state_at(request: Request) -> Response:
    """The state at a checkpoint id."""
    checkpoint = {"checkpoint_id": request.path_params["checkpoint_id"]}
    return await _state(request, checkpoint, truth(request, "subgraphs"), several(request, "select"))


async def post_state_at(request: Request) -> Response:
    """The state at a checkpoint."""
    body = await read_body(request, StateAt)
    return await _state(request, body.checkpoint, body.subgraphs, body.select)


async def _state(
    request: Request, checkpoint: Json | None, subgraphs: bool, select: list[str] | None
) -> Response:
    thread_id = path_id(request, "thread_id")
    state = await parts_of(request).states.read(thread_id, checkpoint, subgraphs=subgraphs)
    if state is None:
        at = {"thread_id": thread_id, "checkpoint_ns": "", "checkpoint_id": None}
        return answer(selected({**EMPTY, "checkpoint": at}, select))
    return answer(selected(state_view(state), select))


async def update_state(request: Request) -> Response:
    """Write to a thread's state."""
    body = await read_body(request, StateUpdate)
    checkpoint = body.checkpoint or ({"checkpoint_id": body.checkpoint_id} if body.checkpoint_id else None)
    thread_id = path_id(request, "thread_id")
    at = await parts_of(request).states.update(
        thread_id, body.values, as_node=body.as_node, checkpoint=checkpoint
    )
    view = checkpoint_of({"configurable": at})
    return answer({"checkpoint": view, "configurable": view, **(view or {})})


async def history(request: Request) -> Response:
    """States, newest first."""
    body = await read_body(request, History)
    states = await parts_of(request).states.history(
        path_id(request, "thread_id"),
        limit=body.limit,
        before=body.before,
        metadata=body.metadata,
        checkpoint=body.checkpoint,
    )
    return answer([selected(state_view(state), body.select) for state in states])


_THREAD = "/threads/{thread_id}"
ROUTES = [
    Route("/threads", create, methods=["POST"]),
    Route("/threads/search", search, methods=["POST"]),
    Route("/threads/count", count, methods=["POST"]),
    Route("/threads/prune", prune, methods=["POST"]),
    Route(f"{_THREAD}/state", get_state, methods=["GET"]),
    Route(f"{_THREAD}/state", update_state, methods=["POST"]),
    Route(f"{_THREAD}/state/checkpoint", post_state_at, methods=["POST"]),
    Route(f"{_THREAD}/state/{{checkpoint_id}}", get_state_at, methods=["GET"]),
    Route(f"{_THREAD}/history", history, methods=["GET", "POST"]),
    Route(f"{_THREAD}/copy", copy, methods=["POST"]),
    Route(_THREAD, get, methods=["GET"]),
    Route(_THREAD, patch, methods=["PATCH"]),
    Route(_THREAD, delete, methods=["DELETE"]),
]
