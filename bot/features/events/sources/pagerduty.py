"""PagerDuty's webhooks, version 3, with one event per request.

Fields and signatures: docs/webhooks of PagerDuty/developer-docs (August 2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from bot.features.events.alerts import AlertReport, Event, Status
from bot.features.events.credentials import hex_signature
from bot.features.events.sources import base

_STATUSES: Final = {
    "triggered": Status.FIRING,
    "acknowledged": Status.ACKNOWLEDGED,
    "resolved": Status.RESOLVED,
}


class _Reference(base.Payload):
    id: base.Line = ""
    summary: base.Line = ""


class _Incident(base.Payload):
    id: base.Key
    status: base.Line
    title: base.Line = ""
    number: base.Line = ""
    html_url: base.Line = ""
    created_at: base.Instant = 0
    urgency: base.Line = ""
    service: _Reference | None = None
    priority: _Reference | None = None
    assignees: tuple[_Reference, ...] = ()


class _News(base.Payload):
    id: base.Key
    event_type: base.Line
    occurred_at: base.Instant
    data: dict[str, Any] = Field(default_factory=dict)


class _Body(base.Payload):
    event: _News


def read(delivery: base.EventRequest) -> Sequence[Event]:
    """Read an event. Events that are not about an incident's state are ignored.

    They are not refused, since PagerDuty would then disable the subscription.
    """
    news = base.read_payload(_Body, base.read_json(delivery.body)).event
    if news.data.get("type") != "incident":
        return []
    incident = base.read_payload(_Incident, news.data)
    if incident.status not in _STATUSES:
        return []
    labels = {
        "event": news.event_type,
        "service": incident.service.summary if incident.service else "",
        "priority": incident.priority.summary if incident.priority else "",
        "urgency": incident.urgency,
        "assignees": ", ".join(one.summary for one in incident.assignees),
    }
    report = AlertReport(
        key=incident.id,
        status=_STATUSES[incident.status],
        start=incident.created_at,
        sequence=news.occurred_at,
        title=f"#{incident.number} {incident.title}" if incident.number else incident.title,
        severity=base.find_severity(labels["priority"], incident.urgency),
        labels={name: value for name, value in labels.items() if value},
        links=base.keep_links([("incident", incident.html_url)]),
    )
    return [Event(news.id, incident.id, report.title, (report,), report.labels)]


def sample(began: float, ended: float | None) -> base.EventRequest:
    """Create an event about an incident."""
    state = "triggered" if ended is None else "resolved"
    incident = {"id": "PROEBOT", "type": "incident", "status": state, "urgency": "low"}
    incident |= {"title": "This is a test of Roebot", "created_at": base.format_time(began)}
    news = {"id": f"roebot-{state}-{began}", "event_type": f"incident.{state}", "resource_type": "incident"}
    return base.make_request(
        {"event": {**news, "occurred_at": base.format_time(ended or began), "data": incident}}
    )


SIGN: Final = hex_signature("x-pagerduty-signature", prefix="v1=")
PAGERDUTY: Final = base.SourceKind("pagerduty", read, sample, SIGN)
