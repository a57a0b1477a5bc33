"""Stored deliveries and incidents. One transaction records a delivery and changes its incidents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import orjson

from bot.config.events import EventRoute, EventWork
from bot.domain import ChatKind, ReplyAddress
from bot.features.events.alerts import AlertSeverity, Event, Group, Status
from bot.features.events.sources.base import EventRequest
from bot.features.events.tables import decode_group, encode_group
from bot.store.audit import Actor
from bot.store.connection import OPEN, Connection, sql

REOPENS_WITHIN: Final = 24 * 3600.0
"""Seconds after the end of an incident within which the same problem reopens it."""
LASTS: Final = 60.0
"""Seconds for which a state must last before it is announced in the chat."""
BURST_QUIET: Final = 15.0
BURST_LASTS: Final = 60.0
"""The agent starts on an incident after `BURST_QUIET` seconds without a new alert, at the latest
`BURST_LASTS` seconds after the first one."""
BATCH: Final = 50
MAX_ALERTS: Final = 2_000
"""Maximum number of alerts stored for a group, including resolved ones."""
_COLUMNS: Final = (
    "id, source, account, chat, chat_kind, topic, group_key, title, status, severity, state, opened_at,"
    " changed_at, heard_at, settle_at, taken_as, taken_by, taken_name, conversation_id, card_turn, announced,"
    " announce_at, revision, work_since, work_at, work"
)
# Record a delivery. A known one returns no row.
ADD_DELIVERY = sql(
    """INSERT INTO event_deliveries (source, key, at, headers, body) VALUES (:source, :key, :at, :headers,
    :body) ON CONFLICT (source, key) DO NOTHING RETURNING key"""
)
LAST_DELIVERIES = sql(
    """SELECT source, MAX(at) AS last, COUNT(*) AS number FROM event_deliveries WHERE at >= :since
    GROUP BY source"""
)
PURGE_DELIVERIES = sql("DELETE FROM event_deliveries WHERE at < :before")
PURGE_UNOPENED = sql("DELETE FROM incidents WHERE opened_at = 0 AND heard_at < :before")
FIND_INCIDENT = sql(
    f"""SELECT {_COLUMNS} FROM incidents WHERE account = :account AND chat = :chat AND topic = :topic
    AND source = :source AND group_key = :group ORDER BY id DESC LIMIT 1"""
)
GET_INCIDENT = sql(f"SELECT {_COLUMNS} FROM incidents WHERE id = :id")
LIST_CHAT_INCIDENTS = sql(
    f"""SELECT {_COLUMNS} FROM incidents WHERE account = :account AND chat = :chat AND opened_at > 0
    ORDER BY id DESC LIMIT :limit"""
)
# List the incidents whose card is outdated, except those whose card is being delivered: their account may be
# offline and must not delay others.
LIST_OUTDATED = sql(
    f"""SELECT {_COLUMNS} FROM incidents WHERE outdated = 1 AND NOT EXISTS (SELECT 1 FROM turns t
    WHERE t.id = incidents.card_turn AND t.state IN {OPEN}) ORDER BY id LIMIT :limit"""
)
FIND_OUTDATED = sql("SELECT 1 FROM incidents WHERE outdated = 1 LIMIT 1")
# Skip an incident until its next event.
SHELVE_INCIDENT = sql("UPDATE incidents SET outdated = 0, announce_at = 0, work_at = 0 WHERE id = :id")
LIST_UNSETTLED = sql(
    f"""SELECT {_COLUMNS} FROM incidents WHERE settle_at > 0 AND settle_at <= :now ORDER BY settle_at
    LIMIT :limit"""
)
NEXT_SETTLE = sql("SELECT MIN(settle_at) FROM incidents WHERE settle_at > 0")
LIST_UNANNOUNCED = sql(
    f"""SELECT {_COLUMNS} FROM incidents WHERE announce_at > 0 AND announce_at <= :now ORDER BY announce_at
    LIMIT :limit"""
)
LIST_EARLIER = sql(
    f"""SELECT {_COLUMNS} FROM incidents WHERE account = :account AND chat = :chat AND topic = :topic
    AND source = :source AND group_key = :group AND id < :before AND opened_at > 0 ORDER BY id DESC
    LIMIT :limit"""
)
LIST_DUE_WORK = sql(
    f"""SELECT {_COLUMNS} FROM incidents WHERE work_at > 0 AND work_at <= :now AND card_turn > 0
    ORDER BY work_at LIMIT :limit"""
)
NEXT_WORK = sql("SELECT MIN(work_at) FROM incidents WHERE work_at > 0")
NEXT_ANNOUNCEMENT = sql("SELECT MIN(announce_at) FROM incidents WHERE announce_at > 0")
ADD_INCIDENT = sql(
    """INSERT INTO incidents (source, account, chat, chat_kind, topic, group_key, title, status, severity,
    state, opened_at, changed_at, heard_at, settle_at, taken_as, taken_by, taken_name, conversation_id,
    card_turn, announced, announce_at, outdated, revision, work_since, work_at, work)
    VALUES (:source, :account,
    :chat, :chat_kind, :topic, :group_key, :title, :status, :severity, :state, :opened_at, :changed_at,
    :heard_at, :settle_at, :taken_as, :taken_by, :taken_name, 0, 0, '', :announce_at, :outdated, 0,
    :work_since, :work_at, :work) RETURNING id"""
)
SAVE_INCIDENT = sql(
    """UPDATE incidents SET title = :title, status = :status, severity = :severity, state = :state,
    opened_at = :opened_at, changed_at = :changed_at, heard_at = :heard_at, settle_at = :settle_at,
    taken_as = :taken_as, taken_by = :taken_by, taken_name = :taken_name, announce_at = :announce_at,
    work_since = :work_since, work_at = :work_at, work = :work,
    revision = revision + 1, outdated = CASE WHEN :outdated = 1 THEN 1 ELSE outdated END WHERE id = :id"""
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


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a source (s).

    `interval` is how long an alert stays tentative, `quiet_after` the time without events after which the
    state is unknown (0.0: never).
    """

    interval: float
    quiet_after: float


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident, as in the table `incidents`. `opened_at` is 0.0 until an alert is firing.

    `taken_as` is the state that a person set, or None; `taken_by` is that person as `platform:id`.
    """

    source: str
    address: ReplyAddress
    key: str
    title: str = ""
    group: Group = field(default_factory=Group)
    opened_at: float = 0.0
    changed_at: float = 0.0
    heard_at: float = 0.0
    status: Status = Status.RESOLVED
    severity: AlertSeverity | None = None
    settle_at: float = 0.0
    taken_as: Status | None = None
    taken_by: str = ""
    taken_name: str = ""
    id: int = 0
    conversation: int = 0
    card_turn: int = 0
    announced: Status | None = None
    announce_at: float = 0.0
    revision: int = 0
    work_since: float = 0.0
    work_at: float = 0.0
    work: EventWork | None = None

    @property
    def is_ended(self) -> bool:
        """Return whether the incident is resolved."""
        return self.status is Status.RESOLVED


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """A change of an incident's state. `person` made it, as `platform:id` ("": its source)."""

    at: float
    status: Status
    person: str
    name: str


@dataclass(frozen=True, slots=True)
class RoutedEvent:
    """An event with its key in the ledger. Its parts belong to separate incidents, each with its route."""

    key: str
    parts: Sequence[tuple[Event, EventRoute]] = ()


def record_delivery(
    connection: Connection,
    source: str,
    request: EventRequest,
    events: Sequence[RoutedEvent],
    timing: Timing,
    now: float,
    *,
    has_ids: bool,
) -> bool:
    """Store the events of a request, and update their incidents. Return False if all events are known.

    `has_ids`: the keys are ids, and an event with a known one is a repetition. Without ids, an event with
    known content may still be new.
    """
    content = {
        "headers": orjson.dumps(dict(request.headers)).decode(),
        "body": request.body.decode(errors="replace").replace("\0", ""),
    }
    is_new = False
    for event in events:
        row = {"source": source, "key": event.key, "at": now, **content}
        is_known = connection.execute(ADD_DELIVERY, row).first() is None
        # The body is stored once, with the first event of a batch.
        content, is_new = dict.fromkeys(content, ""), is_new or not is_known
        for part, route in () if is_known and has_ids else event.parts:
            apply_event(connection, source, in_order(part, now), route, timing, now)
    return is_new


def in_order(event: Event, now: float) -> Event:
    """Return an event whose reports without a time are ordered by arrival."""
    arrived = int(now * 1_000_000_000)
    timeless = [not (one.start or one.sequence) for one in event.reports]
    reports = [
        replace(one, sequence=arrived) if is_timeless else one
        for one, is_timeless in zip(event.reports, timeless, strict=True)
    ]
    return replace(event, reports=tuple(reports)) if any(timeless) else event


def apply_event(
    connection: Connection, source: str, event: Event, route: EventRoute, timing: Timing, now: float
) -> None:
    """Apply an event to its incident.

    A group that has never been firing is stored, but not yet opened as an incident: the report that an alert
    was resolved may arrive before the one that it is firing.
    """
    kind = ChatKind.PRIVATE if route.private else ChatKind.GROUP
    address = ReplyAddress(route.account, route.chat, kind, route.topic or "")
    place = {"account": address.account, "chat": address.chat, "topic": address.topic}
    row = connection.execute(FIND_INCIDENT, {**place, "source": source, "group": event.group}).first()
    known = Incident(source, address, event.group) if row is None else decode_incident(row)
    group = known.group.fold(event, now).prune(MAX_ALERTS)
    is_news = fires_anew(known.group, group)
    if known.taken_as is Status.RESOLVED and is_news:
        known = replace(known, taken_as=None)
    after = derive_state(replace(known, group=group, heard_at=now), timing, now)
    if route.work and is_news and after.status is Status.FIRING:
        since = known.work_since or now
        at = min(since + BURST_LASTS, now + BURST_QUIET)
        after = replace(after, work_since=since, work_at=at, work=route.work)
    if known.is_ended and not after.is_ended and now - known.changed_at > REOPENS_WITHIN:
        # Open another incident. It keeps the known reports, since old ones may still arrive late.
        known = replace(
            known, id=0, opened_at=now, conversation=0, card_turn=0, announced=None, announce_at=0.0
        )
        after = replace(
            after, id=0, opened_at=now, conversation=0, card_turn=0, announced=None, announce_at=0.0
        )
    save_incident(connection, known, replace(after, title=event.title or known.title), now)


def derive_state(incident: Incident, timing: Timing, now: float) -> Incident:
    """Return an incident with the state that follows from its group, its people and the time."""
    group = incident.group.confirm(now, timing.interval)
    status = group.status
    is_open = status in (Status.FIRING, Status.ACKNOWLEDGED)
    silent = bool(timing.quiet_after) and now >= incident.heard_at + timing.quiet_after
    if is_open and silent:
        status = Status.NO_NEWS
    taken_as = None if status is Status.RESOLVED else incident.taken_as
    if taken_as is Status.RESOLVED or (taken_as and status is Status.FIRING):
        status = taken_as
    waits = [one.tentative_since + timing.interval for one in group.alerts.values() if one.tentative_since]
    if is_open and timing.quiet_after and not silent:
        waits.append(incident.heard_at + timing.quiet_after)
    changed = now if status is not incident.status else incident.changed_at
    opened = incident.opened_at or (now if is_open else 0.0)
    return replace(
        incident,
        group=group,
        status=status,
        severity=group.severity,
        opened_at=opened,
        changed_at=changed,
        taken_as=taken_as,
        settle_at=min(waits, default=0.0),
    )


def fires_anew(before: Group, after: Group) -> bool:
    """Return whether an alert started firing, or is firing in a new episode."""
    known = {key: one.report.version for key, one in before.alerts.items() if one.status is Status.FIRING}
    firing = {key: one.report.version for key, one in after.alerts.items() if one.status is Status.FIRING}
    return bool(firing.items() - known.items())


def take_incident(
    connection: Connection, number: int, status: Status | None, actor: Actor, timing: Timing, now: float
) -> Incident | None:
    """Set the state of an incident to a person's decision; None: restore the state that its source reports.

    Return the changed incident, or None if it already had that state.
    """
    before = decode_incident(connection.execute(GET_INCIDENT, {"id": number}).one())
    if before.taken_as is status or before.status is status:
        # Pressing a button removed all buttons of the card.
        connection.execute(TOUCH_CARD, {"id": number})
        return None
    taken = replace(before, taken_as=status, taken_by=actor.person, taken_name=actor.name)
    after = derive_state(taken, timing, now)
    save_incident(connection, before, after, now, actor)
    return after


def save_incident(
    connection: Connection, before: Incident, after: Incident, now: float, actor: Actor | None = None
) -> int:
    """Insert or update an incident, and record a new state and who set it. Return its id."""
    row: dict[str, Any] = {
        "title": after.title,
        "status": after.status.value,
        "severity": after.severity.value if after.severity else "",
        "state": encode_group(after.group),
        "changed_at": after.changed_at,
        "heard_at": after.heard_at,
        "settle_at": after.settle_at,
        "opened_at": after.opened_at,
        "announce_at": _announce_at(before, after, now, actor),
        "work_since": after.work_since,
        "work_at": 0.0 if after.is_ended else after.work_at,
        "work": after.work.model_dump_json() if after.work else "",
        "taken_as": after.taken_as.value if after.taken_as else "",
        "taken_by": after.taken_by,
        "taken_name": after.taken_name,
    }
    is_changed = replace(after, heard_at=0.0, settle_at=0.0) != replace(before, heard_at=0.0, settle_at=0.0)
    row["outdated"] = int(is_changed and bool(after.opened_at))
    if after.id:
        connection.execute(SAVE_INCIDENT, {**row, "id": after.id})
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
        person, name = (actor.person, actor.name) if actor else ("", "")
        change = {"incident": number, "at": now, "kind": after.status.value, "actor": person, "text": name}
        connection.execute(ADD_CHANGE, change)
    return number


def _announce_at(before: Incident, after: Incident, now: float, actor: Actor | None) -> float:
    """Return when to announce the state of an incident: once it has lasted, to skip flapping.

    A change by a person in the chat is not announced.
    """
    if after.status is before.status:
        return before.announce_at
    is_known = actor is not None or after.announced in (None, after.status)
    return 0.0 if is_known else now + LASTS


def settle_incidents(connection: Connection, timings: Mapping[str, Timing], now: float) -> float:
    """Update the incidents that are due. Return when the next ones are due (0.0: never)."""
    for row in connection.execute(LIST_UNSETTLED, {"now": now, "limit": BATCH}).all():
        before = decode_incident(row)
        timing = timings.get(before.source, Timing(0.0, 0.0))
        save_incident(connection, before, derive_state(before, timing, now), now)
    return float(connection.execute(NEXT_SETTLE).scalar_one() or 0.0)


def list_changes(connection: Connection, incident: int, limit: int = 200) -> list[IncidentChange]:
    """Return the changes of an incident, the oldest first."""
    rows = connection.execute(LIST_CHANGES, {"incident": incident, "limit": limit}).all()
    return [IncidentChange(row.at, Status(row.kind), row.actor, row.text) for row in rows]


def list_last_deliveries(connection: Connection, since: float) -> dict[str, tuple[float, int]]:
    """Return the time of each source's last delivery since a time (s), and the number of deliveries."""
    rows = connection.execute(LAST_DELIVERIES, {"since": since}).all()
    return {row.source: (row.last, row.number) for row in rows}


def purge_deliveries(connection: Connection, before: float) -> None:
    """Delete the deliveries from before a time (s), and silent groups that were never firing."""
    connection.execute(PURGE_DELIVERIES, {"before": before})
    connection.execute(PURGE_UNOPENED, {"before": before})


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


def list_outdated(connection: Connection) -> list[Incident]:
    """Return incidents whose card must be posted or updated, and can be now."""
    return [decode_incident(row) for row in connection.execute(LIST_OUTDATED, {"limit": BATCH}).all()]


def has_outdated(connection: Connection) -> bool:
    """Return whether a card must be posted or updated."""
    return connection.execute(FIND_OUTDATED).first() is not None


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
    )
