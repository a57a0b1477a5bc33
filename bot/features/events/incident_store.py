"""Stored incidents and their changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from bot.config.events import EventWork
from bot.domain import ChatKind, ReplyAddress
from bot.features.events.alerts import AlertSeverity, Status
from bot.features.events.incident import (
    DECISIONS,
    RECORDED_AS,
    UNTIMED,
    Incident,
    IncidentChange,
    Timing,
)
from bot.features.events.tables import decode_group, encode_group
from bot.store.audit import Actor
from bot.store.connection import OPEN, Connection, sql

LASTS: Final = 60.0
"""Seconds for which a state must last before it is announced in the chat."""
BATCH: Final = 50
GET_INCIDENT = sql("SELECT * FROM incidents WHERE id = :id")
LIST_CHAT_INCIDENTS = sql(
    """SELECT * FROM incidents WHERE account = :account AND chat = :chat AND opened_at > 0
    ORDER BY id DESC LIMIT :limit"""
)
# List the incidents whose card is outdated, except those whose card is being delivered: their account may be
# offline and must not delay others.
LIST_OUTDATED = sql(
    f"""SELECT * FROM incidents WHERE outdated = 1 AND show_at <= :now AND NOT EXISTS (SELECT 1 FROM turns t
    WHERE t.id = incidents.card_turn AND t.state IN {OPEN}) ORDER BY id LIMIT :limit"""
)
FIND_OUTDATED = sql("SELECT 1 FROM incidents WHERE outdated = 1 AND show_at <= :now LIMIT 1")
COUNT_INCIDENTS = sql(
    "SELECT status, COUNT(*) AS number FROM incidents WHERE opened_at > 0 GROUP BY status ORDER BY status"
)
# Skip an incident until its next event.
SHELVE_INCIDENT = sql("UPDATE incidents SET outdated = 0, announce_at = 0, work_at = 0 WHERE id = :id")
LIST_UNSETTLED = sql(
    """SELECT * FROM incidents WHERE settle_at > 0 AND settle_at <= :now ORDER BY settle_at LIMIT :limit"""
)
NEXT_SETTLE = sql("SELECT MIN(settle_at) FROM incidents WHERE settle_at > 0")
LIST_UNANNOUNCED = sql(
    """SELECT * FROM incidents WHERE announce_at > 0 AND announce_at <= :now ORDER BY announce_at
    LIMIT :limit"""
)
LIST_EARLIER = sql(
    """SELECT * FROM incidents WHERE account = :account AND chat = :chat AND topic = :topic
    AND source = :source AND group_key = :group AND id < :before AND opened_at > 0 ORDER BY id DESC
    LIMIT :limit"""
)
LIST_DUE_WORK = sql(
    """SELECT * FROM incidents WHERE work_at > 0 AND work_at <= :now AND card_turn > 0 ORDER BY work_at
    LIMIT :limit"""
)
NEXT_WORK = sql("SELECT MIN(work_at) FROM incidents WHERE work_at > 0")
NEXT_ANNOUNCEMENT = sql("SELECT MIN(announce_at) FROM incidents WHERE announce_at > 0")
# Values that every change of an incident writes.
_CHANGED: Final = (
    *("title", "status", "severity", "state", "opened_at", "changed_at", "heard_at", "settle_at"),
    *("parent_id", "show_at", "paused", "assignee", "assignee_name", "taken_as", "taken_by", "taken_name"),
    *("announce_at", "work_since", "work_at", "work", "oncall"),
)
_FIXED: Final = ("source", "account", "chat", "chat_kind", "topic", "group_key")
ADD_INCIDENT = sql(
    f"""INSERT INTO incidents ({", ".join((*_FIXED, *_CHANGED))}, conversation_id, card_turn, announced,
    outdated, revision) VALUES ({", ".join(f":{name}" for name in (*_FIXED, *_CHANGED))}, 0, 0, '', :outdated,
    0) RETURNING id"""
)
SAVE_INCIDENT = sql(
    f"""UPDATE incidents SET {", ".join(f"{name} = :{name}" for name in _CHANGED)}, revision = revision + 1,
    outdated = CASE WHEN :outdated = 1 THEN 1 ELSE outdated * :has_card END WHERE id = :id"""
)
ADD_CHANGE = sql(
    """INSERT INTO incident_changes (incident_id, at, kind, actor, text) VALUES (:incident, :at, :kind,
    :actor, :text)"""
)
TOUCH_CARD = sql(
    "UPDATE incidents SET outdated = 1, revision = revision + 1 WHERE id = :id AND card_turn > 0"
)
LIST_CHANGES = sql(
    """SELECT at, kind, actor, text FROM incident_changes WHERE incident_id = :incident ORDER BY id
    LIMIT :limit"""
)


def decide_incident(
    connection: Connection,
    number: int,
    decision: str,
    actor: Actor,
    timings: Mapping[str, Timing],
    now: float,
) -> Incident | None:
    """Apply a person's decision (a key of `DECISIONS`) to an incident.

    Return the changed incident, or None if the decision changes nothing.
    """
    before = load_incident(connection, number)
    decided = DECISIONS[decision](before, actor)
    after = decided.derive_state(timings.get(before.source, UNTIMED), now)
    if _decisions(after) == _decisions(before):
        # Pressing a button removed all buttons of the card.
        connection.execute(TOUCH_CARD, {"id": number})
        return None
    save_incident(connection, before, after, timings, now, actor, RECORDED_AS.get(decision, ""))
    return after


def _decisions(incident: Incident) -> tuple[object, ...]:
    """Return what people can decide about an incident."""
    return incident.status, incident.taken_as, incident.assignee, incident.is_paused


def merge_incident(
    connection: Connection, number: int, into: int, actor: Actor, timings: Mapping[str, Timing], now: float
) -> bool:
    """Make an incident part of another one. Return False if it already is, or would contain itself."""
    before, parent = load_incident(connection, number), load_incident(connection, into)
    above = parent
    while above.parent and above.id != number:
        above = load_incident(connection, above.parent)
    if number == above.id or before.parent == into:
        return False
    if before.parent:
        earlier = load_incident(connection, before.parent)
        released = earlier.drop_child(number).derive_state(timings.get(earlier.source, UNTIMED), now)
        save_incident(connection, earlier, released, timings, now)
    after = replace(before, parent=into)
    save_incident(connection, before, after, timings, now, actor, "merged")
    return True


def save_incident(
    connection: Connection,
    before: Incident,
    after: Incident,
    timings: Mapping[str, Timing],
    now: float,
    actor: Actor | None = None,
    kind: str = "",
) -> int:
    """Insert or update an incident, and record a new state and who set it. Return its id.

    If the incident is part of another one, that changes too. `kind` is recorded instead of the state.
    """
    if after.is_paused or after.is_ended:
        after = replace(after, work_at=0.0, work_since=0.0)
    row: dict[str, Any] = {
        "title": after.title,
        "status": after.status.value,
        "severity": after.severity.value if after.severity else "",
        "state": encode_group(after.group),
        "opened_at": after.opened_at,
        "changed_at": after.changed_at,
        "heard_at": after.heard_at,
        "settle_at": after.settle_at,
        "parent_id": after.parent,
        "show_at": after.show_at,
        "paused": int(after.is_paused),
        "assignee": after.assignee,
        "assignee_name": after.assignee_name,
        "taken_as": after.taken_as.value if after.taken_as else "",
        "taken_by": after.taken_by,
        "taken_name": after.taken_name,
        "announce_at": _announce_at(before, after, now, actor),
        "work_since": after.work_since,
        "work_at": 0.0 if after.parent else after.work_at,
        "work": after.work.model_dump_json() if after.work else "",
        "oncall": after.oncall,
    }
    has_card = _has_card(after)
    is_changed = replace(after, heard_at=0.0, settle_at=0.0) != replace(before, heard_at=0.0, settle_at=0.0)
    row["outdated"] = int(has_card and is_changed)
    if after.id:
        connection.execute(SAVE_INCIDENT, {**row, "id": after.id, "has_card": int(has_card)})
        number = after.id
    else:
        address = after.address
        new = {
            "source": after.source,
            "account": address.account,
            "chat": address.chat,
            "chat_kind": address.chat_kind.value,
            "topic": address.topic,
            "group_key": after.key,
        }
        number = int(connection.execute(ADD_INCIDENT, {**row, **new}).scalar_one())
    if after.status is not before.status or actor is not None:
        record_change(connection, replace(after, id=number), kind or after.status.value, actor, now)
    if after.parent:
        parent = load_incident(connection, after.parent)
        held = parent.fold_child(replace(after, id=number), now)
        held = held.derive_state(timings.get(parent.source, UNTIMED), now)
        save_incident(connection, parent, held, timings, now)
    return number


def record_change(
    connection: Connection, incident: Incident, kind: str, actor: Actor | None, now: float
) -> None:
    """Record a change of an incident, by a person or (None) by its source."""
    person, name = (actor.person, actor.name) if actor else ("", "")
    change = {"incident": incident.id, "at": now, "kind": kind, "actor": person, "text": name}
    connection.execute(ADD_CHANGE, change)
    if actor is not None:
        # Pressing a button removed all buttons of the card.
        connection.execute(TOUCH_CARD, {"id": incident.id})


def _has_card(incident: Incident) -> bool:
    """Return whether an incident has or needs a card. It needs none while it is part of another incident, or
    if it ended in quiet hours.
    """
    is_hidden = incident.parent or (incident.show_at and incident.is_ended)
    return bool(incident.card_turn) or bool(incident.opened_at and not is_hidden)


def _announce_at(before: Incident, after: Incident, now: float, actor: Actor | None) -> float:
    """Return when to announce the state of an incident: once it has lasted, to skip flapping.

    A change by a person in the chat is not announced.
    """
    if after.parent or after.is_paused:
        return 0.0
    if after.status is before.status:
        return before.announce_at
    is_known = actor is not None or after.announced in (None, after.status)
    return 0.0 if is_known else now + LASTS


def settle_incidents(connection: Connection, timings: Mapping[str, Timing], now: float) -> float:
    """Update the incidents that are due. Return when the next ones are due (0.0: never)."""
    for row in connection.execute(LIST_UNSETTLED, {"now": now, "limit": BATCH}).all():
        before = decode_incident(row)
        after = before.derive_state(timings.get(before.source, UNTIMED), now)
        save_incident(connection, before, after, timings, now)
    return float(connection.execute(NEXT_SETTLE).scalar_one() or 0.0)


def load_incident(connection: Connection, number: int) -> Incident:
    """Return an incident that exists."""
    return decode_incident(connection.execute(GET_INCIDENT, {"id": number}).one())


def list_changes(connection: Connection, incident: int, limit: int = 200) -> list[IncidentChange]:
    """Return the changes of an incident, the oldest first."""
    rows = connection.execute(LIST_CHANGES, {"incident": incident, "limit": limit}).all()
    return [IncidentChange(row.at, row.kind, row.actor, row.text) for row in rows]


def list_chat_incidents(connection: Connection, account: str, chat: str, limit: int) -> list[Incident]:
    """Return the incidents of a chat, the newest first."""
    where = {"account": account, "chat": chat, "limit": limit}
    return [decode_incident(row) for row in connection.execute(LIST_CHAT_INCIDENTS, where).all()]


def find_chat_incident(connection: Connection, account: str, chat: str, number: int) -> Incident | None:
    """Return an incident of a chat, or None if the chat has none with this number."""
    row = connection.execute(GET_INCIDENT, {"id": number}).first()
    found = None if row is None else decode_incident(row)
    is_here = found is not None and (found.address.account, found.address.chat) == (account, chat)
    return found if is_here and found is not None and found.opened_at else None


def list_history(connection: Connection, incident: Incident, limit: int) -> list[Incident]:
    """Return earlier incidents of the same problem, the newest first."""
    address = incident.address
    where = {
        "account": address.account,
        "chat": address.chat,
        "topic": address.topic,
        "source": incident.source,
        "group": incident.key,
        "before": incident.id,
        "limit": limit,
    }
    return [decode_incident(row) for row in connection.execute(LIST_EARLIER, where).all()]


def list_due_work(connection: Connection, now: float) -> tuple[list[Incident], float]:
    """Return the incidents on which the agent must start now, and when the next are due (0.0: never)."""
    rows = connection.execute(LIST_DUE_WORK, {"now": now, "limit": BATCH}).all()
    return [decode_incident(row) for row in rows], connection.execute(NEXT_WORK).scalar_one() or 0.0


def list_unannounced(connection: Connection, now: float) -> tuple[list[Incident], float]:
    """Return the incidents whose state must be announced, and when the next are due (0.0: never)."""
    rows = connection.execute(LIST_UNANNOUNCED, {"now": now, "limit": BATCH}).all()
    return [decode_incident(row) for row in rows], connection.execute(NEXT_ANNOUNCEMENT).scalar_one() or 0.0


def list_outdated(connection: Connection, now: float) -> list[Incident]:
    """Return incidents whose card must be posted or updated, and can be now."""
    rows = connection.execute(LIST_OUTDATED, {"limit": BATCH, "now": now}).all()
    return [decode_incident(row) for row in rows]


def has_outdated(connection: Connection, now: float) -> bool:
    """Return whether a card must be posted or updated."""
    return connection.execute(FIND_OUTDATED, {"now": now}).first() is not None


def count_incidents(connection: Connection) -> dict[str, int]:
    """Return the number of opened incidents by state."""
    return {row.status: row.number for row in connection.execute(COUNT_INCIDENTS).all()}


def shelve_incident(connection: Connection, incident: Incident) -> None:
    """Skip an incident until its next event, since its account is not configured."""
    connection.execute(SHELVE_INCIDENT, {"id": incident.id})


def decode_incident(row: Any) -> Incident:
    """Decode a row of the table."""
    return Incident(
        source=row.source,
        address=ReplyAddress(row.account, row.chat, ChatKind(row.chat_kind), row.topic),
        key=row.group_key,
        title=row.title,
        group=decode_group(row.state),
        opened_at=row.opened_at,
        changed_at=row.changed_at,
        heard_at=row.heard_at,
        status=Status(row.status),
        severity=AlertSeverity(row.severity) if row.severity else None,
        settle_at=row.settle_at,
        parent=row.parent_id,
        show_at=row.show_at,
        is_paused=bool(row.paused),
        assignee=row.assignee,
        assignee_name=row.assignee_name,
        taken_as=Status(row.taken_as) if row.taken_as else None,
        taken_by=row.taken_by,
        taken_name=row.taken_name,
        id=row.id,
        conversation=row.conversation_id,
        card_turn=row.card_turn,
        announced=Status(row.announced) if row.announced else None,
        announce_at=row.announce_at,
        revision=row.revision,
        work_since=row.work_since,
        work_at=row.work_at,
        work=EventWork.model_validate_json(row.work) if row.work else None,
        oncall=row.oncall,
    )
