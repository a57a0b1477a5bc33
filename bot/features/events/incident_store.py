"""Stored incidents and their changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from pydantic import TypeAdapter

from bot.features.events.alerts import Status
from bot.features.events.incident import DECISIONS, RECORDED_AS, Incident, IncidentChange, Timing
from bot.store.audit import Actor
from bot.store.connection import OPEN, Connection, Statement, sql
from bot.store.open_work import Reach

LASTS: Final = 60.0
"""Seconds for which a state must last before it is announced in the chat."""
BATCH: Final = 50


class Due(StrEnum):
    """Columns with the time of a change: to settle the state, to announce it, and to start the agent."""

    SETTLE = "settle_at"
    ANNOUNCE = "announce_at"
    WORK = "work_at"


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
LIST_OPEN = sql(
    """SELECT * FROM incidents WHERE status IN ('firing', 'acknowledged', 'no_news') AND opened_at > 0
    ORDER BY opened_at DESC LIMIT 100"""
)
LIST_EARLIER = sql(
    """SELECT * FROM incidents WHERE account = :account AND chat = :chat AND topic = :topic
    AND source = :source AND group_key = :group AND id < :before AND opened_at > 0 ORDER BY id DESC
    LIMIT :limit"""
)
# List the incidents with a due change. Work is only due below a card.
LIST_DUE: Final = {
    due: sql(
        f"""SELECT * FROM incidents WHERE {due.value} > 0 AND {due.value} <= :now
        {"AND card_turn > 0" if due is Due.WORK else ""} ORDER BY {due.value} LIMIT :limit"""
    )
    for due in Due
}
NEXT_DUE = sql(
    f"""SELECT MIN(at) FROM (SELECT MIN(show_at) AS at FROM incidents WHERE outdated = 1 UNION ALL
    {" UNION ALL ".join(f"SELECT MIN({due.value}) FROM incidents WHERE {due.value} > 0" for due in Due)}) d"""
)
COUNT_INCIDENTS = sql(
    "SELECT status, COUNT(*) AS number FROM incidents WHERE opened_at > 0 GROUP BY status ORDER BY status"
)
# Skip an incident until its next event.
SHELVE_INCIDENT = sql("UPDATE incidents SET outdated = 0, announce_at = 0, work_at = 0 WHERE id = :id")
_CHANGED: Final = ("status", *("opened_at", "changed_at", "heard_at", "show_at"), *Due, "state")
_PLACE: Final = ("source", "account", "chat", "topic", "group_key")
ADD_INCIDENT = sql(
    f"""INSERT INTO incidents ({", ".join((*_PLACE, *_CHANGED))}, conversation, card_turn, announced,
    outdated, revision) VALUES ({", ".join(f":{name}" for name in (*_PLACE, *_CHANGED))}, 0, 0, '', :outdated,
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
STATE: Final = TypeAdapter(Incident)
"""Converts incidents to and from JSON."""


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
    after = DECISIONS[decision](before, actor).derive_state(timings, now)
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
        released = earlier.drop_child(number).derive_state(timings, now)
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
    announce_at = _announce_at(before, after, now, actor)
    is_changed = replace(after, heard_at=0.0, settle_at=0.0) != replace(before, heard_at=0.0, settle_at=0.0)
    has_card = _has_card(after)
    row = {
        **{name: getattr(after, name) for name in _CHANGED if name != "state"},
        "status": after.status.value,
        "announce_at": announce_at,
        "work_at": 0.0 if after.parent else after.work_at,
        "state": encode_incident(after),
        "outdated": int(has_card and is_changed),
    }
    if after.id:
        connection.execute(SAVE_INCIDENT, {**row, "id": after.id, "has_card": int(has_card)})
    else:
        place = after.place | {"source": after.source, "group_key": after.key}
        after = replace(after, id=int(connection.execute(ADD_INCIDENT, {**row, **place}).scalar_one()))
    if after.status is not before.status or actor is not None:
        record_change(connection, after, kind or after.status.value, actor, now)
    if after.parent:
        parent = load_incident(connection, after.parent)
        held = parent.fold_child(after, now).derive_state(timings, now)
        save_incident(connection, parent, held, timings, now)
    return after.id


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


def settle_incidents(connection: Connection, timings: Mapping[str, Timing], now: float) -> None:
    """Update the incidents whose state changes without an event."""
    for before in list_due(connection, Due.SETTLE, now):
        after = before.derive_state(timings, now)
        save_incident(connection, before, after, timings, now)


def list_due(connection: Connection, due: Due, now: float) -> list[Incident]:
    """Return the incidents with a due change."""
    return select_incidents(connection, LIST_DUE[due], now=now, limit=BATCH)


def find_next_due(connection: Connection) -> float | None:
    """Return the time of the next due card, state or work, possibly in the past, or None if there is none."""
    found: float | None = connection.execute(NEXT_DUE).scalar_one()
    return found


def load_incident(connection: Connection, number: int) -> Incident:
    """Return an incident that exists."""
    return decode_incident(connection.execute(GET_INCIDENT, {"id": number}).one())


def list_changes(connection: Connection, incident: int, limit: int = 200) -> list[IncidentChange]:
    """Return the changes of an incident, the oldest first."""
    rows = connection.execute(LIST_CHANGES, {"incident": incident, "limit": limit}).all()
    return [IncidentChange(row.at, row.kind, row.actor, row.text) for row in rows]


def list_chat_incidents(connection: Connection, account: str, chat: str, limit: int) -> list[Incident]:
    """Return the incidents of a chat, the newest first."""
    return select_incidents(connection, LIST_CHAT_INCIDENTS, account=account, chat=chat, limit=limit)


def find_chat_incident(connection: Connection, account: str, chat: str, number: int) -> Incident | None:
    """Return an incident of a chat, or None if the chat has none with this number."""
    for found in select_incidents(connection, GET_INCIDENT, id=number):
        if (found.address.account, found.address.chat) == (account, chat) and found.opened_at:
            return found
    return None


def list_history(connection: Connection, incident: Incident, limit: int) -> list[Incident]:
    """Return earlier incidents of the same problem, the newest first."""
    same = {"source": incident.source, "group": incident.key, "before": incident.id}
    return select_incidents(connection, LIST_EARLIER, **incident.place, **same, limit=limit)


def list_outdated(connection: Connection, now: float) -> list[Incident]:
    """Return incidents whose card must be posted or updated, and can be now."""
    return select_incidents(connection, LIST_OUTDATED, now=now, limit=BATCH)


def count_incidents(connection: Connection) -> dict[str, int]:
    """Return the number of opened incidents by state."""
    return {row.status: row.number for row in connection.execute(COUNT_INCIDENTS).all()}


def list_open_incidents(connection: Connection, reach: Reach) -> list[Incident]:
    """Return the incidents within reach that are not resolved, newest first."""
    found = select_incidents(connection, LIST_OPEN)
    return [one for one in found if not one.parent and reach.includes(one.address.account, "")]


def shelve_incident(connection: Connection, incident: Incident) -> None:
    """Skip an incident until its next event, since its account is not configured."""
    connection.execute(SHELVE_INCIDENT, {"id": incident.id})


def select_incidents(connection: Connection, statement: Statement, **where: Any) -> list[Incident]:
    """Return the incidents that a statement selects."""
    return [decode_incident(row) for row in connection.execute(statement, where).all()]


def encode_incident(incident: Incident) -> str:
    """Encode an incident for the database."""
    return STATE.dump_json(incident).decode()


def decode_incident(row: Any) -> Incident:
    """Decode a row of the table. The other columns override the same values in `state`."""
    stored = STATE.validate_json(row.state)
    return replace(
        stored,
        id=row.id,
        address=replace(stored.address, account=row.account, chat=row.chat),
        conversation=row.conversation,
        card_turn=row.card_turn,
        announced=Status(row.announced) if row.announced else None,
        announce_at=row.announce_at,
        work_at=row.work_at,
        revision=row.revision,
    )
