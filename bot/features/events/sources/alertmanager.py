"""Alertmanager's webhook, version 4, and Grafana's additions to it.

Fields: `notify/webhook/webhook.go` and `template/template.go` of prometheus/alertmanager 0.34; Grafana's:
`receivers/webhook/v1/webhook.go` and `templates/template_data.go` of grafana/alerting (August 2026).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic import Field

from bot.features.events.alerts import AlertReport, Event, Status
from bot.features.events.credentials import hex_signature
from bot.features.events.sources import base

_STATUSES: Final = {"firing": Status.FIRING, "resolved": Status.RESOLVED}
_OTHER_BODY: Final = (
    'version: expected "4" (Alertmanager) or "1" (Grafana). Remove the custom payload of the receiver.'
)


class _Alert(base.Payload):
    status: base.Line
    labels: base.Labels = Field(default_factory=dict)
    annotations: base.Labels = Field(default_factory=dict)
    starts_at: base.Instant = Field(alias="startsAt")
    ends_at: base.Instant = Field(0, alias="endsAt")
    generator_url: str = Field("", alias="generatorURL")
    fingerprint: base.Key = ""
    silence_url: str = Field("", alias="silenceURL")
    dashboard_url: str = Field("", alias="dashboardURL")
    panel_url: str = Field("", alias="panelURL")


class _Message(base.Payload):
    version: base.Line
    group_key: base.Key = Field(alias="groupKey")
    alerts: list[Any]
    truncated: base.Number = Field(0, alias="truncatedAlerts")
    group_labels: base.Labels = Field(default_factory=dict, alias="groupLabels")
    common_labels: base.Labels = Field(default_factory=dict, alias="commonLabels")
    common_annotations: base.Labels = Field(default_factory=dict, alias="commonAnnotations")
    receiver: base.Line = ""
    reason: base.Line = Field("", alias="notification_reason")
    org_id: base.Line = Field("", alias="orgId")


def read(delivery: base.EventRequest) -> Sequence[Event]:
    """Read a notification: one event with the current state of its group."""
    value = base.read_json(delivery.body)
    if not isinstance(value, dict) or str(value.get("version")) not in ("4", "1"):
        raise base.UnreadableEvent(_OTHER_BODY)
    message = base.read_payload(_Message, value)
    listed = [
        _report(base.read_payload(_Alert, one), index)
        for index, one in enumerate(message.alerts[: base.MAX_REPORTS])
    ]
    group = f"{message.org_id}:{message.group_key}" if message.org_id else message.group_key
    labels = {**message.common_labels, **message.group_labels, "receiver": message.receiver.replace("\\", "")}
    names = [labels.get("alertname", "") for labels in (message.group_labels, message.common_labels)]
    about = ", ".join(f"{name}={value}" for name, value in message.group_labels.items())
    titles = [*names, message.common_annotations.get("summary", ""), about, *(one.title for one in listed)]
    event = Event(
        id=base.content_id(group, listed, message.reason),
        group=group,
        title=next(filter(None, titles), ""),
        reports=tuple(listed),
        labels=labels,
        is_whole=True,
        omitted=message.truncated + len(message.alerts) - len(listed),
        is_test=message.common_labels.get("alertname") == "TestAlert" and "grafana" in labels.values(),
    )
    return [event]


def _report(alert: _Alert, index: int) -> AlertReport:
    if alert.status not in _STATUSES:
        raise base.UnreadableEvent(f'alerts.{index}.status: expected "firing" or "resolved".')
    labels, notes = alert.labels, alert.annotations
    status = _STATUSES[alert.status]
    links = [("source", alert.generator_url), ("dashboard", alert.dashboard_url)]
    links += [("panel", alert.panel_url), ("silence", alert.silence_url)]
    return AlertReport(
        key=alert.fingerprint or base.content_id("", [], labels),
        status=status,
        start=alert.starts_at,
        end=alert.ends_at if status is Status.RESOLVED else 0,
        title=notes.get("summary") or labels.get("alertname", ""),
        text=notes.get("description") or notes.get("message", ""),
        severity=base.find_severity(labels.get("severity"), labels.get("priority"), labels.get("level")),
        labels=labels,
        links=base.keep_links(links),
        runbook=base.web_url(notes.get("runbook_url") or notes.get("runbook")),
    )


def sample_notification(version: str) -> Callable[[float, float | None], base.EventRequest]:
    """Return a function that creates sample notifications of this version."""

    def sample(began: float, ended: float | None) -> base.EventRequest:
        labels = {"alertname": "RoebotTest", "severity": "warning"}
        alert = {
            "status": "firing" if ended is None else "resolved",
            "labels": labels,
            "annotations": {"summary": "This is a test of Roebot"},
            "startsAt": base.format_time(began),
            "endsAt": base.format_time(ended or -62_135_596_800),
            "fingerprint": "726f65626f740000",
        }
        message = {
            "version": version,
            "groupKey": '{}:{alertname="RoebotTest"}',
            "status": alert["status"],
            "receiver": "roebot",
            "groupLabels": {"alertname": "RoebotTest"},
            "commonLabels": labels,
            "alerts": [alert],
        }
        return base.make_request(message)

    return sample


SIGN: Final = hex_signature("x-grafana-alerting-signature")
INTERVAL: Final = 330.0
"""A member of a cluster corrects what a lagging one sent after `group_interval` (five minutes by default) and
15 s for each member before it."""
ALERTMANAGER: Final = base.SourceKind(
    "alertmanager", read, sample_notification("4"), has_ids=False, interval=INTERVAL, quiet_after=8.5 * 3600
)
"""It repeats firing alerts after `repeat_interval` (four hours by default), checked per group interval."""
GRAFANA: Final = replace(ALERTMANAGER, name="grafana", sample=sample_notification("1"), credentials=SIGN)
