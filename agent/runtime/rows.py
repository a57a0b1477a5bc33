"""Between database rows and domain objects."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from agent.runtime.domain import (
    Assistant,
    Json,
    Multitask,
    NewRun,
    Run,
    RunSpec,
    RunStatus,
    Thread,
    ThreadStatus,
)
from agent.runtime.encode import dumps, loads


def thread_from(row: Any) -> Thread:
    """A thread row."""
    return Thread(
        thread_id=row.thread_id,
        status=ThreadStatus(row.status),
        metadata=row.metadata,
        config=row.config,
        values=row._mapping["values"],
        interrupts=row.interrupts,
        error=row.error,
        created_at=row.created_at,
        updated_at=row.updated_at,
        state_updated_at=row.state_updated_at,
    )


def thread_row(thread: Thread) -> Json:
    """Column values of a thread."""
    return {
        "thread_id": thread.thread_id,
        "status": str(thread.status),
        "metadata": thread.metadata,
        "config": thread.config,
        "values": thread.values,
        "interrupts": thread.interrupts,
        "error": thread.error,
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "state_updated_at": thread.state_updated_at,
    }


_SPEC_DEFAULTS = {item.name: item.default for item in fields(RunSpec) if item.name != "input"}


def spec_to_bytes(spec: RunSpec) -> bytes:
    """A spec as it is stored; defaults are left out."""
    kept = {"input": spec.input}
    for name, default in _SPEC_DEFAULTS.items():
        value = getattr(spec, name)
        if value not in (default, {}):
            kept[name] = value
    return dumps(kept)


def spec_from_bytes(data: bytes) -> RunSpec:
    """A stored spec."""
    raw = loads(data)
    for key in ("stream_mode", "interrupt_before", "interrupt_after", "feedback_keys"):
        if isinstance(raw.get(key), list):
            raw[key] = tuple(raw[key])
    return RunSpec(**raw)


def run_from(row: Any) -> Run:
    """A run row."""
    return Run(
        run_id=row.run_id,
        thread_id=row.thread_id,
        assistant_id=row.assistant_id,
        status=RunStatus(row.status),
        # The column has what was added when the run ended.
        spec=replace(spec_from_bytes(row.spec), metadata=row.metadata),
        multitask_strategy=Multitask(row.multitask_strategy),
        created_at=row.created_at,
        updated_at=row.updated_at,
        attempt=row.attempt,
        lost=row.lost,
        order=row.order,
        start_at=row.start_at,
        error=row.error,
    )


def run_row(new: NewRun, *, status: RunStatus, attempt: int, now: float) -> Json:
    """Column values of a new run."""
    return {
        "run_id": new.run_id,
        "thread_id": new.thread_id,
        "assistant_id": new.spec.assistant_id,
        "status": str(status),
        "metadata": new.spec.metadata,
        "spec": spec_to_bytes(new.spec),
        "multitask_strategy": str(new.multitask_strategy),
        "attempt": attempt,
        "lost": 0,
        "start_at": new.start_at,
        "idempotency_scope": new.idempotency_scope,
        "idempotency_key": new.idempotency_key,
        "error": None,
        "log_events": 0,
        "keeps_log": new.spec.stream_resumable,
        "created_at": now,
        "updated_at": now,
    }


def assistant_from(row: Any) -> Assistant:
    """An assistant row."""
    return Assistant(**{key: row._mapping[key] for key in Assistant.__slots__})
