"""What the runtime keeps: threads, runs, assistants. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

Json = dict[str, Any]
Clock = Callable[[], float]
"""Seconds since the epoch."""


class RunStatus(StrEnum):
    """States of a run as the LangGraph API names them."""

    PENDING = "pending"
    RUNNING = "running"
    ERROR = "error"
    SUCCESS = "success"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"


class ThreadStatus(StrEnum):
    """States of a thread as the LangGraph API names them."""

    IDLE = "idle"
    BUSY = "busy"
    INTERRUPTED = "interrupted"
    ERROR = "error"


class Multitask(StrEnum):
    """What a new run does when its thread is busy."""

    REJECT = "reject"
    INTERRUPT = "interrupt"
    ROLLBACK = "rollback"
    ENQUEUE = "enqueue"


class CancelAction(StrEnum):
    """What becomes of a cancelled run: kept as interrupted, or undone."""

    INTERRUPT = "interrupt"
    ROLLBACK = "rollback"


INFLIGHT: Final = (RunStatus.PENDING, RunStatus.RUNNING)


def iso(moment: float) -> str:
    """Seconds since the epoch as the API writes times (UTC, microseconds)."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread row. `values` and `interrupts` are JSON bytes, as they are served."""

    thread_id: str
    status: ThreadStatus
    metadata: Json
    created_at: float
    updated_at: float
    state_updated_at: float
    config: Json = field(default_factory=dict)
    values: bytes | None = None
    interrupts: bytes = b"{}"
    error: Json | None = None


@dataclass(frozen=True, slots=True)
class RunSpec:
    """All that a run needs to be executed, also again after a crash. Plain JSON."""

    graph_id: str
    assistant_id: str
    input: Any = None
    command: Json | None = None
    config: Json = field(default_factory=dict)
    context: Json | None = None
    metadata: Json = field(default_factory=dict)
    checkpoint: Json | None = None
    stream_mode: tuple[str, ...] = ("values",)
    stream_subgraphs: bool = False
    stream_resumable: bool = False
    interrupt_before: str | tuple[str, ...] | None = None
    interrupt_after: str | tuple[str, ...] | None = None
    durability: str | None = None
    feedback_keys: tuple[str, ...] = ()
    temporary_thread: bool = False
    """A stateless run whose thread goes when it ends."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run row."""

    run_id: str
    thread_id: str
    assistant_id: str
    status: RunStatus
    spec: RunSpec
    multitask_strategy: Multitask
    created_at: float
    updated_at: float
    attempt: int = 0
    lost: int = 0
    """Attempts that a crash cut off."""
    order: int = 0
    """Creation order over all threads."""
    start_at: float | None = None
    error: Json | None = None


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be stored."""

    run_id: str
    thread_id: str
    spec: RunSpec
    multitask_strategy: Multitask
    if_not_exists: str = "reject"
    idempotency_scope: str | None = None
    idempotency_key: str | None = None
    start_at: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended."""

    status: RunStatus
    values: bytes | None = None
    interrupts: bytes = b"{}"
    error: Json | None = None
    interrupted_by_graph: bool = False
    usage: Json | None = None
    """Tokens that it took, where the graph counts them."""


@dataclass(frozen=True, slots=True)
class Page:
    """A slice of a list and how many there are in all."""

    rows: tuple[Any, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Assistant:
    """A graph with its defaults."""

    assistant_id: str
    graph_id: str
    name: str
    created_at: float
    updated_at: float
    description: str | None = None
    config: Json = field(default_factory=dict)
    context: Json = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
