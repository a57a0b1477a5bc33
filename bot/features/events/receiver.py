"""Configured event sources, and the recording of their requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from bot.config.events import EventRoute, EventsConfig, EventSource
from bot.faults import EventStep, reach
from bot.features.events.alerts import AlertReport, AlertSeverity, Event
from bot.features.events.credentials import (
    Credential,
    HeaderSecret,
    Signature,
    basic_secret,
    standard_webhooks,
)
from bot.features.events.delivery_store import (
    FoldRules,
    RoutedEvent,
    apply_again,
    hide_ended,
    list_deliveries,
    record_delivery,
)
from bot.features.events.incident import Timing
from bot.features.events.incident_store import count_incidents
from bot.features.events.incidents import IncidentCards
from bot.features.events.sources.alertmanager import ALERTMANAGER, GRAFANA
from bot.features.events.sources.base import EventRequest, SourceKind, UnreadableEvent, digest_of
from bot.features.events.sources.cloudevents import cloudevents
from bot.features.events.sources.datadog import DATADOG
from bot.features.events.sources.github import GITHUB
from bot.features.events.sources.mapping import generic
from bot.features.events.sources.opsgenie import OPSGENIE
from bot.features.events.sources.pagerduty import PAGERDUTY
from bot.features.events.sources.sentry import SENTRY
from bot.wiring import Core

KINDS: Mapping[str, SourceKind] = {
    kind.name: kind for kind in (ALERTMANAGER, GRAFANA, PAGERDUTY, GITHUB, SENTRY, DATADOG, OPSGENIE)
}
RECENT = 60.0
"""Seconds before a replay in which the ends of incidents count as current."""
HEADERS = ("content-type", "x-github-", "sentry-hook-resource", "sentry-hook-timestamp", "request-id", "ce-")
"""Names, or prefixes of names, of the stored headers, which describe the request and contain no secret."""


@dataclass(frozen=True, slots=True)
class Source:
    """A configured event source. `credential` is None if the source has no secrets."""

    name: str
    kind: SourceKind
    credential: Credential | None
    timing: Timing


def make_source(name: str, config: EventSource) -> Source:
    """Create a source from its configuration. Raises ValueError for a malformed secret."""
    mapped = cloudevents if config.type == "cloudevents" else generic
    kind = KINDS.get(config.type) or mapped(config.mapping)
    interval = kind.interval if config.interval_minutes is None else config.interval_minutes * 60.0
    return Source(name, kind, _credential(kind, config), Timing(interval, kind.quiet_after))


def _credential(kind: SourceKind, config: EventSource) -> Credential | None:
    secrets = [one.get_secret_value() for one in config.secrets]
    if not secrets:
        return None
    header = (config.header or "authorization").lower()
    match config.scheme:
        case "basic":
            return basic_secret(secrets)
        case "header":
            return HeaderSecret(secrets, header, config.prefix)
        case "standard-webhooks":
            return standard_webhooks(secrets, config.family)
        case "hmac-sha256":
            return Signature(
                [one.encode() for one in secrets],
                headers=(header,),
                prefix=config.prefix,
                encoding=config.encoding,
                signed=config.signed,
                time_header=(config.time_header or "").lower(),
                id_header=(config.id_header or "").lower(),
            )
    make = kind.credentials if config.scheme == "signature" else None
    return (make or HeaderSecret)(secrets)


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
    """Return an event with the severities that its route assigns to the alerts."""

    def set_severity(report: AlertReport) -> AlertReport:
        word = route.find_severity({**event.labels, **report.labels})
        return replace(report, severity=AlertSeverity(word)) if word else report

    return replace(event, reports=tuple(map(set_severity, event.reports)))


@dataclass(slots=True)
class SourceActivity:
    """Requests of a source since the service started.

    - `outcomes`: numbers of requests: accepted, repeated, unrouted, unreadable, or unauthorized.
    - `routed`: numbers of events by the account and chat of their route.
    - `clock_difference`: the sender's clock minus this one (s), from the newest request with a signed time.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    routed: Counter[tuple[str, str]] = field(default_factory=Counter)
    clock_difference: float | None = None


class EventReceiver:
    """The sources of the current configuration. `record` stores their requests."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._config: EventsConfig | None = None
        self._sources: dict[str, Source] = {}
        self._activity: dict[str, SourceActivity] = {}

    @property
    def sources(self) -> Mapping[str, Source]:
        """Return the sources by name."""
        config = self._core.config.events
        if config is not self._config:
            self._sources = {name: make_source(name, one) for name, one in config.sources.items()}
            self._config = config
        return self._sources

    def activity_of(self, source: str) -> SourceActivity:
        """Return the activity of a source since the service started."""
        return self._activity.setdefault(source, SourceActivity())

    def find_timings(self) -> Mapping[str, Timing]:
        """Return the times of the sources by name."""
        return {name: source.timing for name, source in self.sources.items()}

    def authenticate(self, source: Source, request: EventRequest) -> bool:
        """Return whether a request is authentic."""
        now, check, activity = self._core.clock.now(), source.credential, self.activity_of(source.name)
        if isinstance(check, Signature) and (sent_at := check.sent_at(request.headers)) is not None:
            activity.clock_difference = sent_at - now
        if check is None or check.accepts(request.headers, request.body, now):
            return True
        activity.outcomes["unauthorized"] += 1
        return False

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
        activity = self.activity_of(source.name)
        try:
            events = self.read(source, request)
        except UnreadableEvent:
            activity.outcomes["unreadable"] += 1
            raise
        reach(EventStep.EVENT_RECEIVED)
        kept = {name: text for name, text in request.headers.items() if name.startswith(HEADERS)}
        is_new = await self._core.db.transact(
            record_delivery,
            source.name,
            EventRequest(kept, request.body),
            events,
            self._rules(),
            self._core.clock.now(),
            has_ids=source.kind.has_ids,
        )
        reach(EventStep.EVENT_STORED)
        routes = [route for event in events for _, route in event.parts[:1]]
        activity.outcomes["repeated" if not is_new else "accepted" if routes else "unrouted"] += 1
        activity.routed.update((route.account, route.chat) for route in routes if is_new)
        if routes:
            self._core.part(IncidentCards).wake()

    async def replay(self, source: Source, since: float) -> int:
        """Apply the stored events of a source since a time (s) again, by the current routes and mapping.

        Events that are already part of an incident change nothing. Return the number of requests.
        """
        count, after = 0, (since, "")
        # Cards of incidents that end at this time may be about to be posted.
        recent = self._core.clock.now() - RECENT
        while found := await self._core.db.transact(list_deliveries, source.name, after):
            for after, request in found:
                with suppress(UnreadableEvent):
                    events = self.read(source, request)
                    await self._core.db.transact(apply_again, source.name, events, self._rules(), after[0])
            count += len(found)
        await self._core.db.transact(hide_ended, source.name, recent)
        self._core.part(IncidentCards).wake()
        return count

    def _rules(self) -> FoldRules:
        config = self._core.config
        return FoldRules(self.find_timings(), config.schedules.timezone, config.events.storm_limit)

    async def collect_metrics(self) -> Iterable[Metric]:
        """Return the metrics of all sources and routes, and of incidents."""
        requests = CounterMetricFamily(
            "roebot_event_requests", "Requests of event sources since startup", labels=["source", "outcome"]
        )
        routed = CounterMetricFamily(
            "roebot_events_routed",
            "Events that took a route since startup",
            labels=["source", "account", "chat"],
        )
        for name in self.sources:
            for outcome, count in sorted(self.activity_of(name).outcomes.items()):
                requests.add_metric([name, outcome], count)
            for (account, chat), count in sorted(self.activity_of(name).routed.items()):
                routed.add_metric([name, account, chat], count)
        incidents = GaugeMetricFamily("roebot_incidents", "Incidents by state", labels=["state"])
        for state, count in (await self._core.db.transact(count_incidents)).items():
            incidents.add_metric([state], count)
        return [requests, routed, incidents]
