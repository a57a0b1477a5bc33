"""Routes of runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Annotated, Final

from fastapi import Body, Header, Query
from starlette.responses import Response

from agent.errors import Invalid, NotFound
from agent.runtime.active_run import ActiveRun
from agent.runtime.domain import (
    INFLIGHT,
    START,
    AttemptOutcome,
    CancelAction,
    Json,
    MultitaskStrategy,
    NewRun,
    Run,
    RunStatus,
    new_id,
    parse_event_id,
    require_uuid,
)
from agent.runtime.encode import dumps
from agent.runtime.event_log import EventReader
from agent.runtime.http.base import (
    JSON,
    CancelThread,
    ClosingStream,
    DeleteThread,
    Flag,
    ListedThread,
    OpenRuntime,
    ReadThread,
    RunId,
    Runtime,
    StringList,
    ThreadId,
    json_response,
    pagination_headers,
)
from agent.runtime.http.bodies import MAX_OFFSET, RunCreate, RunsCancel
from agent.runtime.http.run_creation import Creation, RunCreation, authorize_run, make_spec
from agent.runtime.manager import CreatedRun
from agent.runtime.serializers import result_view, run_view, select_keys
from agent.runtime.store import runs
from agent.runtime.store.threads import get_thread
from agent.runtime.stream_modes import require_modes
from agent.shared.json_routes import make_router

EVENT_STREAM: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
router = make_router("runs")


class EventStreamResponse(Response):
    """Media type of event streams in the OpenAPI document."""

    media_type = "text/event-stream"


async def start_run(
    creation: RunCreation, body: RunCreate, thread_id: str | None = None, *, reading: bool = False
) -> CreatedRun:
    """Start a run on this thread, or on the one that the body names, or on a new one. Raises `ApiError`."""
    if thread_id is None and body.thread_id is not None:
        thread_id = require_uuid(body.thread_id, "thread id")
    stateless = thread_id is None
    body, access = await authorize_run(creation.runtime, body, thread_id)
    spec = await make_spec(creation, body, temporary=stateless and body.on_completion != "keep")
    runtime, key = creation.runtime, creation.idempotency_key
    if key:
        spec.metadata["idempotency_key"] = key
    # Users must not get each other's runs by guessing keys.
    scope = "stateless" if runtime.access.user is None else f"stateless {runtime.access.user.identity}"
    new = NewRun(
        run_id=new_id(),
        thread_id=thread_id or new_id(),
        spec=spec,
        multitask_strategy=MultitaskStrategy(body.multitask_strategy),
        if_not_exists="create" if stateless else body.if_not_exists,
        idempotency_scope=(scope if stateless else thread_id) if key else None,
        idempotency_key=key or None,
        start_at=runtime.clock() + body.after_seconds if body.after_seconds else None,
        unless_interrupted=creation.unless_interrupted,
        **access,
    )
    return await runtime.manager.create_run(new, reading=reading)


def _location_headers(run: Run, kind: str) -> dict[str, str]:
    path = f"/threads/{run.thread_id}/runs/{run.run_id}"
    return {"location": f"{path}/{kind}", "content-location": path}


@router.post("/threads/{thread_id}/runs/stream", response_class=EventStreamResponse)
async def stream_thread_run(creation: Creation, thread_id: ThreadId, body: RunCreate) -> Response:
    """Start a run and stream its events."""
    return await _stream_new_run(creation, body, thread_id)


@router.post("/runs/stream", response_class=EventStreamResponse)
async def stream_run(creation: Creation, body: RunCreate) -> Response:
    """Start a run on a temporary thread and stream its events."""
    return await _stream_new_run(creation, body)


async def _stream_new_run(creation: RunCreation, body: RunCreate, thread_id: str | None = None) -> Response:
    created = await start_run(creation, body, thread_id, reading=True)
    reader = _make_reader(creation.runtime, created.run, created.active, after="0", counted=created.is_new)
    cancel = body.on_disconnect == "cancel"
    return _stream_events(creation.runtime, created.run, reader, cancel_on_disconnect=cancel)


@router.post("/threads/{thread_id}/runs/wait")
async def wait_thread_run(creation: Creation, thread_id: ThreadId, body: RunCreate) -> Response:
    """Start a run and return its result."""
    return await _wait_for_new_run(creation, body, thread_id)


@router.post("/runs/wait")
async def wait_run(creation: Creation, body: RunCreate) -> Response:
    """Start a run on a temporary thread and return its result."""
    return await _wait_for_new_run(creation, body)


async def _wait_for_new_run(creation: RunCreation, body: RunCreate, thread_id: str | None = None) -> Response:
    created = await start_run(creation, body, thread_id)
    cancel = body.on_disconnect == "cancel"
    return await _wait_for_result(creation.runtime, created.run, created.active, cancel_on_disconnect=cancel)


@router.post("/threads/{thread_id}/runs")
async def create_thread_run(creation: Creation, thread_id: ThreadId, body: RunCreate) -> Response:
    """Start a run in the background."""
    return await _create_in_background(creation, body, thread_id)


@router.post("/runs")
async def create_run(creation: Creation, body: RunCreate) -> Response:
    """Start a run on a temporary thread in the background."""
    return await _create_in_background(creation, body)


async def _create_in_background(
    creation: RunCreation, body: RunCreate, thread_id: str | None = None
) -> Response:
    run = (await start_run(creation, body, thread_id)).run
    headers = {"content-location": f"/threads/{run.thread_id}/runs/{run.run_id}"}
    return json_response(run_view(run), headers=headers)


@router.post("/runs/batch")
async def create_runs(creation: Creation, body: Annotated[list[RunCreate], Body(min_length=1)]) -> Response:
    """Start several runs in the background."""
    created = [await start_run(creation, item) for item in body]
    return json_response([run_view(one.run) for one in created])


@router.post("/runs/cancel", status_code=204)
async def cancel_runs(
    runtime: Runtime,
    body: Annotated[RunsCancel, Body(default_factory=RunsCancel)],
    action: Annotated[CancelAction, Query()] = CancelAction.INTERRUPT,
) -> Response:
    """Cancel several runs: runs of a thread by id, or all runs with a status."""
    if (body.run_ids is None) is (body.status is None):
        raise Invalid("Give either run_ids or status")
    if (body.run_ids is None) is not (body.thread_id is None):
        raise Invalid("thread_id: required with run_ids, and not allowed with status")
    run_ids = None if body.run_ids is None else {require_uuid(item, "run id") for item in body.run_ids}
    value: Json = {"thread_id": body.thread_id, "action": str(action), "metadata": {}}
    wanted = await runtime.access.authorize("threads", "update", value)
    matching = [
        run
        for run in await runtime.database.read(runs.list_unfinished, body.thread_id)
        if (run_ids is None or run.run_id in run_ids)
        and (body.status in (None, "all") or str(run.status) == body.status)
        and await runtime.may_reach(run.thread_id, wanted)
    ]
    if not matching:
        raise NotFound("None of these runs is pending or running")
    for run in matching:
        with suppress(NotFound):  # it has ended meanwhile
            await runtime.manager.cancel_run(run.thread_id, run.run_id, action)
    return Response(status_code=204)


@router.get("/threads/{thread_id}/runs")
async def list_runs(
    runtime: Runtime,
    thread_id: ListedThread,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    status: Annotated[str, Query(pattern="^[a-z]+$")] | None = None,
    select: StringList = None,
) -> Response:
    """List the runs of a thread, newest first."""
    page = await runtime.database.read(runs.list_runs, thread_id, status=status, limit=limit, offset=offset)
    views = [select_keys(run_view(run), select) for run in page.rows]
    return json_response(views, headers=pagination_headers(page.total, offset=offset, limit=limit))


@router.post("/threads/{thread_id}/runs/{run_id}/cancel", status_code=202)
async def cancel_run(
    runtime: Runtime,
    thread_id: CancelThread,
    run_id: RunId,
    action: Annotated[CancelAction, Query()] = CancelAction.INTERRUPT,
    wait: Flag = False,
) -> Response:
    """Cancel a run.

    Returns 202, or, if `wait` is true, 200 once the run has ended.
    """
    active = runtime.manager.find_active(run_id)
    run = await runtime.database.read(runs.get_run, thread_id, run_id)
    await runtime.manager.cancel_run(thread_id, run_id, action)
    is_pending = active is not None and active.run.status is RunStatus.PENDING
    if not (wait or is_pending):
        return json_response(None, status=202)
    await runtime.manager.wait_ended(run, active)
    return json_response({}) if wait else json_response(None, status=202)


@router.get("/threads/{thread_id}/runs/{run_id}/join")
async def join_run(
    runtime: Runtime, thread_id: ReadThread, run_id: RunId, cancel_on_disconnect: Flag = False
) -> Response:
    """Wait for a run and return its result."""
    run = await runtime.database.read(runs.get_run, thread_id, run_id)
    active = runtime.manager.find_active(run.run_id)
    return await _wait_for_result(runtime, run, active, cancel_on_disconnect=cancel_on_disconnect)


@router.get("/threads/{thread_id}/runs/{run_id}/stream", response_class=EventStreamResponse)
async def join_run_stream(
    runtime: Runtime,
    thread_id: ReadThread,
    run_id: RunId,
    stream_mode: StringList = None,
    cancel_on_disconnect: Flag = False,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Stream the events of a run after `Last-Event-ID`; without it, only new events."""
    run = await runtime.database.read(runs.get_run, thread_id, run_id)
    active = runtime.manager.find_active(run.run_id)
    modes = require_modes(stream_mode) if stream_mode else None
    reader = _make_reader(runtime, run, active, after=last_event_id, modes=modes)
    after = parse_event_id(last_event_id) if last_event_id else None
    await reader.check_position(after, unknown=bool(last_event_id) and after is None)
    return _stream_events(runtime, run, reader, cancel_on_disconnect=cancel_on_disconnect)


def _make_reader(
    runtime: OpenRuntime,
    run: Run,
    active: ActiveRun | None,
    *,
    after: str,
    modes: tuple[str, ...] | None = None,
    counted: bool = False,
) -> EventReader:
    start = parse_event_id(after) if after else None
    has_all_events = run.spec.stream_resumable or counted or start != START

    remote = runtime.manager.remote
    is_elsewhere = active is None and remote.is_elsewhere(run)
    return EventReader(
        run.run_id,
        channel=None if active is None else active.channel,
        is_live=partial(remote.is_live, run) if is_elsewhere or active is not None else None,
        log=runtime.event_log,
        heartbeat=runtime.settings.heartbeat,
        after=start if has_all_events or is_elsewhere else None,
        status=lambda: str(run.status if active is None else active.run.status),
        modes=modes,
        counted=counted,
    )


def _stream_events(
    runtime: OpenRuntime, run: Run, reader: EventReader, *, cancel_on_disconnect: bool
) -> Response:
    def close(complete: bool) -> None:
        reader.close()
        if cancel_on_disconnect and not complete:
            runtime.manager.cancel_now(run.run_id)

    headers = EVENT_STREAM | _location_headers(run, "stream")
    return ClosingStream(reader.read_batches(), headers, on_close=close)


async def _wait_for_result(
    runtime: OpenRuntime, run: Run, active: ActiveRun | None, *, cancel_on_disconnect: bool
) -> Response:
    headers = {"content-type": JSON, **_location_headers(run, "join")}
    done: asyncio.Future[AttemptOutcome] | asyncio.Future[AttemptOutcome | None]
    if active is not None:
        done = active.done
    elif runtime.manager.remote.is_elsewhere(run):
        done = asyncio.create_task(runtime.manager.remote.wait_outcome(run))
    else:
        return Response(await _read_result(runtime, run), headers=headers)

    async def make_result(outcome: AttemptOutcome) -> bytes:
        if outcome.error is not None:
            return dumps({"__error__": outcome.error})
        if outcome.values is None:
            return await _read_result(runtime, run)
        return result_view(outcome.values, outcome.interrupts)

    def close(complete: bool) -> None:
        if active is None:
            done.cancel()
        if cancel_on_disconnect and not complete:
            runtime.manager.cancel_now(run.run_id)

    chunks = _keep_alive(done, make_result, heartbeat=runtime.settings.heartbeat)
    return ClosingStream(chunks, headers, on_close=close)


async def _keep_alive(
    done: asyncio.Future[AttemptOutcome] | asyncio.Future[AttemptOutcome | None],
    make_result: Callable[[AttemptOutcome], Awaitable[bytes]],
    *,
    heartbeat: float,
) -> AsyncGenerator[bytes]:
    """Yield white space every `heartbeat` seconds until `done`, then the result.

    Raises `ConnectionAbortedError` if the process stops first, so the client sees a truncated response.
    """
    while not done.done():
        await asyncio.wait([done], timeout=heartbeat)
        if not done.done():
            yield b"\n"
    outcome = done.result()
    if outcome is None:
        raise ConnectionAbortedError("the process is stopping")
    yield await make_result(outcome)


async def _read_result(runtime: OpenRuntime, run: Run) -> bytes:
    run = await runtime.database.read(runs.get_run, run.thread_id, run.run_id)
    if run.error is not None:
        return dumps({"__error__": run.error})
    thread = await runtime.database.read(get_thread, run.thread_id)
    return result_view(thread.values, thread.interrupts)


@router.get("/threads/{thread_id}/runs/{run_id}")
async def get_run(runtime: Runtime, thread_id: ReadThread, run_id: RunId) -> Response:
    """Return a run."""
    return json_response(run_view(await runtime.database.read(runs.get_run, thread_id, run_id)))


@router.delete("/threads/{thread_id}/runs/{run_id}", status_code=204)
async def delete_run(runtime: Runtime, thread_id: DeleteThread, run_id: RunId) -> Response:
    """Delete a run. A run that has not ended is canceled first."""
    run = await runtime.database.read(runs.get_run, thread_id, run_id)
    if run.status in INFLIGHT:
        await runtime.manager.cancel_and_wait(run, CancelAction.INTERRUPT)
    await runtime.database.write(runs.remove_run, run, now=runtime.clock())
    return Response(status_code=204)
