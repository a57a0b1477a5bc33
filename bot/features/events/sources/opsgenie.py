"""Outgoing webhooks of Opsgenie and Jira Service Management, which have the same format.

Actions and fields: support.atlassian.com, "Opsgenie Edge Connector alert action data". `createdAt` is in
milliseconds, `updatedAt` in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from bot.features.events.alerts import AlertReport, Event, Status
from bot.features.events.sources import base

_STATUSES: Final = {
    **dict.fromkeys(("Create", "UnAcknowledge"), Status.FIRING),
    "Acknowledge": Status.ACKNOWLEDGED,
    **dict.fromkeys(("Close", "Delete"), Status.RESOLVED),
}


class _Alert(base.Payload):
    id: base.Key = Field(alias="alertId")
    alias: base.Key = ""
    message: base.Line = ""
    description: base.Paragraphs = ""
    entity: base.Line = ""
    source: base.Line = ""
    priority: base.Line = ""
    tags: tuple[base.Line, ...] = ()
    created_at: base.Number = Field(0, alias="createdAt")
    updated_at: base.Number = Field(0, alias="updatedAt")


class _Flow(base.Payload):
    request: base.Key = Field("", alias="requestId")


class _Body(base.Payload):
    action: base.Line
    alert: _Alert
    flow: _Flow = Field(_Flow(requestId=""), alias="alertFlowContext")
    name: base.Line = Field("", alias="integrationName")


def read(delivery: base.EventRequest) -> Sequence[Event]:
    """Read an action. Actions that don't change an alert's state are ignored."""
    body = base.read_payload(_Body, base.read_json(delivery.body))
    if body.action not in _STATUSES:
        return []
    alert, group = body.alert, body.alert.alias or body.alert.id
    priority = f"P{alert.priority}" if alert.priority.isdigit() else alert.priority
    labels = {
        "action": body.action,
        "entity": alert.entity,
        "source": alert.source,
        "priority": priority,
        "tags": ", ".join(alert.tags),
        "integration": body.name,
    }
    report = AlertReport(
        key=group,
        status=_STATUSES[body.action],
        start=min(alert.created_at * 1_000_000, base.MAX_INT),
        sequence=alert.updated_at,
        title=alert.message,
        text=alert.description,
        severity=base.find_severity(priority),
        labels=base.present(labels),
    )
    key = body.flow.request or base.digest_of(body.action, alert.id, alert.updated_at)
    return [Event(key, group, alert.message, (report,), report.labels)]


def sample(began: float, ended: float | None) -> base.EventRequest:
    """Create an action on an alert."""
    times = {"createdAt": int(began * 1_000), "updatedAt": int((ended or began) * 1_000_000_000)}
    alert = {"alertId": "roebot-test", "message": "This is a test of Roebot", "priority": "P4", **times}
    return base.make_request({"action": "Create" if ended is None else "Close", "alert": alert})


OPSGENIE: Final = base.SourceKind("opsgenie", read, sample)
