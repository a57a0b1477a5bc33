"""Routes of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import BadRequest, Invalid, NotFound
from agent.runtime.active_run import Handle
from agent.runtime.domain import CancelAction, Multitask, NewRun, Outcome, Run, RunSpec
from agent.runtime.encode import dumps
from agent.runtime.http.bodies import CancelMany, RunBody
from agent.runtime.http.context import Parts, parts_of, path_id
from agent.runtime.http.responses import (
    answer,
    integer,
    pages,
    read_body,
    read_json,
    several,
    truth,
    validate,
)
from agent.runtime.http.streams import EVENT_STREAM, Pushed, waited
from agent.runtime.ids import START, new_id, parse_event_id, require_uuid
from agent.runtime.manager import Created
from agent.runtime.reader import EventReader
from agent.runtime.serializers import run_view, selected
from agent.runtime.stream_modes import require_modes


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a creation request asks for besides the run."""

    created: Created
    cancel_on_disconnect: bool


async def _create(request: Request, data: Any, thread_id: str | None, *, reading: bool = False) -> _Wanted:
    parts = parts_of(request)
    body = validate(RunBody, data)
    if thread_id is None and body.thread_id is not None:
        thread_id = require_uuid(body.thread_id, "thread id")
    spec = await _spec(request, parts, body, temporary=thread_id is None and body.on_completion != "keep")
    key = request.headers.get("idempotency-key")
    if key:
        spec.metadata["idempotency_key"] = key
    stateless = thread_id is None
    new = NewRun(
        run_id=new_id(),
        thread_id=thread_id or new_id(),
        spec=spec,
        multitask_strategy=Multitask(body.multitask_strategy),
        if_not_exists="create" if stateless else body.if_not_exists,
        idempotency_scope=("stateless" if stateless else thread_id) if key else None,
        idempotency_key=key or None,
        start_at=parts.clock() + body.after_seconds if body.after_seconds else None,
    )
    created = await parts.manager.create(new, reading=reading)
    return _Wanted(created, body.on_disconnect == "cancel")


async def _spec(request: Request, parts: Parts, body: RunBody, *, temporary: bool) -> RunSpec:
    if body.webhook is not None:
        raise Invalid("webhook: not in this version")
    assistant = await parts.assistant(body.assistant_id)
    configurable = body.config.get("configurable") or {}
    if body.context is not None and configurable:
        raise BadRequest("Give either context or config.configurable, not both")
    config = {**assistant.config, **body.config}
    chosen = {**assistant.config.get("configurable", {}), **configurable}
    model = request.headers.get("x-model")
    context = {**assistant.context, **body.context} if body.context is not None else assistant.context or None
    if model and "model_name" not in chosen and "model_name" not in (context or {}):
        chosen["model_name"] = model
    if chosen:
        config["configurable"] = chosen
    if body.checkpoint_during is not None and body.durability is None:
        body.durability = "async" if body.checkpoint_during else "exit"
    checkpoint = body.checkpoint or ({"checkpoint_id": body.checkpoint_id} if body.checkpoint_id else None)
    return RunSpec(
        graph_id=assistant.graph_id,
        assistant_id=assistant.assistant_id,
        input=body.input,
        command=body.command,
        config=config,
        context=dict(context) if context else None,
        metadata={**body.metadata},
        checkpoint=checkpoint,
        stream_mode=require_modes(body.stream_mode),
        stream_subgraphs=body.stream_subgraphs,
        stream_resumable=body.stream_resumable,
        interrupt_before=_names(body.interrupt_before),
        interrupt_after=_names(body.interrupt_after),
        durability=body.durability,
        feedback_keys=tuple(body.feedback_keys),
        temporary_thread=temporary,
    )


def _names(given: str | list[str] | None) -> str | tuple[str, ...] | None:
    return tuple(given) if isinstance(given, list) else given


def _place(run: Run, kind: str) -> dict[str, str]:
    path = f"/threads/{run.thread_id}/runs/{run.run_id}"
    return {"location": f"{path}/{kind}" if kind else path, "content-location": path}


def _thread(request: Request) -> str | None:
    return path_id(request, "thread_id") if "thread_id" in request.path_params else None


async def create(request: Request) -> Response:
    """Start a run in the background."""
    wanted = await _create(request, await read_json(request), _thread(request))
    run = wanted.created.run
    return answer(run_view(run), headers={"content-location": _place(run, "")["content-location"]})


async def create_batch(request: Request) -> Response:
    """Start several runs."""
    data = await read_json(request)
    if not isinstance(data, list) or not data:
        raise Invalid("The body must be a list of runs")
    for item in data:
        validate(RunBody, item)
    made = [await _create(request, item, None) for item in data]
    return answer([run_view(wanted.created.run) for wanted in made])


async def stream(request: Request) -> Response:
    """Start a run and stream its events from the first."""
    wanted = await _create(request, await read_json(request), _thread(request), reading=True)
    run, handle = wanted.created.run, wanted.created.handle
    reader = _reader(parts_of(request), run, handle, after="0", counted=wanted.created.is_new)
    return _events(request, run, reader, cancel=wanted.cancel_on_disconnect)


async def wait(request: Request) -> Response:
    """Start a run and answer its result."""
    wanted = await _create(request, await read_json(request), _thread(request))
    run = wanted.created.run
    return await _result(request, run, wanted.created.handle, cancel=wanted.cancel_on_disconnect)


async def join(request: Request) -> Response:
    """The result of a run, when it has one."""
    parts = parts_of(request)
    run = await parts.store.get_run(path_id(request, "thread_id"), path_id(request, "run_id"))
    handle = parts.manager.handle(run.run_id)
    return await _result(request, run, handle, cancel=truth(request, "cancel_on_disconnect"))


async def join_stream(request: Request) -> Response:
    """The events of a run: after `Last-Event-ID`, else from now on."""
    parts = parts_of(request)
    run = await parts.store.get_run(path_id(request, "thread_id"), path_id(request, "run_id"))
    handle = parts.manager.handle(run.run_id)
    modes = several(request, "stream_mode")
    last = request.headers.get("last-event-id")
    reader = _reader(parts, run, handle, after=last, modes=require_modes(modes) if modes else None)
    given = parse_event_id(last) if last else None
    await reader.check(given, unknown=bool(last) and given is None)
    return _events(request, run, reader, cancel=truth(request, "cancel_on_disconnect"))


def _reader(
    parts: Parts,
    run: Run,
    handle: Handle | None,
    *,
    after: str | None,
    modes: tuple[str, ...] | None = None,
    counted: bool = False,
) -> EventReader:
    start = parse_event_id(after) if after else None
    whole = run.spec.stream_resumable or counted or start != START
    return EventReader(
        run.run_id,
        channel=None if handle is None else handle.channel,
        log=parts.store,
        heartbeat=parts.settings.heartbeat,
        after=start if whole else None,
        status=lambda: str(run.status if handle is None else handle.run.status),
        modes=modes,
        counted=counted,
    )


def _events(request: Request, run: Run, reader: EventReader, *, cancel: bool) -> Response:
    manager = parts_of(request).manager

    def gone(early: bool) -> None:
        reader.close()
        if early and cancel:
            manager.cancel_now(run.run_id)

    return Pushed(reader.batches, EVENT_STREAM | _place(run, "stream"), gone=gone)


async def _result(request: Request, run: Run, handle: Handle | None, *, cancel: bool) -> Response:
    parts = parts_of(request)
    if handle is None:
        return Response(
            await _stored_result(parts, run), media_type="application/json", headers=_place(run, "join")
        )

    async def result(outcome: Outcome) -> bytes:
        if outcome.error is not None:
            return dumps({"__error__": outcome.error})
        return outcome.values if outcome.values is not None else await _stored_result(parts, run)

    def gone(early: bool) -> None:
        if early and cancel:
            parts.manager.cancel_now(run.run_id)

    headers = {"content-type": "application/json", **_place(run, "join")}
    return Pushed(lambda: waited(handle.done, result, heartbeat=parts.settings.heartbeat), headers, gone=gone)


async def _stored_result(parts: Parts, run: Run) -> bytes:
    run = await parts.store.get_run(run.thread_id, run.run_id)
    if run.error is not None:
        return dumps({"__error__": run.error})
    return (await parts.store.get_thread(run.thread_id)).values or b"null"


async def listing(request: Request) -> Response:
    """A thread's runs, newest first."""
    limit, offset = integer(request, "limit", 10, least=1), integer(request, "offset", 0, most=1_000_000_000)
    status = request.query_params.get("status")
    thread_id = path_id(request, "thread_id")
    page = await parts_of(request).store.list_runs(thread_id, status=status, limit=limit, offset=offset)
    select = several(request, "select")
    views = [selected(run_view(run), select) for run in page.rows]
    return answer(views, headers=pages(page.total, offset=offset, limit=limit))


async def get(request: Request) -> Response:
    """One run."""
    run = await parts_of(request).store.get_run(path_id(request, "thread_id"), path_id(request, "run_id"))
    return answer(run_view(run))


async def delete(request: Request) -> Response:
    """Drop a run that has ended; one that has not is cancelled first."""
    parts = parts_of(request)
    run = await parts.store.get_run(path_id(request, "thread_id"), path_id(request, "run_id"))
    handle = parts.manager.handle(run.run_id)
    if handle is not None:
        await parts.manager.cancel(run.thread_id, run.run_id, CancelAction.INTERRUPT)
        await handle.done
    await parts.store.remove_run(run)
    return Response(status_code=204)


def _action(request: Request) -> CancelAction:
    text = request.query_params.get("action", "interrupt")
    try:
        return CancelAction(text)
    except ValueError:
        raise Invalid("action must be interrupt or rollback") from None


async def cancel(request: Request) -> Response:
    """End a run: 202, or 204 when asked to wait."""
    manager = parts_of(request).manager
    action = _action(request)
    done = await manager.cancel(path_id(request, "thread_id"), path_id(request, "run_id"), action)
    if not truth(request, "wait"):
        return answer({}, status=202)
    await done
    return Response(status_code=204)


async def cancel_many(request: Request) -> Response:
    """End several runs: by id, of a thread, or all of a status."""
    manager = parts_of(request).manager
    body, action = await read_body(request, CancelMany), _action(request)
    if body.run_ids is None and body.status is None:
        raise Invalid("Give run_ids or status")
    wanted = (
        None if body.run_ids is None else {str(UUID(require_uuid(item, "run id"))) for item in body.run_ids}
    )
    found = [
        handle
        for handle in manager.inflight(body.thread_id)
        if (wanted is None or handle.run.run_id in wanted)
        and (body.status in (None, "all") or str(handle.run.status) == body.status)
    ]
    if wanted is not None and not found:
        raise NotFound("None of these runs is pending or running")
    for handle in found:
        await manager.cancel(handle.thread_id, handle.run.run_id, action)
    return Response(status_code=204)


async def crons(_request: Request) -> Response:
    """Schedules are not part of this version."""
    return answer({"detail": "Crons are not in this version"}, status=501)


_RUN = "/threads/{thread_id}/runs/{run_id}"
ROUTES = [
    Route("/threads/{thread_id}/runs/stream", stream, methods=["POST"]),
    Route("/threads/{thread_id}/runs/wait", wait, methods=["POST"]),
    Route("/threads/{thread_id}/runs/crons", crons, methods=["POST"]),
    Route("/threads/{thread_id}/runs", create, methods=["POST"]),
    Route("/threads/{thread_id}/runs", listing, methods=["GET"]),
    Route("/runs/stream", stream, methods=["POST"]),
    Route("/runs/wait", wait, methods=["POST"]),
    Route("/runs/batch", create_batch, methods=["POST"]),
    Route("/runs/cancel", cancel_many, methods=["POST"]),
    Route("/runs/crons", crons, methods=["POST"]),
    Route("/runs/crons/{rest:path}", crons, methods=["POST", "PATCH", "DELETE", "GET"]),
    Route("/runs", create, methods=["POST"]),
    Route(f"{_RUN}/cancel", cancel, methods=["POST"]),
    Route(f"{_RUN}/join", join, methods=["GET"]),
    Route(f"{_RUN}/stream", join_stream, methods=["GET"]),
    Route(_RUN, get, methods=["GET"]),
    Route(_RUN, delete, methods=["DELETE"]),
]
