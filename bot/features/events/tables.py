"""Tables of the feature."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text
from sqlalchemy.types import TypeEngine

_METADATA = MetaData()
_ID = BigInteger().with_variant(Integer, "sqlite")


def _columns(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    return [Column(name, kind, nullable=False) for name in names]


DELIVERIES: Final = Table(
    "event_deliveries",
    _METADATA,
    Column("source", String, primary_key=True),
    Column("key", String, primary_key=True),
    *_columns(Float, "at"),
    *_columns(Text, "headers", "body"),
    Index("event_deliveries_at", "at"),
)
"""The ledger: deliveries by source and key, by which repetitions are recognized."""
INCIDENTS: Final = Table(
    "incidents",
    _METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    *_columns(String, "source", "account", "chat", "topic", "group_key", "status", "announced"),
    *_columns(Float, "opened_at", "changed_at", "heard_at"),
    *_columns(Float, "settle_at", "show_at", "announce_at", "work_at"),
    *_columns(Integer, "conversation", "card_turn", "outdated", "revision"),
    *_columns(Text, "state"),
    Index("incidents_group", "account", "chat", "topic", "source", "group_key", "id"),
    Index("incidents_opened", "account", "chat", "topic", "opened_at"),
    Index("incidents_outdated", "outdated"),
    Index("incidents_settle_at", "settle_at"),
    Index("incidents_announce_at", "announce_at"),
    Index("incidents_work_at", "work_at"),
)
"""Incidents. `state` is an `Incident` as JSON. The other columns are those by which incidents are selected,
and those that change separately.

- `settle_at`: when the state may change without a new event (0.0: never).
- `show_at`: when the card may be posted (0.0: now).
- `announced`: the state last announced in the chat; `announce_at` is the time of the next announcement (0.0:
  none).
- `work_at`: when the agent starts on it (0.0: never).
- `card_turn`: the turn whose answer is the card (0: none).
- `outdated`: 1 if the card must be updated; `revision` counts the changes.
"""
CHANGES: Final = Table(
    "incident_changes",
    _METADATA,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("incident_id", _ID, nullable=False),
    *_columns(Float, "at"),
    *_columns(String, "kind", "actor", "text"),
    Index("incident_changes_incident", "incident_id", "id"),
)
"""Changes of incidents, the oldest first."""
TABLES: Final = (DELIVERIES, INCIDENTS, CHANGES)
