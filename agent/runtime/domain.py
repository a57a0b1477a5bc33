"""Domain of the runtime: threads, runs, assistants and their ids. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from langchain_core.utils.uuid import uuid7

from agent.errors import Invalid

ASSISTANT_NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
_EVENT_ID = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,14})")


class EventId(NamedTuple):
    """Position in a run's event log; compares in log order."""

    attempt: int
    seq: int

    def __str__(self) -> str:
        return f"{self.attempt}-{self.seq}"


START = EventId(0, 0)


def parse_event_id(text: str) -> EventId | None:
    """Parse a `Last-Event-ID`: `-1` and `0` mean the start; None if it is not an id of this runtime."""
    if text in {"-1", "0"}:
        return START
    found = _EVENT_ID.fullmatch(text)
    return EventId(int(found[1]), int(found[2])) if found else None


def new_id() -> str:
    """Return a new time-ordered UUID."""
    return str(uuid7())


def require_uuid(text: object, name: str) -> str:
    """Return a UUID in canonical form. Raises `Invalid`, referring to it as `name`."""
    if not isinstance(text, str) or not is_uuid(text):
        raise Invalid(f"Invalid {name}: must be a UUID")
    return str(UUID(text))


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID in any form."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def assistant_uuid(graph_id: str) -> str:
    """Return the id of a graph's system assistant, which is the same on every LangGraph API server."""
    return str(uuid5(ASSISTANT_NAMESPACE, graph_id))


Json = dict[str, Any]
USER_KEYS: Final = ("langgraph_auth_user", "langgraph_auth_user_id", "langgraph_auth_permissions")
"""Keys of `configurable` that describe a run's user; clients can't set them."""
Clock = Callable[[], float]
"""Seconds since the epoch."""


class RunStatus(StrEnum):
    """Status of a run in the LangGraph API."""

    PENDING = "pending"
    RUNNING = "running"
    ERROR = "error"
    SUCCESS = "success"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"


class ThreadStatus(StrEnum):
    """Status of a thread in the LangGraph API."""

    IDLE = "idle"
    BUSY = "busy"
    INTERRUPTED = "interrupted"
    ERROR = "error"


class MultitaskStrategy(StrEnum):
    """Handling of a new run whose thread is busy."""

    REJECT = "reject"
    INTERRUPT = "interrupt"
    ROLLBACK = "rollback"
    ENQUEUE = "enqueue"


class CancelAction(StrEnum):
    """Handling of a cancelled run: store it as interrupted, or roll it back."""

    INTERRUPT = "interrupt"
    ROLLBACK = "rollback"


NO_INTERRUPTS: Final = b"{}"
INFLIGHT: Final = (RunStatus.PENDING, RunStatus.RUNNING)


def to_iso(moment: float) -> str:
    """Format seconds since the epoch like the API (UTC, microseconds)."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread. `values` and `interrupts` are JSON bytes, ready to be served."""

    thread_id: str
    status: ThreadStatus
    metadata: Json
    created_at: float
    updated_at: float
    state_updated_at: float
    config: Json = field(default_factory=dict)
    values: bytes | None = None
    interrupts: bytes = NO_INTERRUPTS
    error: Json | None = None


@dataclass(frozen=True, slots=True)
class Expiry:
    """When a thread expires, and whether it is deleted then or only its past states (`keep_latest`)."""

    thread_id: str
    strategy: str
    minutes: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class Cron:
    """A schedule that starts runs, on its thread or each on a new one. Times are seconds since the epoch."""

    cron_id: str
    assistant_id: str
    thread_id: str | None
    schedule: str
    payload: Json
    """Request that created the cron, and that its runs repeat."""
    created_at: float
    updated_at: float
    next_run_at: float
    timezone: str | None = None
    end_time: float | None = None
    metadata: Json = field(default_factory=dict)
    on_run_completed: str | None = None
    """`delete` or `keep`, for the thread of each run when the run ends; None if all runs share a thread."""
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything needed to execute a run, also after a crash. Plain JSON."""

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
    """The run is stateless: its thread is deleted when it ends."""
    protocol: bool = False
    """True if the run's log contains events of the thread protocol."""
    webhook: str | None = None
    """URL that is called when the run has ended."""
    user: Json | None = None
    """The user who started the run."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run."""

    run_id: str
    thread_id: str
    assistant_id: str
    status: RunStatus
    spec: RunSpec
    multitask_strategy: MultitaskStrategy
    created_at: float
    updated_at: float
    attempt: int = 0
    lost: int = 0
    """Number of attempts that a crash ended."""
    order: int = 0
    """Creation order over all threads."""
    start_at: float | None = None
    error: Json | None = None
    owner: str = ""
    """Process that executes the run, as `store.leases` names it."""
    fence: int = 0
    """Number of times that a process took the run, which proves in writes that it was not taken since."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to store."""

    run_id: str
    thread_id: str
    spec: RunSpec
    multitask_strategy: MultitaskStrategy
    if_not_exists: str = "reject"
    idempotency_scope: str | None = None
    idempotency_key: str | None = None
    start_at: float | None = None
    unless_interrupted: bool = False
    """Refuse the run if the thread has an open interrupt."""
    ttl: tuple[str, float] | None = None
    """Strategy and minutes of the expiry of a thread that is created with the run."""
    wanted: Mapping[str, Any] | None = None
    """Filter that an existing thread must match."""
    thread_metadata: Json = field(default_factory=dict)
    """Metadata of a thread that is created with the run."""


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """Result of an attempt to execute a run, and what becomes of its thread."""

    status: RunStatus
    values: bytes | None = None
    interrupts: bytes = NO_INTERRUPTS
    error: Json | None = None
    is_waiting: bool = False
    """True if the thread has further steps, which wait for an answer or for a run without input."""
    usage: Json | None = None
    """Tokens used by the run, if the graph counts them."""


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """Webhook call for a run that has ended. The body does not yet contain the time at which it is sent."""

    run_id: str
    thread_id: str
    url: str
    host: str
    body: bytes
    next_at: float
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class RowPage:
    """A slice of a list, and the length of the whole list."""

    rows: tuple[Any, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Assistant:
    """A graph with default config, context and metadata."""

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


def usage_in(values: Any) -> Mapping[str, Any]:
    """Return the token usage in a state or metadata; empty if the graph does not count it."""
    found = values.get("usage") if isinstance(values, Mapping) else None
    return found if isinstance(found, Mapping) else {}
