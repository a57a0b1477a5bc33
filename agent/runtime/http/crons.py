"""Routes of crons."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Body
from pydantic import AfterValidator
from starlette.responses import Response

from agent.errors import BadRequest, NotFound
from agent.runtime.access import allows
from agent.runtime.crons import find_next_run, read_zone
from agent.runtime.domain import Cron, Json, assistant_uuid, new_id, require_uuid
from agent.runtime.http.base import OpenRuntime, Runtime, ThreadId, json_response, pagination_headers
from agent.runtime.http.bodies import CronCreate, CronPatch, CronSearch, RunCreate
from agent.runtime.http.run_creation import Creation, RunCreation, make_spec
from agent.runtime.http.runs import start_run
from agent.runtime.serializers import cron_view, select_keys
from agent.runtime.store import crons
from agent.shared.json_routes import make_router

router = make_router("crons")
CronId = Annotated[str, AfterValidator(lambda text: require_uuid(text, "cron id"))]
_OWN = ("schedule", "timezone", "end_time", "enabled", "on_run_completed", "user")
"""Fields of a cron's payload that do not belong to its runs."""


@router.post("/runs/crons")
async def create_cron(creation: Creation, body: CronCreate) -> Response:
    """Create a cron whose runs each have a new thread."""
    return await _create(creation, body, None)


@router.post("/threads/{thread_id}/runs/crons")
async def create_thread_cron(creation: Creation, thread_id: ThreadId, body: CronCreate) -> Response:
    """Create a cron whose runs use this thread."""
    return await _create(creation, body, thread_id)


async def _create(creation: RunCreation, body: CronCreate, thread_id: str | None) -> Response:
    runtime = creation.runtime
    cron_id, now = new_id(), runtime.clock()
    assistant = await runtime.find_assistant(body.assistant_id, otherwise=NotFound)
    payload = {**body.model_dump(mode="json", exclude_unset=True), "assistant_id": assistant.assistant_id}
    value: Json = {"cron_id": cron_id, "thread_id": thread_id, "payload": payload, "metadata": body.metadata}
    user = runtime.access.user
    value |= {"schedule": body.schedule, "end_time": body.end_time, "user_id": user and user.identity}
    await runtime.access.authorize("crons", "create", value)
    if assistant.assistant_id != assistant_uuid(assistant.graph_id):
        await runtime.authorize_assistant(assistant.assistant_id, "read", {})
    if thread_id is not None:
        await runtime.authorize_thread(thread_id, "read")
    zone = await asyncio.to_thread(read_zone, body.timezone)
    cron = Cron(
        cron_id=cron_id,
        assistant_id=assistant.assistant_id,
        thread_id=thread_id,
        schedule=body.schedule,
        timezone=body.timezone,
        end_time=None if body.end_time is None else body.end_time.timestamp(),
        payload=value["payload"],
        metadata=value["metadata"],
        on_run_completed=None if thread_id else body.on_run_completed,
        enabled=body.enabled,
        created_at=now,
        updated_at=now,
        next_run_at=find_next_run(body.schedule, zone, now),
    )
    return await _store(creation, cron)


async def _store(creation: RunCreation, cron: Cron) -> Response:
    """Store a cron whose runs would be accepted from this client, and work for the client's user."""
    if (user := creation.runtime.access.user) is not None:
        cron = replace(cron, payload={**cron.payload, "user": user})
    await make_spec(creation, _make_body(cron), temporary=False)
    await creation.runtime.database.write(crons.put_cron, cron)
    creation.runtime.crons.notify()
    return json_response(cron_view(cron))


def _make_body(cron: Cron) -> RunCreate:
    fields = {key: value for key, value in cron.payload.items() if key not in _OWN}
    metadata = {**cron.metadata, "cron_id": cron.cron_id}
    keep = "keep" if cron.on_run_completed == "keep" else None
    return RunCreate.model_validate({**fields, "metadata": metadata, "on_completion": keep})


async def start_cron_run(runtime: OpenRuntime, cron: Cron) -> None:
    """Start the run of a cron that is due. Raises `AgentError`."""
    # Its identity was checked when the cron was stored, but perhaps without a signing key.
    trusted = runtime.settings.signing_key is None
    if (auth := runtime.settings.project.auth) is not None and (user := cron.payload.get("user")):
        runtime = replace(runtime, access=auth.access_of(user))
    key = f"cron {cron.cron_id} {cron.next_run_at:.0f}"
    creation = RunCreation(runtime, trusted, None, key, unless_interrupted=False)
    await start_run(creation, _make_body(cron), cron.thread_id)


@router.post("/runs/crons/search")
async def search_crons(
    runtime: Runtime, body: Annotated[CronSearch, Body(default_factory=CronSearch)]
) -> Response:
    """Search crons."""
    page = await runtime.database.read(crons.search_crons, await _to_query(runtime, body))
    views = [select_keys(cron_view(cron), body.select) for cron in page.rows]
    headers = pagination_headers(page.total, offset=body.offset, limit=body.limit)
    return json_response(views, headers=headers)


@router.post("/runs/crons/count")
async def count_crons(
    runtime: Runtime, body: Annotated[CronSearch, Body(default_factory=CronSearch)]
) -> Response:
    """Count matching crons."""
    return json_response(await runtime.database.read(crons.count_crons, await _to_query(runtime, body)))


async def _to_query(runtime: OpenRuntime, body: CronSearch) -> crons.CronQuery:
    access, thread_id = runtime.access, body.thread_id
    value = {**body.model_dump(include={"assistant_id", "thread_id", "limit", "offset"})}
    value["metadata"] = body.metadata or {}
    return crons.CronQuery(
        wanted=await access.authorize("crons", "search", value),
        threads_wanted=await access.authorize(
            "threads", "read" if thread_id else "search", {"thread_id": thread_id, "metadata": {}}
        ),
        assistant_id=body.assistant_id and require_uuid(body.assistant_id, "assistant id"),
        thread_id=body.thread_id and require_uuid(body.thread_id, "thread id"),
        enabled=body.enabled,
        metadata=value["metadata"],
        limit=body.limit,
        offset=body.offset,
        sort_by="next_run_at" if body.sort_by == "next_run_date" else body.sort_by,
        descending=body.sort_order == "desc",
    )


@router.get("/runs/crons/{cron_id}")
async def get_cron(runtime: Runtime, cron_id: CronId) -> Response:
    """Return a cron."""
    return json_response(cron_view(await _find_cron(runtime, cron_id, "read", {})))


async def _find_cron(runtime: OpenRuntime, cron_id: str, action: str, value: Json) -> Cron:
    """Return a cron on which the caller may act. Raises `NotFound`, `Refused`."""
    value["cron_id"] = cron_id
    wanted = await runtime.access.authorize("crons", action, value)
    cron = await runtime.database.read(crons.get_cron, cron_id)
    if not allows(wanted, cron.metadata):
        raise NotFound(f"Cron {cron_id} not found")
    return cron


@router.patch("/runs/crons/{cron_id}")
async def patch_cron(creation: Creation, cron_id: CronId, body: CronPatch) -> Response:
    """Change fields of a cron. Metadata is merged."""
    runtime = creation.runtime
    changes: Json = body.model_dump(mode="json", exclude_unset=True)
    if not changes:
        raise BadRequest("The body is empty: name at least one field to change")
    value: Json = {"payload": changes, "schedule": body.schedule, "metadata": body.metadata or {}}
    cron = await _find_cron(runtime, cron_id, "update", value)
    columns: dict[str, Any] = {name: changes[name] for name in _OWN if name in changes}
    if "end_time" in columns:
        columns["end_time"] = None if body.end_time is None else body.end_time.timestamp()
    columns["metadata"] = {**cron.metadata, **value["metadata"]}
    cron = replace(cron, **columns, payload={**cron.payload, **changes}, updated_at=runtime.clock())
    zone = await asyncio.to_thread(read_zone, cron.timezone)
    return await _store(
        creation, replace(cron, next_run_at=find_next_run(cron.schedule, zone, runtime.clock()))
    )


@router.delete("/runs/crons/{cron_id}", status_code=204)
async def delete_cron(runtime: Runtime, cron_id: CronId) -> Response:
    """Delete a cron. Runs that it has started continue."""
    await _find_cron(runtime, cron_id, "delete", {})
    await runtime.database.write(crons.delete_cron, cron_id)
    return Response(status_code=204)
