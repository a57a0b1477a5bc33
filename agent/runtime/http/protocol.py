"""Routes of the thread protocol: commands to a thread, and the events of its runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Header, Request
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from agent.errors import ApiError, BadRequest, Forbidden, Invalid, NotFound
from agent.runtime.domain import MultitaskStrategy, NewRun, Thread, ThreadStatus, new_id, require_uuid
from agent.runtime.encode import loads
from agent.runtime.http.base import ClosingStream, OpenRuntime, Runtime, StringList, ThreadId, json_response
from agent.runtime.http.bodies import Json, RunCreate
from agent.runtime.http.run_creation import Creation, RunCreation, authorize_run, make_spec
from agent.runtime.http.runs import EVENT_STREAM, EventStreamResponse
from agent.runtime.protocol.event_filter import EventFilter, parse_count
from agent.runtime.protocol.thread_events import (
    NumberedReader,
    ProtocolReader,
    RunSource,
    ThreadEvents,
    ThreadModeReader,
    to_seq,
)
from agent.runtime.store import threads
from agent.shared.json_routes import make_router

THREAD_MODES: Final = frozenset({"run_modes", "lifecycle", "state_update"})
FROM_START: Final = frozenset({"-1", "0", "-"})
"""Values of `Last-Event-ID` that ask for all stored events."""
OF_A_CONNECTION: Final = frozenset(
    {"agent.getTree", "subscription.subscribe", "subscription.unsubscribe", "subscription.reconnect"}
)
"""Commands about the events of a WebSocket; over HTTP, each request for events has its own filter."""
ANSWER_SECONDS: Final = 10.0
"""Seconds that an answer waits for the end of the run that asked."""
router = make_router("threads", prefix="/threads/{thread_id}")


def _describe_body(required: str, **properties: Json) -> Json:
    """Return the OpenAPI description of a JSON object, whose fields are checked later."""
    schema = {"type": "object", "required": required.split(), "properties": properties}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


COUNT: Final = {"type": "integer", "minimum": 0}
LABELS: Final = {"type": "array", "items": {"type": "string"}}
COMMAND: Final = _describe_body("id method", id=COUNT, method={"type": "string"}, params={"type": "object"})
FILTER: Final = _describe_body(
    "channels", channels=LABELS, namespaces={"type": "array", "items": LABELS}, depth=COUNT, since=COUNT
)


class CommandRefused(Exception):
    """Error of a command that can't be executed. `code` is one of the protocol's error codes."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@router.post("/commands", openapi_extra=COMMAND)
async def send_command(request: Request, creation: Creation, thread_id: str) -> Response:
    """Start a run of a thread, or answer its interrupts."""
    command = await _read_object(request)
    number, method = command.get("id"), command.get("method")
    if parse_count(number) is None or not isinstance(method, str):
        problem = "A command requires an id, which is a non-negative integer, and a method"
        return json_response(_error(None, "invalid_argument", problem), status=400)
    try:
        params = command.get("params")
        thread_id = require_uuid(thread_id, "thread id")
        view = await _execute(creation, thread_id, method, params if isinstance(params, dict) else {})
    except CommandRefused as error:
        return json_response(_error(number, error.code, str(error)))
    except ApiError as error:
        return json_response(_error(number, _code_of(error), f"{error.status}: {error}"))
    return json_response({"type": "success", "id": number, **view})


async def _read_object(request: Request) -> Json:
    """Return the body; anything but an object counts as empty. Raises `BadRequest` unless it is JSON."""
    try:
        body = await request.json()
    except HTTPException as error:
        raise BadRequest(error.detail) from error
    return body if isinstance(body, dict) else {}


def _error(number: int | None, code: str, message: str) -> Json:
    return {"type": "error", "id": number, "error": code, "message": message}


def _code_of(error: ApiError) -> str:
    return "permission_denied" if isinstance(error, Forbidden) else "unknown_error"


async def _execute(creation: RunCreation, thread_id: str, method: str, params: Json) -> Json:
    if method == "run.start":
        return await _start_run(creation, thread_id, params)
    if method == "input.respond":
        return await _answer_interrupts(creation, thread_id, params)
    if method in OF_A_CONNECTION:
        raise CommandRefused(
            "no_such_run", f"{method} requires a WebSocket, which this server does not support"
        )
    raise CommandRefused("unknown_command", f"Unknown command {method!r}")


async def _start_run(creation: RunCreation, thread_id: str, params: Json) -> Json:
    assistant = params.get("assistant_id")
    if not isinstance(assistant, str) or not assistant:
        raise CommandRefused("invalid_argument", "run.start needs an assistant_id")
    thread = await _find_thread(creation.runtime, thread_id)
    value = params.get("input")
    # Input to a thread that waits for an answer is the answer.
    resumes = value is not None and bool(_open_interrupts(thread))
    fields = {"command": {"resume": value}} if resumes else {"input": value}
    strategy = params.get("multitask_strategy") or params.get("multitaskStrategy")
    if strategy not in set(MultitaskStrategy):
        strategy = MultitaskStrategy.ENQUEUE
    run_id, meta = await _create_run(creation, thread_id, assistant, params, strategy, fields)
    return {"result": {"run_id": run_id}, "meta": meta}


async def _answer_interrupts(creation: RunCreation, thread_id: str, params: Json) -> Json:
    answers = _read_answers(params)
    thread = await _find_thread(creation.runtime, thread_id)
    if thread is None:
        raise CommandRefused("no_such_run", "This thread has no run that waits for an answer")
    unknown = answers.keys() - _open_interrupts(thread)
    if unknown and await _wait_for_runs(creation.runtime, thread_id):
        unknown = answers.keys() - _open_interrupts(await _find_thread(creation.runtime, thread_id))
    if unknown:
        raise CommandRefused("no_such_interrupt", f"Unknown or answered interrupt: {min(unknown)}")
    steps = {key: params[key] for key in ("update", "goto") if params.get(key) is not None}
    assistant = str(thread.metadata.get("assistant_id"))
    fields = {"command": {"resume": answers, **steps}}
    # A second answer that arrives at the same time finds the thread busy.
    strategy = MultitaskStrategy.REJECT
    _, meta = await _create_run(creation, thread_id, assistant, params, strategy, fields)
    return {"result": {}, "meta": meta}


async def _wait_for_runs(runtime: OpenRuntime, thread_id: str) -> bool:
    """Wait until a thread has no active run, since a run's interrupts are sent before it has ended.

    Return whether there was one.
    """
    active = [item.done for item in runtime.manager.list_active(thread_id)]
    if active:
        await asyncio.wait(active, timeout=ANSWER_SECONDS)
    return bool(active)


def _read_answers(params: Json) -> Json:
    entries = params["responses"] if isinstance(params.get("responses"), list) else [params]
    if not entries:
        raise CommandRefused("invalid_argument", "input.respond needs at least one response")
    answers = {}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("interrupt_id"), str):
            raise CommandRefused("invalid_argument", "input.respond needs an interrupt_id for each response")
        answers[entry["interrupt_id"]] = entry.get("response")
    return answers


async def _find_thread(runtime: OpenRuntime, thread_id: str) -> Thread | None:
    try:
        await runtime.authorize_thread(thread_id, "read")
        return await runtime.database.read(threads.get_thread, thread_id)
    except NotFound:
        return None


def _open_interrupts(thread: Thread | None) -> set[str]:
    if thread is None or thread.status is not ThreadStatus.INTERRUPTED:
        return set()
    return {item["id"] for items in loads(thread.interrupts).values() for item in items}


async def _create_run(
    creation: RunCreation,
    thread_id: str,
    assistant: str,
    params: Json,
    strategy: str,
    fields: Mapping[str, Any],
) -> tuple[str, Json]:
    """Start a run; return its id, and the number of the last event before it."""
    chosen = {key: params[key] for key in ("config", "metadata") if isinstance(params.get(key), dict)}
    try:
        body = RunCreate(
            assistant_id=assistant, stream_resumable=True, stream_subgraphs=True, **chosen, **fields
        )
    except ValidationError as error:
        raise CommandRefused("invalid_argument", error.errors()[0]["msg"]) from error
    body, access = await authorize_run(creation.runtime, body, thread_id)
    spec = replace(await make_spec(creation, body, temporary=False), protocol=True)
    new = NewRun(new_id(), thread_id, spec, MultitaskStrategy(strategy), "create", **access)
    run = (await creation.runtime.manager.create_run(new)).run
    return run.run_id, {"applied_through_seq": to_seq(run.order)}


@router.post("/stream/events", response_class=EventStreamResponse, openapi_extra=FILTER)
async def stream_thread_events(request: Request, runtime: Runtime, thread_id: ThreadId) -> Response:
    """Stream the events after `since` of a thread's runs, if they pass a filter."""
    body = await _read_object(request)
    event_filter = EventFilter.parse(body.get("channels"), body.get("namespaces"), body.get("depth"))
    since = parse_count(body.get("since")) or 0
    return await _stream(
        runtime, thread_id, since, lambda source: ProtocolReader(source, event_filter), logged=True
    )


@router.get("/stream", response_class=EventStreamResponse)
async def join_thread_stream(
    runtime: Runtime,
    thread_id: ThreadId,
    stream_mode: StringList = None,
    last_event_id: Annotated[str, Header()] = "",
) -> Response:
    """Stream the events of a thread's runs after `Last-Event-ID`; without it, only those of new runs."""
    modes = frozenset(stream_mode or ["run_modes"])
    if unknown := modes - THREAD_MODES:
        raise Invalid(f"stream_mode: {min(unknown)!r} is not one of {', '.join(sorted(THREAD_MODES))}")
    is_number = last_event_id.isdecimal() and last_event_id.isascii()
    since = int(last_event_id[:20]) if is_number else 0 if last_event_id in FROM_START else None
    return await _stream(
        runtime, thread_id, since, lambda source: ThreadModeReader(source, modes), logged=False
    )


async def _stream(
    runtime: OpenRuntime,
    thread_id: str,
    since: int | None,
    make_reader: Callable[[RunSource], NumberedReader],
    *,
    logged: bool,
) -> Response:
    wanted = await runtime.access.authorize("threads", "read", {"thread_id": thread_id})
    # Clients follow a thread before it exists.
    if not await runtime.may_reach(thread_id, wanted, if_missing=True):
        raise NotFound(f"Thread {thread_id} not found")
    events = ThreadEvents(
        thread_id,
        runtime.database,
        runtime.event_log,
        runtime.manager,
        runtime.clock,
        runtime.settings.heartbeat,
        partial(runtime.may_reach, thread_id, wanted),
    )
    batches = events.read_batches(since, make_reader, logged=logged)
    # Clients start runs as soon as they have the headers.
    await anext(batches)
    return ClosingStream(batches, EVENT_STREAM, on_close=lambda _complete: None)
