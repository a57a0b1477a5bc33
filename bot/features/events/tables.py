"""Tables of the feature, and the stored form of a group's state."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import orjson
from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text

from bot.features.events.alerts import Alert, AlertLink, AlertReport, AlertSeverity, Group, Status

_METADATA = MetaData()
DELIVERIES: Final = Table(
    "event_deliveries",
    _METADATA,
    Column("source", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("at", Float, nullable=False),
    Column("headers", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("event_deliveries_at", "at"),
)
"""The ledger: deliveries by source and key, by which repetitions are recognized."""
INCIDENTS: Final = Table(
    "incidents",
    _METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("source", String, nullable=False),
    Column("account", String, nullable=False),
    Column("chat", String, nullable=False),
    Column("chat_kind", String, nullable=False),
    Column("topic", String, nullable=False),
    Column("group_key", String, nullable=False),
    Column("title", String, nullable=False),
    Column("status", String, nullable=False),
    Column("severity", String, nullable=False),
    Column("state", Text, nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("changed_at", Float, nullable=False),
    Column("heard_at", Float, nullable=False),
    Column("settle_at", Float, nullable=False),
    Column("parent_id", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
    Column("show_at", Float, nullable=False),
    Column("paused", Integer, nullable=False),
    Column("assignee", String, nullable=False),
    Column("assignee_name", String, nullable=False),
    Column("taken_as", String, nullable=False),
    Column("taken_by", String, nullable=False),
    Column("taken_name", String, nullable=False),
    Column("conversation_id", Integer, nullable=False),
    Column("card_turn", Integer, nullable=False),
    Column("announced", String, nullable=False),
    Column("announce_at", Float, nullable=False),
    Column("outdated", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("work_since", Float, nullable=False),
    Column("work_at", Float, nullable=False),
    Column("work", Text, nullable=False),
    Column("oncall", String, nullable=False),
    Index("incidents_group", "account", "chat", "topic", "source", "group_key", "id"),
    Index("incidents_opened", "account", "chat", "topic", "opened_at"),
    Index("incidents_outdated", "outdated"),
    Index("incidents_settle_at", "settle_at"),
    Index("incidents_announce_at", "announce_at"),
    Index("incidents_work_at", "work_at"),
)
"""Incidents: the state of a group of alerts in a chat, and the turn whose answer is its card.

- `settle_at`: when its state may change without a new event (0.0: never).
- `outdated`: 1 if the card must be updated; `revision` counts the changes.
- `announced`: the state last announced in the chat; `announce_at` is the time of the next announcement (0.0:
  none).
- `work_at`: when the agent starts on it (0.0: never); `work_since` is the time of the first event of the
  burst, `work` the configuration of its route.
- `parent_id`: the incident that it is part of (0: none).
- `show_at`: when its card may be posted (0.0: now).
- `assignee`: who works on it, as `platform:id` ("": nobody).
- `oncall`: the on-call schedule of its route ("": none).
- `taken_as`: the state that a person set ("": none); `taken_by` is that person as `platform:id`.
"""
CHANGES: Final = Table(
    "incident_changes",
    _METADATA,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("incident_id", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
    Column("at", Float, nullable=False),
    Column("kind", String, nullable=False),
    Column("actor", String, nullable=False),
    Column("text", String, nullable=False),
    Index("incident_changes_incident", "incident_id", "id"),
)
"""Changes of incidents, the oldest first."""
TABLES: Final = (DELIVERIES, INCIDENTS, CHANGES)


def encode_group(group: Group) -> str:
    """Encode the state of a group for the database."""
    alerts = [asdict(one) for one in group.alerts.values()]
    return orjson.dumps({"alerts": alerts, "news_at": group.news_at, "omitted": group.omitted}).decode()


def decode_group(stored: str) -> Group:
    """Decode the state of a group."""
    value = orjson.loads(stored)
    alerts = [_decode_alert(one) for one in value["alerts"]]
    return Group({one.report.key: one for one in alerts}, value["news_at"], value["omitted"])


def _decode_alert(value: dict[str, Any]) -> Alert:
    report = value.pop("report")
    report["status"] = Status(report["status"])
    report["severity"] = AlertSeverity(report["severity"]) if report["severity"] else None
    report["links"] = tuple(AlertLink(**link) for link in report["links"])
    return Alert(report=AlertReport(**report), **value)
