"""States, threads, runs and assistants in the format of the LangGraph API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final

import orjson
from langgraph.types import Interrupt, StateSnapshot
from pydantic import BaseModel

from agent.errors import Invalid
from agent.runtime.domain import NO_INTERRUPTS, Assistant, Cron, Expiry, Json, Run, RunSpec, Thread, to_iso
from agent.runtime.encode import dumps, loads
from agent.runtime.graphs import AnyGraph
from agent.runtime.stream_modes import checkpoint_of

INTERRUPTS: Final = "__interrupt__"
"""Key of a run's open interrupts among its values."""


def interrupt_view(interrupt: Interrupt) -> Json:
    schema = interrupt.response_schema
    view = {"id": interrupt.id, "value": interrupt.value}
    return view if schema is None else {**view, "response_schema": schema}


def interrupts_view(state: StateSnapshot) -> Json:
    """Return a thread's interrupts by task id."""
    return {
        task.id: [interrupt_view(item) for item in task.interrupts] for task in state.tasks if task.interrupts
    }


def result_view(values: bytes | None, interrupts: bytes) -> bytes:
    """Return a run's result: its thread's values, with the open interrupts as `__interrupt__`."""
    if interrupts == NO_INTERRUPTS:
        return values or b"null"
    waiting = [{"response_schema": None, **item} for items in loads(interrupts).values() for item in items]
    found = {} if values is None else loads(values)
    return dumps({**found, INTERRUPTS: waiting} if isinstance(found, dict) else found)


def state_view(state: StateSnapshot) -> Json:
    checkpoint = checkpoint_of(state.config) if state.created_at is not None else None
    parent = checkpoint_of(state.parent_config)
    return {
        "values": state.values,
        "next": list(state.next),
        "tasks": [_task_view(task) for task in state.tasks],
        "metadata": _state_metadata(state.metadata, checkpoint),
        "created_at": state.created_at,
        "checkpoint": checkpoint,
        "parent_checkpoint": parent,
        "interrupts": [interrupt_view(item) for item in state.interrupts],
        "checkpoint_id": checkpoint and checkpoint["checkpoint_id"],
        "parent_checkpoint_id": parent and parent["checkpoint_id"],
    }


def _state_metadata(metadata: Any, checkpoint: Json | None) -> Json | None:
    """Return the metadata of a checkpoint with its thread, and its namespace if it is of a subgraph."""
    if metadata is None or checkpoint is None:
        return None
    if not checkpoint["checkpoint_ns"]:
        return {**metadata, "thread_id": checkpoint["thread_id"]}
    place = {key: checkpoint[key] for key in ("thread_id", "checkpoint_ns")}
    of_run = metadata.get("source") != "update"
    return {**metadata, **place, **({"checkpoint_map": metadata.get("parents", {})} if of_run else {})}


def _task_view(task: Any) -> Json:
    nested = task.state
    return {
        "id": task.id,
        "name": task.name,
        "path": list(task.path),
        "error": None if task.error is None else str(task.error),
        "interrupts": [interrupt_view(item) for item in task.interrupts],
        "checkpoint": checkpoint_of(nested) if isinstance(nested, dict) else None,
        "state": state_view(nested) if isinstance(nested, StateSnapshot) else None,
        "result": task.result,
    }


def thread_view(thread: Thread) -> Json:
    return {
        "thread_id": thread.thread_id,
        "created_at": to_iso(thread.created_at),
        "updated_at": to_iso(thread.updated_at),
        "state_updated_at": to_iso(thread.state_updated_at),
        "metadata": thread.metadata,
        "status": thread.status,
        "config": thread.config,
        "values": None if thread.values is None else orjson.Fragment(thread.values),
        "interrupts": orjson.Fragment(thread.interrupts),
        "error": thread.error,
    }


def cron_view(cron: Cron) -> Json:
    config = cron.payload.get("config") or {}
    configurable = {**(config.get("configurable") or {}), "cron_id": cron.cron_id}
    return {
        "cron_id": cron.cron_id,
        "assistant_id": cron.assistant_id,
        "thread_id": cron.thread_id,
        "user_id": (cron.payload.get("user") or {}).get("identity", ""),
        "end_time": None if cron.end_time is None else to_iso(cron.end_time),
        "schedule": cron.schedule,
        "timezone": cron.timezone,
        "payload": {
            **{key: value for key, value in cron.payload.items() if key != "user"},
            "config": {**config, "configurable": configurable},
        },
        "next_run_date": to_iso(cron.next_run_at),
        "metadata": cron.metadata,
        "on_run_completed": cron.on_run_completed,
        "enabled": cron.enabled,
        "created_at": to_iso(cron.created_at),
        "updated_at": to_iso(cron.updated_at),
    }


def expiry_view(expiry: Expiry) -> Json:
    return {
        "strategy": expiry.strategy,
        "ttl_minutes": expiry.minutes,
        "expires_at": to_iso(expiry.expires_at),
    }


def run_view(run: Run) -> Json:
    metadata = {**run.spec.metadata, "assistant_id": run.assistant_id}
    return {
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "assistant_id": run.assistant_id,
        "created_at": to_iso(run.created_at),
        "updated_at": to_iso(run.updated_at),
        "status": run.status,
        "metadata": metadata,
        "kwargs": _kwargs_view(run, metadata),
        "multitask_strategy": run.multitask_strategy,
        "langsmith_session_name": None,
    }


def _kwargs_view(run: Run, metadata: Json) -> Json:
    spec = run.spec
    settings = {**spec.config.get("configurable", {}), **(spec.context or {})}
    configurable = {
        **settings,
        **(spec.checkpoint or {}),
        "run_id": run.run_id,
        "thread_id": run.thread_id,
        "graph_id": spec.graph_id,
        "assistant_id": run.assistant_id,
    }
    durability = spec.durability or "async"
    return {
        "input": spec.input,
        "command": spec.command,
        "config": {**spec.config, "configurable": configurable, "metadata": metadata},
        "context": settings,
        "stream_mode": list(spec.stream_mode),
        "interrupt_before": spec.interrupt_before,
        "interrupt_after": spec.interrupt_after,
        "webhook": spec.webhook,
        "feedback_keys": list(spec.feedback_keys) or None,
        "subgraphs": spec.stream_subgraphs,
        "resumable": spec.stream_resumable,
        "temporary": spec.temporary_thread,
        "checkpoint_during": durability != "exit",
        "durability": durability,
    }


def assistant_view(assistant: Assistant) -> Json:
    view = {name: getattr(assistant, name) for name in Assistant.__slots__}
    return {**view, "created_at": to_iso(assistant.created_at), "updated_at": to_iso(assistant.updated_at)}


def select_keys(view: Json, select: Iterable[str] | None, *, known: bool = True) -> Json:
    """Keep only the keys in `select`; `values.messages` selects one key of an object.

    With `known`, raises `Invalid` for other keys.
    """
    if not select:
        return view
    chosen: Json = {}
    for path in select:
        key, _, inner = path.partition(".")
        if key not in view:
            if known:
                raise Invalid(f"select: unknown field {key!r}; known: {', '.join(view)}")
            continue
        if inner and isinstance(view[key], dict):
            chosen.setdefault(key, {})
            if inner in view[key]:
                chosen[key][inner] = view[key][inner]
        else:
            chosen[key] = view[key]
    return chosen


def run_context(graph: AnyGraph, spec: RunSpec) -> Any:
    """Return what the graph's context schema takes of the run's context, by default of `configurable`."""
    schema = graph.context_schema
    names = frozenset() if schema is None else _field_names(schema)
    if spec.context is not None and (not names or _is_model(schema)):
        # A model decides by itself about other names and aliases.
        return spec.context
    given = spec.config.get("configurable", {}) if spec.context is None else spec.context
    return {key: value for key, value in given.items() if key in names} or None


def _field_names(schema: Any) -> frozenset[str]:
    if is_dataclass(schema):
        return frozenset(item.name for item in fields(schema))
    return frozenset(schema.model_fields if _is_model(schema) else getattr(schema, "__annotations__", {}))


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)
