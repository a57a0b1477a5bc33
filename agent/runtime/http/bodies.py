"""Request bodies of the LangGraph API."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Json = dict[str, Any]
Limit = Field(default=10, ge=1, le=1000)
Offset = Field(default=0, ge=0)


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore")


class RunBody(_Body):
    """Creation of a run, in each of its forms."""

    assistant_id: str
    input: Any = None
    command: Json | None = None
    stream_mode: str | list[str] | None = None
    stream_subgraphs: bool = False
    stream_resumable: bool = False
    metadata: Json = Field(default_factory=dict)
    config: Json = Field(default_factory=dict)
    context: Json | None = None
    checkpoint: Json | None = None
    checkpoint_id: str | None = None
    checkpoint_during: bool | None = None
    interrupt_before: Literal["*"] | list[str] | None = None
    interrupt_after: Literal["*"] | list[str] | None = None
    feedback_keys: list[str] = Field(default_factory=list)
    on_disconnect: Literal["cancel", "continue"] = "continue"
    on_completion: Literal["delete", "keep"] | None = None
    webhook: str | None = None
    multitask_strategy: Literal["reject", "interrupt", "rollback", "enqueue"] = "enqueue"
    if_not_exists: Literal["create", "reject"] = "reject"
    after_seconds: float | None = Field(default=None, ge=0)
    durability: Literal["sync", "async", "exit"] | None = None
    thread_id: str | None = None


class Update(_Body):
    """One state update."""

    values: Any = None
    command: Json | None = None
    as_node: str | None = None


class Superstep(_Body):
    """Updates that count as one step."""

    updates: list[Update]


class ThreadBody(_Body):
    """Creation of a thread."""

    thread_id: str | None = None
    metadata: Json = Field(default_factory=dict)
    if_exists: Literal["raise", "do_nothing"] = "raise"
    supersteps: list[Superstep] | None = None
    ttl: Any = None


class ThreadPatch(_Body):
    """Change of a thread."""

    metadata: Json = Field(default_factory=dict)
    ttl: Any = None


class ThreadSearch(_Body):
    """Search or count of threads."""

    metadata: Json | None = None
    values: Json | None = None
    ids: list[str] | None = None
    status: Literal["idle", "busy", "interrupted", "error"] | None = None
    limit: int = Limit
    offset: int = Offset
    sort_by: Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"
    select: list[str] | None = None
    extract: Json | None = None


class ThreadPrune(_Body):
    """Pruning of threads."""

    thread_ids: list[str]
    strategy: Literal["delete", "keep_latest"] = "delete"


class StateUpdate(_Body):
    """Change of a thread's state."""

    values: Any = None
    as_node: str | None = None
    checkpoint: Json | None = None
    checkpoint_id: str | None = None


class StateAt(_Body):
    """Which state to read."""

    checkpoint: Json = Field(default_factory=dict)
    subgraphs: bool = False
    select: list[str] | None = None


class History(_Body):
    """Which part of a thread's history to read."""

    limit: int = Limit
    before: str | Json | None = None
    metadata: Json | None = None
    checkpoint: Json | None = None
    select: list[str] | None = None


class CancelMany(_Body):
    """Which runs to cancel."""

    thread_id: str | None = None
    run_ids: list[str] | None = None
    status: Literal["pending", "running", "all"] | None = None


class AssistantBody(_Body):
    """Creation of an assistant."""

    graph_id: str
    assistant_id: str | None = None
    config: Json = Field(default_factory=dict)
    context: Json = Field(default_factory=dict)
    metadata: Json = Field(default_factory=dict)
    if_exists: Literal["raise", "do_nothing"] = "raise"
    name: str | None = None
    description: str | None = None


class AssistantPatch(_Body):
    """Change of an assistant."""

    graph_id: str | None = None
    config: Json | None = None
    context: Json | None = None
    metadata: Json | None = None
    name: str | None = None
    description: str | None = None


class AssistantSearch(_Body):
    """Search or count of assistants."""

    metadata: Json | None = None
    graph_id: str | None = None
    name: str | None = None
    limit: int = Limit
    offset: int = Offset
    sort_by: Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"] = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"
    select: list[str] | None = None


class Item(_Body):
    """A store item to keep."""

    namespace: list[str]
    key: str
    value: Json
    index: Literal[False] | list[str] | None = None
    ttl: float | None = None


class ItemKey(_Body):
    """A store item to drop."""

    namespace: list[str] = Field(default_factory=list)
    key: str


class ItemSearch(_Body):
    """Search of store items."""

    namespace_prefix: list[str] = Field(default_factory=list)
    filter: Json | None = None
    query: str | None = None
    limit: int = Limit
    offset: int = Offset


class Namespaces(_Body):
    """Listing of namespaces."""

    prefix: list[str] | None = None
    suffix: list[str] | None = None
    max_depth: int | None = Field(default=None, ge=1)
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Offset
