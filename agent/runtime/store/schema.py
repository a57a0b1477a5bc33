"""Tables of the runtime."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

from agent.runtime.encode import dumps, loads


class JsonText(TypeDecorator[Any]):
    """JSON stored as text, so that SQLite's json_extract can read it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else dumps(value).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else loads(value)


metadata = MetaData()

threads = Table(
    "threads",
    metadata,
    Column("thread_id", String(36), primary_key=True),
    Column("status", String(12), nullable=False),
    Column("metadata", JsonText, nullable=False),
    Column("config", JsonText, nullable=False),
    Column("values", LargeBinary),
    Column("interrupts", LargeBinary, nullable=False),
    Column("error", JsonText),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("state_updated_at", Float, nullable=False),
    Index("threads_by_update", "updated_at"),
    Index("threads_by_creation", "created_at"),
)

runs = Table(
    "runs",
    metadata,
    Column("order", Integer, primary_key=True, autoincrement=True),
    Column("run_id", String(36), nullable=False, unique=True),
    Column("thread_id", String(36), nullable=False),
    Column("assistant_id", String(36), nullable=False),
    Column("status", String(12), nullable=False),
    Column("metadata", JsonText, nullable=False),
    Column("spec", LargeBinary, nullable=False),
    Column("multitask_strategy", String(10), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("start_at", Float),
    Column("idempotency_scope", Text),
    Column("idempotency_key", Text),
    Column("error", JsonText),
    Column("log_events", Integer, nullable=False),
    Column("keeps_log", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("owner", Text),
    Column("fence", Integer, nullable=False, server_default="0"),
    Column("stop", String(9)),
    UniqueConstraint("idempotency_scope", "idempotency_key", name="runs_idempotency"),
    Index("runs_of_thread", "thread_id", "order"),
    sqlite_autoincrement=True,
)
_IN_FLIGHT = runs.c.status.in_(["pending", "running"])
_HAS_LOG = runs.c.log_events > 0
inflight_index = Index("runs_in_flight", runs.c.order, sqlite_where=_IN_FLIGHT, postgresql_where=_IN_FLIGHT)
log_index = Index("runs_with_log", runs.c.updated_at, sqlite_where=_HAS_LOG, postgresql_where=_HAS_LOG)

events = Table(
    "events",
    metadata,
    Column("run_id", String(36), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("last", Integer, primary_key=True),
    Column("first", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

assistants = Table(
    "assistants",
    metadata,
    Column("assistant_id", String(36), primary_key=True),
    Column("graph_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("config", JsonText, nullable=False),
    Column("context", JsonText, nullable=False),
    Column("metadata", JsonText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
)

_VERSION_KEY = ("assistant_id", "version")
assistant_versions = Table(
    "assistant_versions",
    metadata,
    *(
        Column(one.name, one.type, primary_key=one.name in _VERSION_KEY, nullable=one.nullable)
        for one in assistants.columns
        if one.name != "updated_at"
    ),
)

thread_expiries = Table(
    "thread_expiries",
    metadata,
    Column("thread_id", String(36), primary_key=True),
    Column("strategy", String(11), nullable=False),
    Column("minutes", Float, nullable=False),
    Column("expires_at", Float, nullable=False, index=True),
)

crons = Table(
    "crons",
    metadata,
    Column("cron_id", String(36), primary_key=True),
    Column("assistant_id", String(36), nullable=False),
    Column("thread_id", String(36)),
    Column("schedule", Text, nullable=False),
    Column("payload", JsonText, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("next_run_at", Float, nullable=False, index=True),
    Column("timezone", Text),
    Column("end_time", Float),
    Column("metadata", JsonText, nullable=False),
    Column("on_run_completed", String(6)),
    Column("enabled", Boolean, nullable=False),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("run_id", String(36), primary_key=True),
    Column("thread_id", String(36), nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_at", Float, nullable=False, index=True),
)

processes = Table(
    "agent_processes",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("until", Float, nullable=False),
    Column("version", Integer, nullable=False, server_default="0"),
)
"""Processes that execute runs on PostgreSQL, when their leases expire, by the database's clock, and the
version of the tables that their program has.
"""

probes = Table(
    "probes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("value", Float, nullable=False),
)
"""One row, written and read by health checks."""
