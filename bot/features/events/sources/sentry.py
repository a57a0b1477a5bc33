"""Sentry's internal integrations: issue alerts, metric alerts, and changes of issues.

Fields: docs/integrations/integration-platform/webhooks of getsentry/sentry-docs. The kind and
the time of an event are in headers, which the signature does not cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from bot.features.events.alerts import AlertReport, Event, Status
from bot.features.events.credentials import hex_signature
from bot.features.events.sources import base

_ISSUE_STATES: Final = {
    "unresolved": Status.FIRING,
    "ignored": Status.ACKNOWLEDGED,
    "resolved": Status.RESOLVED,
}
_METRIC_STATES: Final = {
    **dict.fromkeys(("critical", "warning", "open"), Status.FIRING),
    "resolved": Status.RESOLVED,
}


class _Issue(base.Payload):
    id: base.Key
    short_id: base.Line = Field("", alias="shortId")
    title: base.Line = ""
    culprit: base.Line = ""
    level: base.Line = ""
    priority: base.Line = ""
    status: base.Line = ""
    substatus: base.Line = ""
    web_url: base.Line = ""
    permalink: base.Line = ""
    project: dict[str, Any] | None = None


class _Error(base.Payload):
    issue_id: base.Key
    title: base.Line = ""
    culprit: base.Line = ""
    level: base.Line = ""
    environment: base.Line = ""
    release: base.Line = ""
    web_url: base.Line = ""
    tags: tuple[tuple[base.Line, base.Line], ...] = ()


class _Metric(base.Payload):
    id: base.Key
    title: base.Line = ""


class _MetricNews(base.Payload):
    metric_alert: _Metric
    description_title: base.Line = ""
    description_text: base.Paragraphs = ""
    web_url: base.Line = ""


class _Body(base.Payload):
    action: base.Line
    data: dict[str, Any]


def read(delivery: base.EventRequest) -> Sequence[Event]:
    """Read an event. Other kinds of events are ignored."""
    kind = delivery.headers.get("sentry-hook-resource", "")
    if kind not in _READERS:
        return []
    body = base.read_payload(_Body, base.read_json(delivery.body))
    report = _READERS[kind](body, base.unix_seconds(delivery.headers.get("sentry-hook-timestamp", "")))
    if report is None:
        return []
    labels = {"event": f"{kind}.{body.action}", **report.labels}
    key = base.delivery_key(delivery.headers.get("request-id", ""), kind, delivery.body)
    return [Event(key, report.key, report.title, (report,), labels)]


def _read_issue(body: _Body, at: int) -> AlertReport | None:
    issue = base.read_payload(_Issue, body.data.get("issue"))
    if issue.status not in _ISSUE_STATES:
        return None
    project = base.line((issue.project or {}).get("slug"))
    return AlertReport(
        key=f"issue {issue.id}",
        status=_ISSUE_STATES[issue.status],
        sequence=at,
        title=f"{issue.short_id} {issue.title}".strip(),
        text=issue.culprit or "",
        severity=base.find_severity(issue.priority, issue.level),
        labels=base.present({"project": project, "substatus": issue.substatus, "level": issue.level}),
        links=base.keep_links([("issue", issue.web_url or issue.permalink)]),
    )


def _read_error(body: _Body, at: int) -> AlertReport | None:
    """Read an issue alert. It has no end; it is resolved when its issue is."""
    error = base.read_payload(_Error, body.data.get("event"))
    rule = base.line(body.data.get("triggered_rule"))
    facts = {"level": error.level, "environment": error.environment, "release": error.release}
    return AlertReport(
        key=f"issue {error.issue_id}",
        status=Status.FIRING,
        sequence=at,
        title=error.title,
        text=error.culprit or "",
        severity=base.find_severity(error.level),
        labels=base.present({**dict(error.tags), **facts, "rule": rule}),
        links=base.keep_links([("event", error.web_url)]),
    )


def _read_metric(body: _Body, at: int) -> AlertReport | None:
    if body.action not in _METRIC_STATES:
        return None
    news = base.read_payload(_MetricNews, body.data)
    return AlertReport(
        key=f"metric {news.metric_alert.id}",
        status=_METRIC_STATES[body.action],
        sequence=at,
        title=news.description_title or news.metric_alert.title,
        text=news.description_text,
        severity=base.find_severity(body.action),
        links=base.keep_links([("alert", news.web_url)]),
    )


_READERS: Final = {"issue": _read_issue, "event_alert": _read_error, "metric_alert": _read_metric}


def sample(began: float, ended: float | None) -> base.EventRequest:
    """Create a request about an issue."""
    status, action = ("unresolved", "created") if ended is None else ("resolved", "resolved")
    issue = {"id": "1", "shortId": "ROEBOT-1", "title": "This is a test of Roebot", "status": status}
    at = f"{ended or began:.0f}"
    headers = {"sentry-hook-resource": "issue", "sentry-hook-timestamp": at, "request-id": f"{action}-{at}"}
    return base.make_request({"action": action, "data": {"issue": issue}}, headers)


SIGN: Final = hex_signature("sentry-hook-signature", "sentry-app-signature")
SENTRY: Final = base.SourceKind("sentry", read, sample, SIGN)
