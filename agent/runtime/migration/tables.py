"""Tables of the runtime and of its item store, as they are copied between the databases."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Column, DateTime, Dialect, Float, MetaData, Table, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, TypeEngine

from agent.runtime.store.schema import JsonText, metadata, probes, processes


class UtcTime(TypeDecorator[datetime]):
    """A time: text in UTC on SQLite, as langgraph's store writes it, and a timestamp on PostgreSQL."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(Text() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        found = datetime.fromisoformat(value) if isinstance(value, str) else value
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        return value.replace(tzinfo=None).isoformat(" ")


items = Table(
    "store",
    MetaData(),
    Column("prefix", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", JSON().with_variant(JSONB, "postgresql"), nullable=False),
    Column("created_at", UtcTime),
    Column("updated_at", UtcTime),
    Column("expires_at", UtcTime),
    Column("ttl_minutes", Float),
)
"""Table of langgraph's store on both databases."""


def _as_stored(table: Table) -> Table:
    """Return the table with JSON as the text that it is."""
    columns: list[Column[Any]] = [
        Column(
            one.name,
            Text() if isinstance(one.type, JsonText) else one.type,
            primary_key=one.primary_key,
            autoincrement=one.autoincrement,
        )
        for one in table.columns
    ]
    return Table(table.name, MetaData(), *columns)


OWN = (probes, processes)
"""Tables that concern one database."""
TABLES = (*(_as_stored(table) for table in metadata.sorted_tables if table not in OWN), items)
_SAVER = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")
POSTGRES_TABLES = (*metadata.tables, "agent_version", items.name, "store_migrations", *_SAVER)
"""Names of all tables of the runtime on PostgreSQL."""
