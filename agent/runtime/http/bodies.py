"""Request bodies of the LangGraph API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
)

from agent.runtime.domain import require_uuid

Json = dict[str, Any]
Limit = Field(default=10, ge=1, le=1000)
MAX_OFFSET: Final = 1_000_000_000
"""Largest offset and version in a request; databases store integers of 64 bits."""
Offset = Field(default=0, ge=0, le=MAX_OFFSET)
MAX_TTL_MINUTES = 100 * 365 * 24 * 60


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")


class RunConfig(BaseModel):
    """Typed fields of a run's `config`; other fields are passed on unchanged."""

    tags: list[StrictStr] | None = None
    metadata: Json | None = None
    configurable: Json | None = None
    recursion_limit: Annotated[StrictInt, Field(ge=1)] | None = None
    max_concurrency: Annotated[StrictInt, Field(ge=1)] | None = None
    run_name: StrictStr | None = None


def _check_config(config: Json) -> Json:
    RunConfig.model_validate(config)
    return {key: value for key, value in config.items() if value is not None}


Config = Annotated[Json, AfterValidator(_check_config)]


class RunCommand(_Body):
    """Answers to interrupts, an update of the state, and nodes to go to."""

    resume: Any = None
    update: Json | list[Any] | None = None
    goto: str | Json | list[str | Json] | None = None


def _check_command(command: Json) -> Json:
    RunCommand.model_validate(command)
    return command


def _check_checkpoint_id(value: str) -> str:
    return require_uuid(value, "checkpoint id")


class RunCreate(_Body):
    """Run to start, whether in the background, as a stream or to wait for."""

    assistant_id: str
    input: Any = None
    command: Annotated[Json, AfterValidator(_check_command)] | None = None
    stream_mode: str | list[str] | None = None
    stream_subgraphs: bool = False
    stream_resumable: bool = False
    metadata: Json = Field(default_factory=dict)
    config: Config = Field(default_factory=dict)
    context: Json | None = None
    checkpoint: Json | None = None
    checkpoint_id: Annotated[str, AfterValidator(_check_checkpoint_id)] | None = None
    checkpoint_during: bool | None = None
    interrupt_before: Literal["*"] | list[str] | None = None
    interrupt_after: Literal["*"] | list[str] | None = None
    feedback_keys: list[str] = Field(default_factory=list)
    on_disconnect: Literal["cancel", "continue"] = "continue"
    on_completion: Literal["delete", "keep"] | None = None
    webhook: Annotated[str, Field(min_length=1)] | None = None
    multitask_strategy: Literal["reject", "interrupt", "rollback", "enqueue"] = "enqueue"
    if_not_exists: Literal["create", "reject"] = "reject"
    after_seconds: float | None = Field(default=None, ge=0)
    durability: Literal["sync", "async", "exit"] | None = None
    thread_id: str | None = None


class CronCreate(RunCreate):
    """Cron to create: a schedule, and the run that it starts."""

    schedule: str
    timezone: str | None = None
    end_time: datetime | None = None
    enabled: bool = True
    on_run_completed: Literal["delete", "keep"] = "delete"


class CronPatch(_Body):
    """Fields of a cron to change; null clears `end_time`."""

    schedule: str = ""
    timezone: str | None = None
    end_time: datetime | None = None
    enabled: StrictBool = True
    on_run_completed: Literal["delete", "keep"] = "delete"
    input: Any = None
    metadata: Json | None = None
    config: Config = Field(default_factory=dict)
    context: Json | None = None
    webhook: str | None = None
    interrupt_before: Literal["*"] | list[str] | None = None
    interrupt_after: Literal["*"] | list[str] | None = None
    stream_mode: str | list[str] | None = None
    stream_subgraphs: bool = False
    stream_resumable: bool = False
    durability: Literal["sync", "async", "exit"] | None = None


class CronSearch(_Body):
    """Filters, sort order and page for a cron search."""

    assistant_id: str | None = None
    thread_id: str | None = None
    enabled: bool | None = None
    metadata: Json | None = None
    limit: int = Limit
    offset: int = Offset
    sort_by: Literal[
        "cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at"
    ] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"
    select: list[str] | None = None


class StateUpdateItem(_Body):
    """Update of a thread's state."""

    values: Any = None
    command: Json | None = None
    as_node: str | None = None


class StateSuperstep(_Body):
    """State updates that form one step."""

    updates: list[StateUpdateItem]


class ThreadExpiry(_Body):
    """Minutes after which a thread expires, and what is deleted then."""

    ttl: float | None = Field(default=None, ge=0, le=MAX_TTL_MINUTES)
    strategy: Literal["delete", "keep_latest"] = "delete"


def _read_expiry(value: Any) -> Any:
    return {"ttl": value} if isinstance(value, int | float) else value


Ttl = Annotated[ThreadExpiry, BeforeValidator(_read_expiry)]


class ThreadCreate(_Body):
    """Thread to create."""

    thread_id: str | None = None
    metadata: Json = Field(default_factory=dict)
    if_exists: Literal["raise", "do_nothing"] = "raise"
    supersteps: list[StateSuperstep] | None = None
    ttl: Ttl | None = None


class ThreadPatch(_Body):
    """Metadata to merge into a thread."""

    metadata: Json = Field(default_factory=dict)
    ttl: Ttl | None = None


class ThreadSearch(_Body):
    """Filters, sort order and page for a thread search."""

    metadata: Json | None = None
    values: Json | None = None
    ids: list[str] | None = None
    status: Literal["idle", "busy", "interrupted", "error"] | None = None
    limit: int = Limit
    offset: int = Offset
    sort_by: Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"] = "updated_at"
    sort_order: Literal["asc", "desc"] = "desc"
    select: list[str] | None = None
    extract: dict[str, str] | None = None


class ThreadPrune(_Body):
    """Threads to delete."""

    thread_ids: list[str]
    strategy: Literal["delete", "keep_latest"] = "delete"


class ThreadStateUpdate(_Body):
    """Values to write to a thread's state."""

    values: Any = None
    as_node: str | None = None
    checkpoint: Json | None = None
    checkpoint_id: str | None = None


class ThreadStateRead(_Body):
    """Checkpoint whose state to return."""

    checkpoint: Json = Field(default_factory=dict)
    subgraphs: bool = False
    select: list[str] | None = None


class ThreadHistory(_Body):
    """Filters and page for a thread's history."""

    limit: int = Limit
    before: str | Json | None = None
    metadata: Json | None = None
    checkpoint: Json | None = None
    select: list[str] | None = None


class RunsCancel(_Body):
    """Runs to cancel, by id, thread or status."""

    thread_id: str | None = None
    run_ids: list[str] | None = None
    status: Literal["pending", "running", "all"] | None = None


def _check_text(value: str) -> str:
    if "\0" in value:
        raise ValueError("must not contain a NUL character, which databases can't store")
    return value


PlainText = Annotated[str, AfterValidator(_check_text)]


class AssistantCreate(_Body):
    """Assistant to create."""

    graph_id: str
    assistant_id: str | None = None
    config: Config = Field(default_factory=dict)
    context: Json = Field(default_factory=dict)
    metadata: Json = Field(default_factory=dict)
    if_exists: Literal["raise", "do_nothing"] = "raise"
    name: PlainText | None = None
    description: PlainText | None = None


class AssistantPatch(_Body):
    """Assistant fields to change; null leaves a field unchanged."""

    graph_id: str | None = None
    config: Config | None = None
    context: Json | None = None
    metadata: Json | None = None
    name: PlainText | None = None
    description: PlainText | None = None


class AssistantSearch(_Body):
    """Filters, sort order and page for an assistant search."""

    metadata: Json | None = None
    graph_id: str | None = None
    name: PlainText | None = None
    limit: int = Limit
    offset: int = Offset
    sort_by: Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"
    select: list[str] | None = None


class VersionSearch(_Body):
    """Filters and page for a list of an assistant's versions."""

    metadata: Json | None = None
    limit: int = Limit
    offset: int = Offset


class VersionChange(_Body):
    """Version of an assistant to make current."""

    version: int = Field(ge=0, le=MAX_OFFSET)


class StorePut(_Body):
    """Store item to write."""

    namespace: list[str]
    key: str
    value: Json
    index: Literal[False] | list[str] | None = None
    ttl: float | None = None


class StoreDelete(_Body):
    """Store item to delete."""

    namespace: list[str] = Field(default_factory=list)
    key: str


class StoreSearch(_Body):
    """Filters and page for an item search."""

    namespace_prefix: list[str] = Field(default_factory=list)
    filter: Json | None = None
    query: str | None = None
    limit: int = Limit
    offset: int = Offset


class StoreListNamespaces(_Body):
    """Filters and page for a namespace list."""

    prefix: list[str] | None = None
    suffix: list[str] | None = None
    max_depth: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Offset
