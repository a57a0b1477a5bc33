"""Stored deliveries. One transaction records a delivery and changes its incidents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from bot.config.events import EventRoute
from bot.domain import ChatKind, ReplyAddress
from bot.faults import EventStep, reach
from bot.features.events.alerts import AlertSeverity, Event, Status
from bot.features.events.incident import Incident, Timing, fires_anew
from bot.features.events.incident_store import save_incident, select_incidents
from bot.features.events.sources.base import EventRequest
from bot.store.connection import Connection, sql

REOPENS_WITHIN: Final = 24 * 3600.0
"""Seconds after the end of an incident within which the same problem reopens it."""
BURST_QUIET: Final = 15.0
BURST_LASTS: Final = 60.0
"""The agent starts on an incident after `BURST_QUIET` seconds without a new alert, at the latest
`BURST_LASTS` seconds after the first one."""
STORM_SECONDS: Final = 300.0
"""Seconds within which the new incidents of a chat are counted. A storm is over when it has been resolved for
this time."""
BATCH: Final = 100
MAX_ALERTS: Final = 2_000
"""Maximum number of alerts stored for a group, including resolved ones."""
# Record a delivery. A known one returns no row.
ADD_DELIVERY = sql(
    """INSERT INTO event_deliveries (source, key, at, headers, body) VALUES (:source, :key, :at, :headers,
    :body) ON CONFLICT (source, key) DO NOTHING RETURNING key"""
)
LAST_DELIVERIES = sql(
    """SELECT source, MAX(at) AS last, COUNT(*) AS number FROM event_deliveries WHERE at >= :since
    GROUP BY source"""
)
LIST_DELIVERIES = sql(
    """SELECT key, at, headers, body FROM event_deliveries WHERE source = :source AND body <> ''
    AND (at > :at OR (at = :at AND key > :key)) ORDER BY at, key LIMIT :limit"""
)
# Post no card of an incident that was found to have ended before it had one.
HIDE_ENDED = sql(
    """UPDATE incidents SET outdated = 0 WHERE source = :source AND status = 'resolved' AND card_turn = 0
    AND changed_at < :before"""
)
PURGE_DELIVERIES = sql("DELETE FROM event_deliveries WHERE at < :before")
PURGE_UNOPENED = sql("DELETE FROM incidents WHERE opened_at = 0 AND heard_at < :before")
FIND_INCIDENT = sql(
    """SELECT * FROM incidents WHERE account = :account AND chat = :chat AND topic = :topic
    AND source = :source AND group_key = :group ORDER BY id DESC LIMIT 1"""
)
COUNT_OPENED = sql(
    """SELECT COUNT(*) FROM incidents WHERE account = :account AND chat = :chat AND topic = :topic
    AND opened_at > :since AND source <> ''"""
)


@dataclass(frozen=True, slots=True)
class RoutedEvent:
    """An event with its key in the ledger. Its parts belong to separate incidents, each with its route."""

    key: str
    parts: Sequence[tuple[Event, EventRoute]] = ()


@dataclass(frozen=True, slots=True)
class FoldRules:
    """Settings for applying events: the timing of each source, the default time zone of quiet hours, and the
    number of new incidents of a chat in five minutes beyond which they share a card.
    """

    timings: Mapping[str, Timing]
    zone: str = "UTC"
    storm_limit: int = 20


def record_delivery(
    connection: Connection,
    source: str,
    request: EventRequest,
    events: Sequence[RoutedEvent],
    rules: FoldRules,
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
            apply_event(connection, source, part, route, rules, now)
    reach(EventStep.EVENT_FOLDED)
    return is_new


def list_deliveries(
    connection: Connection, source: str, after: tuple[float, str]
) -> list[tuple[tuple[float, str], EventRequest]]:
    """Return the next stored requests of a source after a time (s) and a key, the oldest first, with both."""
    where = {"source": source, "at": after[0], "key": after[1], "limit": BATCH}
    return [
        ((row.at, row.key), EventRequest(orjson.loads(row.headers), row.body.encode()))
        for row in connection.execute(LIST_DELIVERIES, where).all()
    ]


def apply_again(
    connection: Connection, source: str, events: Sequence[RoutedEvent], rules: FoldRules, at: float
) -> None:
    """Apply events that were stored at a time (s) once more."""
    for event in events:
        for part, route in event.parts:
            apply_event(connection, source, part, route, rules, at)


def hide_ended(connection: Connection, source: str, before: float) -> None:
    """Post no cards of incidents of a source that ended before a time (s), and don't have one."""
    connection.execute(HIDE_ENDED, {"source": source, "before": before})


def in_order(event: Event, now: float) -> Event:
    """Return an event whose reports without a time are ordered by arrival."""
    arrived = int(now * 1_000_000_000)
    reports = (one if one.start or one.sequence else replace(one, sequence=arrived) for one in event.reports)
    return replace(event, reports=tuple(reports))


def apply_event(
    connection: Connection, source: str, event: Event, route: EventRoute, rules: FoldRules, now: float
) -> None:
    """Apply an event to its incident.

    A group that has never been firing is stored, but not yet opened as an incident: the report that an alert
    was resolved may arrive before the report that it is firing.
    """
    kind = ChatKind.PRIVATE if route.private else ChatKind.GROUP
    new = Incident(source, ReplyAddress(route.account, route.chat, kind, route.topic or ""), event.group)
    known = _find_newest(connection, new) or new
    event = in_order(event, now)
    after = _fold(known, event, route, rules, now)
    is_back = bool(known.opened_at) and known.is_ended and not after.is_ended
    if is_back and now - known.changed_at > REOPENS_WITHIN:
        # Open another incident. It keeps the known reports, since old ones may still arrive late.
        known = replace(new, title=known.title, group=known.group)
        after = _fold(known, event, route, rules, now)
    after = replace(after, title=event.title or known.title, oncall=route.oncall or "")
    is_opened = bool(after.opened_at and not known.opened_at)
    if is_opened:
        after = replace(after, parent=_find_storm(connection, after, rules, now))
    if not after.card_turn and (is_opened or after.show_at):
        after = replace(after, show_at=_end_of_quiet(after, route, rules, now))
    save_incident(connection, known, after, rules.timings, now)


def _find_newest(connection: Connection, incident: Incident) -> Incident | None:
    """Return the stored incident of the same problem, or None."""
    same = {**incident.place, "source": incident.source, "group": incident.key}
    return next(iter(select_incidents(connection, FIND_INCIDENT, **same)), None)


def _fold(known: Incident, event: Event, route: EventRoute, rules: FoldRules, now: float) -> Incident:
    """Return an incident after an event, with the work that it starts."""
    group = known.group.fold(event, now).prune(MAX_ALERTS)
    is_news = fires_anew(known.group, group)
    if known.taken_as is Status.RESOLVED and is_news:
        known = replace(known, taken_as=None)
    heard_at = max(known.heard_at, now)
    after = replace(known, group=group, heard_at=heard_at).derive_state(rules.timings, now)
    if not route.work or not is_news or after.status is not Status.FIRING or after.is_paused:
        return after
    since = known.work_since if known.work_at else now
    work_at = min(since + BURST_LASTS, now + BURST_QUIET)
    return replace(after, work_since=since, work_at=work_at, work=route.work)


def _end_of_quiet(incident: Incident, route: EventRoute, rules: FoldRules, now: float) -> float:
    """Return when the card of an incident may be posted (0.0: now)."""
    rank = incident.severity.rank if incident.severity else -1
    is_urgent = route.quiet is None or rank >= AlertSeverity(route.quiet.severity).rank
    return 0.0 if is_urgent or route.quiet is None else route.quiet.end_after(now, rules.zone)


def _find_storm(connection: Connection, incident: Incident, rules: FoldRules, now: float) -> int:
    """Return the id of the incident that collects new ones during an alert storm (0: there is no storm)."""
    recent = {**incident.place, "since": now - STORM_SECONDS}
    if int(connection.execute(COUNT_OPENED, recent).scalar_one()) < rules.storm_limit:
        return 0
    new = Incident("", incident.address, "storm")
    known = _find_newest(connection, new)
    if known and (not known.is_ended or now - known.changed_at <= STORM_SECONDS):
        return known.id
    storm = replace(new, status=Status.FIRING, opened_at=now, changed_at=now, heard_at=now)
    return save_incident(connection, new, storm, rules.timings, now)


def list_last_deliveries(connection: Connection, since: float) -> dict[str, tuple[float, int]]:
    """Return the time of each source's last delivery since a time (s), and the number of deliveries."""
    rows = connection.execute(LAST_DELIVERIES, {"since": since}).all()
    return {row.source: (row.last, row.number) for row in rows}


def purge_deliveries(connection: Connection, before: float) -> None:
    """Delete the deliveries before a time (s), and groups that were never firing and had no event since."""
    connection.execute(PURGE_DELIVERIES, {"before": before})
    connection.execute(PURGE_UNOPENED, {"before": before})
