"""Requests that create runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from fastapi import Depends, Request

from agent.errors import BadRequest
from agent.runtime.domain import USER_KEYS, Json, RunSpec, assistant_uuid
from agent.runtime.http.base import OpenRuntime, Runtime
from agent.runtime.http.bodies import RunCreate
from agent.runtime.http.trust import Trusted, check_authors, check_identity, require_trust, stored_settings
from agent.runtime.stream_modes import require_modes
from agent.shared.compaction import UNLESS_INTERRUPTED_HEADER
from agent.shared.request_signature import IDEMPOTENCY_HEADER


class RunCreation(NamedTuple):
    """Dependencies and headers for a request that creates a run."""

    runtime: OpenRuntime
    trusted: bool
    model_name: str | None
    idempotency_key: str | None
    unless_interrupted: bool
    configurable: Mapping[str, str] = MappingProxyType({})
    """Headers that the run finds in `configurable`."""


async def read_creation(request: Request, runtime: Runtime, trusted: Trusted) -> RunCreation:
    """Read the headers of a creation request."""
    headers = request.headers
    rules = runtime.settings.project.headers
    return RunCreation(
        runtime,
        trusted,
        headers.get("x-model"),
        headers.get(IDEMPOTENCY_HEADER),
        UNLESS_INTERRUPTED_HEADER in headers,
        {} if rules is None else rules.select(headers),
    )


Creation = Annotated[RunCreation, Depends(read_creation)]


_ASKED: Final = {"metadata", "multitask_strategy", "if_not_exists", "after_seconds"}
"""Fields of a body that handlers find in the value of `create_run`; the others are in its `kwargs`."""


async def authorize_run(
    runtime: OpenRuntime, body: RunCreate, thread_id: str | None
) -> tuple[RunCreate, Json]:
    """Ask whether the caller may start a run on a thread (None: a new one). Raises `NotFound`, `Refused`.

    Return the body as a handler has changed it, and the fields of a `NewRun` that restrict it to the caller.
    """
    if runtime.access.user is None:
        return body, {}
    assistant = await runtime.find_assistant(body.assistant_id)
    kwargs = body.model_dump(exclude={*_ASKED, "assistant_id", "thread_id"})
    kwargs["config"].setdefault("configurable", {})
    value = {**body.model_dump(include=_ASKED), "kwargs": kwargs, "status": "pending", "run_id": None}
    value |= {"thread_id": thread_id, "assistant_id": assistant.assistant_id}
    wanted = await runtime.access.authorize("threads", "create_run", value)
    if assistant.assistant_id != assistant_uuid(assistant.graph_id):
        await runtime.authorize_assistant(assistant.assistant_id, "read", {})
    body = body.model_copy(update={**value["kwargs"], "metadata": value["metadata"]})
    return body, {"wanted": wanted, "thread_metadata": body.metadata}


async def make_spec(creation: RunCreation, body: RunCreate, *, temporary: bool) -> RunSpec:
    """Return the specification of a run. Raises `Forbidden` for content that only the bot may send."""
    webhook = None if "webhooks" in creation.runtime.settings.project.disabled else body.webhook
    if webhook is not None:
        await creation.runtime.webhooks.check(webhook)
    configurable = body.config.get("configurable") or {}
    check_identity(creation.trusted, (configurable, creation.configurable, body.context))
    check_authors(creation.trusted, body.input)
    if body.command is not None:
        require_trust(creation.trusted, "a command, such as the answer to an interrupt,")
    assistant = await creation.runtime.find_assistant(body.assistant_id)
    stored = stored_settings(creation.runtime, assistant.config.get("configurable", {}))
    stored_context = stored_settings(creation.runtime, assistant.context)
    if body.context is not None and configurable:
        raise BadRequest("Give either context or config.configurable, not both")
    config = {**assistant.config, **body.config}
    chosen = {**stored, **configurable, **creation.configurable}
    context = {**stored_context, **(body.context or configurable)}
    if body.context is None and not stored_context:
        context = {}
    model = creation.model_name
    if model and "model_name" not in chosen and "model_name" not in context:
        chosen["model_name"] = model
    config.pop("configurable", None)
    chosen, context = (
        {key: value for key, value in settings.items() if key not in USER_KEYS}
        for settings in (chosen, context)
    )
    if chosen:
        config["configurable"] = chosen
    durability = body.durability
    if body.checkpoint_during is not None and durability is None:
        durability = "async" if body.checkpoint_during else "exit"
    return RunSpec(
        graph_id=assistant.graph_id,
        assistant_id=assistant.assistant_id,
        input=body.input,
        command=body.command,
        config=config,
        context=context or None,
        metadata={**assistant.metadata, **body.metadata},
        checkpoint=body.checkpoint or ({"checkpoint_id": body.checkpoint_id} if body.checkpoint_id else None),
        stream_mode=require_modes(body.stream_mode),
        stream_subgraphs=body.stream_subgraphs,
        stream_resumable=body.stream_resumable,
        interrupt_before=_to_names(body.interrupt_before),
        interrupt_after=_to_names(body.interrupt_after),
        durability=durability,
        feedback_keys=tuple(body.feedback_keys),
        temporary_thread=temporary,
        webhook=webhook,
        user=creation.runtime.access.user,
    )


def _to_names(nodes: str | list[str] | None) -> str | tuple[str, ...] | None:
    return tuple(nodes) if isinstance(nodes, list) else nodes
