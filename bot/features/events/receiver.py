"""Configured event sources, and the route that receives their requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel

from bot.access import Role
from bot.config.events import EventFields, EventRoute, EventsConfig, EventSource, Scheme
from bot.features.events.alerts import AlertSeverity, Event
from bot.features.events.credentials import (
    BasicSecret,
    Credential,
    HeaderSecret,
    Signature,
    standard_webhooks,
)
from bot.features.events.delivery_store import (
    FoldRules,
    RoutedEvent,
    list_last_deliveries,
    record_delivery,
)
from bot.features.events.incident import Timing
from bot.features.events.incidents import IncidentCards
from bot.features.events.sources.alertmanager import ALERTMANAGER, GRAFANA
from bot.features.events.sources.base import EventRequest, SourceKind, UnreadableEvent, digest_of
from bot.features.events.sources.cloudevents import cloudevents
from bot.features.events.sources.datadog import DATADOG
from bot.features.events.sources.github import GITHUB
from bot.features.events.sources.mapping import FieldMap, generic
from bot.features.events.sources.opsgenie import OPSGENIE
from bot.features.events.sources.pagerduty import PAGERDUTY
from bot.features.events.sources.sentry import SENTRY
from bot.server.api.auth import open_to
from bot.server.api.credential_attempts import Attempts
from bot.server.api.dependencies import Services
from bot.server.api.errors import not_found
from bot.wiring import Core

KINDS: Mapping[str, SourceKind] = {
    kind.name: kind for kind in (ALERTMANAGER, GRAFANA, PAGERDUTY, GITHUB, SENTRY, DATADOG, OPSGENIE)
}
DAY = 86_400.0
WRONG_CREDENTIAL = "Wrong credentials. Check the secret of this event source."
KEPT_HEADERS = (
    "content-type",
    "x-github-",
    "sentry-hook-resource",
    "sentry-hook-timestamp",
    "request-id",
    "ce-",
)
"""Names, or prefixes of names, of headers that describe the request and contain no secret."""


@dataclass(frozen=True, slots=True)
class Source:
    """An event source, with what checks and reads its requests. `credential` is None without secrets."""

    name: str
    kind: SourceKind
    credential: Credential | None
    timing: Timing


def make_source(name: str, config: EventSource) -> Source:
    """Create a source from its configuration. Raises ValueError for a malformed secret."""
    if config.type in KINDS:
        kind = KINDS[config.type]
    else:
        fields = _field_map(config.mapping)
        kind = cloudevents(fields) if config.type == "cloudevents" else generic(fields)
    interval = kind.interval if config.interval_minutes is None else config.interval_minutes * 60.0
    return Source(name, kind, _credential(kind, config), Timing(interval, kind.quiet_after))


def _credential(kind: SourceKind, config: EventSource) -> Credential | None:
    secrets = [one.get_secret_value() for one in config.secrets]
    if not secrets:
        return None
    header = (config.header or "authorization").lower()
    makers: dict[Scheme, Callable[[], Credential]] = {
        "bearer": lambda: HeaderSecret(secrets),
        "basic": lambda: BasicSecret(secrets),
        "header": lambda: HeaderSecret(secrets, header, config.prefix),
        "standard-webhooks": lambda: standard_webhooks(secrets, config.family),
        "hmac-sha256": lambda: Signature(
            [one.encode() for one in secrets],
            headers=(header,),
            prefix=config.prefix,
            encoding=config.encoding,
            signed=config.signed,
            time_header=(config.time_header or "").lower(),
            id_header=(config.id_header or "").lower(),
        ),
    }
    if kind.credentials is not None:
        sign = kind.credentials
        makers["signature"] = lambda: sign(secrets)
    return makers[config.scheme]()


def _field_map(fields: EventFields) -> FieldMap:
    given = {name: getattr(fields, name) or "" for name in ("id", "group", "time", "link", "runbook")}
    return FieldMap(
        title=fields.title,
        text=fields.text,
        status=fields.status,
        severity=fields.severity,
        labels=fields.labels,
        resolved=frozenset(fields.resolved),
        acknowledged=frozenset(fields.acknowledged),
        **given,
    )


def route_event(config: EventsConfig, source: str, event: Event) -> EventRoute | None:
    """Return the first route that matches an event, or None."""
    facts = [event.labels, *(report.labels for report in event.reports[:1])]
    labels = {name: value for one in reversed(facts) for name, value in one.items()}
    return next((route for route in config.routes if route.matches(source, labels)), None)


def split_event(event: Event, route: EventRoute) -> Iterator[Event]:
    """Yield the parts of an event that belong to separate incidents: one, or one for each alert."""
    if route.group == "group":
        yield event
        return
    for report in event.reports:
        group = f"{event.group}/{report.key}"
        yield replace(event, group=group, title=report.title, reports=(report,), is_whole=False, omitted=0)


def weigh_event(event: Event, route: EventRoute) -> Event:
    """Return an event with the severities that its route gives to the alerts."""
    if not route.severity:
        return event
    found = [route.find_severity({**event.labels, **one.labels}) for one in event.reports]
    reports = [
        replace(one, severity=AlertSeverity(word)) if word else one
        for one, word in zip(event.reports, found, strict=True)
    ]
    return replace(event, reports=tuple(reports))


class EventReceiver:
    """The sources of the current configuration. `record` stores their requests."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._config: EventsConfig | None = None
        self._sources: dict[str, Source] = {}

    @property
    def sources(self) -> Mapping[str, Source]:
        """Return the sources by name."""
        config = self._core.config.events
        if config is not self._config:
            self._sources = {name: make_source(name, one) for name, one in config.sources.items()}
            self._config = config
        return self._sources

    def find_timings(self) -> Mapping[str, Timing]:
        """Return the times of the sources by name."""
        return {name: source.timing for name, source in self.sources.items()}

    def read(self, source: Source, request: EventRequest) -> list[RoutedEvent]:
        """Return the events of a request; if there are none, one without parts. Raises UnreadableEvent."""
        events = [self._route(source, event) for event in source.kind.read(request)]
        return events or [RoutedEvent(digest_of(request.body.hex()))]

    def _route(self, source: Source, event: Event) -> RoutedEvent:
        route = route_event(self._core.config.events, source.name, event)
        if route is None:
            return RoutedEvent(event.id)
        weighed = weigh_event(event, route)
        return RoutedEvent(event.id, [(part, route) for part in split_event(weighed, route)])

    async def record(self, source: Source, request: EventRequest) -> None:
        """Store a request and apply its events. Raises UnreadableEvent and StoreError."""
        events = self.read(source, request)
        config = self._core.config
        rules = FoldRules(self.find_timings(), config.schedules.timezone, config.events.storm_limit)
        kept = {name: text for name, text in request.headers.items() if name.startswith(KEPT_HEADERS)}
        await self._core.db.transact(
            record_delivery,
            source.name,
            EventRequest(kept, request.body),
            events,
            rules,
            self._core.clock.now(),
            has_ids=source.kind.has_ids,
        )
        if any(event.parts for event in events):
            self._core.part(IncidentCards).wake()


class EventSourceInfo(BaseModel):
    """An event source: its type, its path and its deliveries.

    `last` is the time of the last delivery of the last day (s), or None; `deliveries` is their number.
    """

    name: str
    type: str
    path: str
    has_route: bool
    last: float | None = None
    deliveries: int = 0


class EventSources(BaseModel):
    """All event sources."""

    sources: list[EventSourceInfo]


router = APIRouter(tags=["events"])


@router.get("/api/events/sources")
async def list_event_sources(services: Services) -> EventSources:
    """List the event sources, with the time of the last event and the number of events in the last day."""
    known = services.core.part(EventReceiver).sources
    last = await services.db.transact(list_last_deliveries, services.clock.now() - DAY)
    config = services.core.config.events
    shown = [
        EventSourceInfo(
            name=name,
            type=source.kind.name,
            path=f"/events/{name}",
            has_route=config.has_route(name),
            last=last[name][0] if name in last else None,
            deliveries=last[name][1] if name in last else 0,
        )
        for name, source in sorted(known.items())
    ]
    return EventSources(sources=shown)


@router.post("/events/{source}", status_code=202)
@open_to(Role.BLOCKED)
async def receive_event(source: str, request: Request, services: Services, attempts: Attempts) -> Response:
    """Store a request of an event source (401: wrong credentials; 404: unknown source; 422: the body is not
    valid for the type of the source; 503: the database is unavailable, and the source should retry).
    """
    receiver = services.core.part(EventReceiver)
    known = receiver.sources.get(source)
    if known is None:
        raise not_found("event source")
    headers = {name.lower(): value for name, value in request.headers.items()}
    body = await request.body()

    async def is_authentic() -> bool | None:
        check = known.credential
        return check is None or check.accepts(headers, body, services.clock.now()) or None

    # A sender must not lose events because others at its address send wrong credentials.
    if await attempts.check_signature(request.scope, is_authentic, detail=f"event source {source}") is None:
        raise HTTPException(401, WRONG_CREDENTIAL)
    try:
        await receiver.record(known, EventRequest(headers, body))
    except UnreadableEvent as error:
        raise HTTPException(422, str(error)) from None
    return Response(status_code=202)
