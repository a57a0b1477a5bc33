"""What sources send: short builders of their bodies, and samples with the state that each leads to.

Bodies are made from the published schemas that the modules of the sources name. Times are seconds after T0.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.config.events import EventFields
from bot.features.events.sources.alertmanager import ALERTMANAGER, GRAFANA
from bot.features.events.sources.base import EventRequest, SourceKind
from bot.features.events.sources.cloudevents import cloudevents
from bot.features.events.sources.datadog import DATADOG, TEMPLATE
from bot.features.events.sources.github import GITHUB
from bot.features.events.sources.mapping import generic
from bot.features.events.sources.opsgenie import OPSGENIE
from bot.features.events.sources.pagerduty import PAGERDUTY
from bot.features.events.sources.sentry import SENTRY

T0 = datetime(2026, 3, 14, 9, 0, tzinfo=UTC)
JSON = {"content-type": "application/json"}
YEAR_ONE = "0001-01-01T00:00:00Z"


@dataclass(frozen=True)
class Sample:
    """Requests in the order of what happened, and the state of each group after all of them.

    A state is the group's, with the number of alerts that fire.
    """

    name: str
    kind: SourceKind
    deliveries: Sequence[EventRequest]
    expected: Mapping[str, tuple[str, int]] = field(default_factory=dict)


def at(seconds: float, fraction: str = "", offset: int = 0) -> str:
    """A time as sources write it; with `offset` hours, the same instant in another zone."""
    moment = T0 + timedelta(seconds=seconds, hours=offset)
    zone = f"+{offset:02}:00" if offset else "Z"
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}{zone}"


def post(value: Any, headers: Mapping[str, str] = JSON) -> EventRequest:
    """A request with this body, written as the senders in Go do."""
    return EventRequest(headers, json.dumps(value, ensure_ascii=False).encode() + b"\n")


def alert(spec: str, **more: Any) -> dict[str, Any]:
    """An alert of Alertmanager: "NAME firing START" or "NAME resolved START END"."""
    name, status, *times = spec.split()
    start, end = times[0], times[1] if len(times) > 1 else ""
    return {
        "status": status,
        "labels": {"alertname": name, "severity": "critical"},
        "annotations": {"summary": f"{name} is wrong"},
        "startsAt": start if "T" in start else at(float(start)),
        "endsAt": at(float(end)) if end else YEAR_ONE,
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": f"{name:0>16}",
        **more,
    }


def alertmanager(
    *specs: str | dict[str, Any], group: str = "db", truncated: int = 0, **more: Any
) -> EventRequest:
    """A notification of Alertmanager 0.34; `more` replaces fields of it."""
    alerts = [alert(one) if isinstance(one, str) else one for one in specs]
    firing = any(one["status"] == "firing" for one in alerts)
    return post(
        {
            "receiver": "web\\.hook",
            "status": "firing" if firing else "resolved",
            "alerts": alerts,
            "groupLabels": {"service": group},
            "commonLabels": {"service": group},
            "commonAnnotations": {},
            "externalURL": "http://alertmanager.example",
            "version": "4",
            "groupKey": f'{{}}:{{service="{group}"}}',
            "truncatedAlerts": truncated,
            **more,
        }
    )


def grafana(*specs: str | dict[str, Any], org: int = 1, **more: Any) -> EventRequest:
    """A notification of Grafana's unified alerting."""
    given = {"version": "1", "orgId": org, "title": "[FIRING:1]", "state": "alerting", "message": "…"}
    return alertmanager(*specs, **{**given, **more})


def pagerduty(kind: str, status: str, seconds: float, number: int = 2, **more: Any) -> EventRequest:
    """An event about an incident."""
    data = {
        "id": f"PGR0VU{number}",
        "type": "incident",
        "status": status,
        "number": number,
        "title": "Déjà vu: disk full",
        "html_url": f"https://acme.example/incidents/PGR0VU{number}",
        "created_at": at(0),
        "urgency": "high",
        "service": {"id": "PF9KMXH", "summary": "API", "type": "service_reference"},
        "priority": {"id": "PSO75BM", "summary": "P1"},
        "assignees": [{"id": "PTUXL6G", "summary": "Ada", "type": "user_reference"}],
        "resolve_reason": None,
        **more,
    }
    return post(
        {
            "event": {
                "id": f"{kind}-{number}-{seconds:g}",
                "event_type": kind,
                "resource_type": "incident",
                "occurred_at": at(seconds, ".189"),
                "agent": None,
                "client": {"name": "PagerDuty"},
                "data": data,
            }
        }
    )


def github(event: str, guid: str, **parts: Any) -> EventRequest:
    """A webhook of a repository."""
    headers = {**JSON, "x-github-event": event, "x-github-delivery": guid, "x-github-hook-id": "7"}
    repository = {"id": 99, "full_name": "acme/shop"}
    return post({"repository": repository, "sender": {"login": "ada", "id": 1}, **parts}, headers)


def run(conclusion: str | None, created: float, attempt: int = 1, branch: str = "main") -> EventRequest:
    """A completed run of a workflow; one without a conclusion is in progress."""
    value = {
        "id": 1_000 + int(created),
        "name": "CI",
        "workflow_id": 5,
        "head_branch": branch,
        "event": "push",
        "status": "completed" if conclusion else "in_progress",
        "conclusion": conclusion,
        "run_attempt": attempt,
        "created_at": at(created),
        "html_url": "https://github.example/acme/shop/actions/runs/1",
        "display_title": "Fix the till",
        "pull_requests": [],
    }
    action = "completed" if conclusion else "in_progress"
    guid = f"run-{conclusion}-{created:g}-{attempt}-{branch.encode().hex()}"
    return github("workflow_run", guid, action=action, workflow_run=value)


def deployment(state: str, number: int, environment: str = "production") -> EventRequest:
    """A status of a deployment."""
    facts = {"environment": environment, "ref": "v1.2", "task": "deploy"}
    return github(
        "deployment_status",
        f"deploy-{state}-{number}-{environment}",
        action="created",
        deployment={"id": number, "created_at": at(number), **facts},
        deployment_status={"id": number * 10, "state": state, "description": None, "log_url": ""},
    )


def issue(action: str, state: str, updated: float, event: str = "issues") -> EventRequest:
    """An event of an issue, or of a pull request."""
    value = {
        "number": 12,
        "title": "The till is open",
        "state": state,
        "body": None,
        "html_url": "https://github.example/acme/shop/issues/12",
        "created_at": at(0),
        "updated_at": at(updated),
        "labels": [{"id": 3, "name": "incident"}],
    }
    name = "issue" if event == "issues" else "pull_request"
    return github(event, f"{event}-{action}-{updated:g}", action=action, **{name: value})


def sentry(resource: str, action: str, seconds: float, **data: Any) -> EventRequest:
    """A request of an internal integration."""
    stamp = int((T0 + timedelta(seconds=seconds)).timestamp())
    headers = {
        **JSON,
        "sentry-hook-resource": resource,
        "sentry-hook-timestamp": str(stamp),
        "request-id": f"{resource}-{action}-{seconds:g}",
    }
    actor = {"id": "sentry", "name": "Sentry", "type": "application"}
    return post({"action": action, "actor": actor, "data": data, "installation": {"uuid": "a8e5"}}, headers)


def sentry_alert(seconds: float) -> EventRequest:
    """An issue alert."""
    event = {
        "event_id": f"e{seconds:g}",
        "issue_id": "111",
        "title": "ReferenceError: heck",
        "level": "error",
        "culprit": "?(<anonymous>)",
        "tags": [["browser", "Chrome"], ["level", "error"]],
        "web_url": "https://sentry.example/issues/111/events/e/",
    }
    return sentry("event_alert", "triggered", seconds, event=event, triggered_rule="Important")


def sentry_issue(action: str, status: str, seconds: float, **more: Any) -> EventRequest:
    """A change of an issue."""
    value = {"id": "111", "shortId": "SHOP-1", "title": "heck", "culprit": None, "status": status}
    return sentry("issue", action, seconds, issue={**value, "project": {"slug": "shop"}, **more})


def metric(action: str, seconds: float) -> EventRequest:
    """A metric alert."""
    return sentry(
        "metric_alert", action, seconds, metric_alert={"id": "7"}, description_title="Errors", web_url=None
    )


def datadog(transition: str, seconds: float, cycle: str = "c1") -> EventRequest:
    """A request with our payload template, its variables replaced."""
    values = {
        "$ID": f"{seconds:g}{cycle}",
        "$ALERT_CYCLE_KEY": cycle,
        "$ALERT_TRANSITION": transition,
        "$ALERT_TITLE": "CPU is high",
        "$ALERT_PRIORITY": "P2",
        "$TAGS": "env:prod,team:blue,alone",
        "$DATE_POSIX": str(int((T0 + timedelta(seconds=seconds)).timestamp())),
        "$LINK": "https://datadog.example/event/1",
    }
    fields = json.loads(TEMPLATE)
    return post({name: values.get(variable, "") for name, variable in fields.items()})


def opsgenie(action: str, seconds: float, number: int = 1, alias: str = "disk") -> EventRequest:
    """An action on an alert; its two times have different units."""
    made = int((T0 + timedelta(seconds=number)).timestamp() * 1000)
    changed = int((T0 + timedelta(seconds=seconds)).timestamp()) * 1_000_000_000 + 110
    value = {
        "alertId": f"id-{number}",
        "message": "Disk full",
        "tags": ["vip"],
        "alias": alias,
        "createdAt": made,
        "updatedAt": changed,
        "priority": 3,
    }
    flow = {"requestId": f"{action}-{seconds:g}-{number}"}
    return post({"action": action, "alert": value, "alertFlowContext": flow, "integrationName": "Webhook"})


def cloud_event(state: str, seconds: float, name: str = "api") -> dict[str, Any]:
    """A CloudEvent about a check."""
    return {
        "specversion": "1.0",
        "id": f"{state}-{seconds:g}",
        "source": "/checks",
        "type": "com.example.check",
        "subject": name,
        "data": {"title": f"{name} is {state}", "state": state, "at": at(seconds)},
    }


STRUCTURED = {"content-type": "application/cloudevents+json; charset=utf-8"}
BATCH = {"content-type": "application/cloudevents-batch+json"}


def binary(event: dict[str, Any]) -> EventRequest:
    """A CloudEvent in binary mode: attributes in headers, data as the body."""
    headers = {f"ce-{name}": str(value) for name, value in event.items() if name != "data"}
    return post(event["data"], {**JSON, **headers})


CHECKS = cloudevents(EventFields(title="data.title", status="data.state", time="data.at"))
MONITOR = generic(
    EventFields(
        id="event",
        group="monitor.0.id",
        title="monitor.0.name",
        status="state",
        severity="level",
        time="when",
        link="url",
        labels={"team": "team"},
    )
)


def monitor(state: str, seconds: float, name: str = "m1") -> EventRequest:
    """A request of a monitor of one's own."""
    when = int((T0 + timedelta(seconds=seconds)).timestamp())
    monitors = [{"id": name, "name": f"Monitor {name}"}]
    fields = {"event": f"{name}-{state}-{seconds:g}", "state": state, "level": "high", "when": when}
    return post({**fields, "monitor": monitors, "team": "blue", "url": "https://monitor.example"})


def am(name: str, expected: Mapping[str, tuple[str, int]], *deliveries: EventRequest) -> Sample:
    """A sample of Alertmanager."""
    return Sample(f"alertmanager: {name}", ALERTMANAGER, deliveries, expected)


DB, WEB = '{}:{service="db"}', '{}:{service="web"}'
CI, CI_DEV = "99/workflow/5/main", "99/workflow/5/dev"
SAMPLES = (
    am("fires", {DB: ("firing", 1)}, alertmanager("a firing 10")),
    am("ends", {DB: ("resolved", 0)}, alertmanager("a firing 10"), alertmanager("a resolved 10 60")),
    am(
        "one of two ends",
        {DB: ("firing", 1)},
        alertmanager("a firing 10", "b firing 20"),
        alertmanager("a firing 10", "b resolved 20 60"),
    ),
    am(
        "both end, one after the other",
        {DB: ("resolved", 0)},
        alertmanager("a firing 10", "b firing 20"),
        alertmanager("a firing 10", "b resolved 20 60"),
        alertmanager("a resolved 10 90", "b resolved 20 60"),
    ),
    am(
        "another one joins",
        {DB: ("firing", 2)},
        alertmanager("a firing 10"),
        alertmanager("a firing 10", "b firing 400"),
    ),
    am(
        "is repeated after four hours",
        {DB: ("firing", 1)},
        alertmanager("a firing 10"),
        alertmanager("a firing 10", notification_reason="repeat interval elapsed"),
    ),
    am(
        "an end is told twice",
        {DB: ("firing", 1)},
        alertmanager("a firing 10", "b firing 20"),
        alertmanager("a firing 10", "b resolved 20 60"),
        alertmanager("a firing 10", "b resolved 20 60", "c resolved 30 70"),
    ),
    am(
        "flaps unseen",
        {DB: ("firing", 1)},
        alertmanager("a firing 10"),
        alertmanager("a firing 100"),
    ),
    am(
        "flaps unseen and ends",
        {DB: ("resolved", 0)},
        alertmanager("a firing 10"),
        alertmanager("a firing 100"),
        alertmanager("a resolved 100 160"),
    ),
    am(
        "fires again",
        {DB: ("firing", 1)},
        alertmanager("a firing 10"),
        alertmanager("a resolved 10 60"),
        alertmanager("a firing 300"),
    ),
    am(
        "a lagging peer repeats an older episode",
        {DB: ("resolved", 0)},
        alertmanager("a firing 10"),
        alertmanager("a resolved 10 60"),
        alertmanager("a firing 300"),
        alertmanager("a resolved 300 360"),
        alertmanager("a firing 10"),
    ),
    am(
        "a lagging peer repeats the newest episode",
        {DB: ("resolved", 0)},
        alertmanager("a firing 10"),
        alertmanager("a resolved 10 60"),
        alertmanager("a firing 10"),
        alertmanager("a resolved 10 60"),
    ),
    am(
        "a lagging peer mixes two states",
        {DB: ("resolved", 0)},
        alertmanager("a firing 10", "b firing 20"),
        alertmanager("a resolved 10 60", "b firing 20"),
        alertmanager("a resolved 10 60", "b resolved 20 90"),
        alertmanager("a firing 10", "b resolved 20 90"),
        alertmanager("a resolved 10 60", "b resolved 20 90"),
    ),
    am(
        "a part of the group ends while the rest is not listed",
        {DB: ("firing", 0)},
        alertmanager("a firing 10", truncated=5),
        alertmanager("a resolved 10 60", truncated=5),
    ),
    am(
        "the whole group ends after a part was listed",
        {DB: ("resolved", 0)},
        alertmanager("a firing 10", truncated=1),
        alertmanager("a resolved 10 60", truncated=1),
        alertmanager("a resolved 10 60", "b resolved 15 90"),
    ),
    am(
        "an alert that is not listed is not resolved",
        {DB: ("firing", 2)},
        alertmanager("a firing 10", "b firing 20"),
        alertmanager("c firing 70", "a resolved 10 60", truncated=1),
    ),
    am(
        "one leaves the list under a silence",
        {DB: ("firing", 1)},
        alertmanager("a firing 10", "b firing 20"),
        alertmanager("b firing 20", "c resolved 30 90"),
    ),
    am(
        "all leave the list",
        {DB: ("no_news", 0)},
        alertmanager("a firing 10"),
        alertmanager("b firing 70"),
        alertmanager("b resolved 70 90"),
    ),
    am(
        "zeros at the end of a time are dropped",
        {DB: ("firing", 1)},
        alertmanager(f"a firing {at(10, '.55')}"),
        alertmanager({**alert("a resolved 10 20"), "startsAt": at(10, ".55")}),
        alertmanager(f"a firing {at(10, '.551')}"),
    ),
    am(
        "the same time in two spellings",
        {DB: ("resolved", 0)},
        alertmanager(f"a firing {at(10, '.500')}"),
        alertmanager({**alert("a resolved 10 20"), "startsAt": at(10, ".5")}),
    ),
    am(
        "two groups",
        {DB: ("firing", 1), WEB: ("resolved", 0)},
        alertmanager("a firing 10"),
        alertmanager("a firing 10", group="web"),
        alertmanager("a resolved 10 60", group="web"),
    ),
    am(
        "labels in any script, and no name",
        {'{}:{service="größe"}': ("firing", 1)},
        alertmanager({**alert("a firing 10"), "labels": {"ort": "Zürich"}, "annotations": {}}, group="größe"),
    ),
    am(
        "no fingerprint",
        {DB: ("resolved", 0)},
        alertmanager({**alert("a firing 10"), "fingerprint": ""}),
        alertmanager({**alert("a resolved 10 60"), "fingerprint": ""}),
    ),
    Sample("grafana: fires", GRAFANA, [grafana("a firing 10")], {f"1:{DB}": ("firing", 1)}),
    Sample(
        "grafana: ends, told in another zone",
        GRAFANA,
        [
            grafana({**alert("a firing 10"), "startsAt": at(10, ".157", 2)}),
            grafana({**alert("a resolved 10 60"), "startsAt": at(10, ".157")}),
        ],
        {f"1:{DB}": ("resolved", 0)},
    ),
    Sample(
        "grafana: two organizations",
        GRAFANA,
        [grafana("a firing 10"), grafana("a firing 10", org=2), grafana("a resolved 10 60", org=2)],
        {f"1:{DB}": ("firing", 1), f"2:{DB}": ("resolved", 0)},
    ),
    Sample(
        "grafana: no data is an alert of its own",
        GRAFANA,
        [
            grafana("a firing 10"),
            grafana("DatasourceNoData firing 70", "a resolved 10 60", values={"B": 44.2}),
        ],
        {f"1:{DB}": ("firing", 1)},
    ),
    Sample(
        "grafana: replicas repeat",
        GRAFANA,
        [
            grafana("a firing 10"),
            grafana("a firing 10"),
            grafana("a resolved 10 60"),
            grafana("a resolved 10 60"),
        ],
        {f"1:{DB}": ("resolved", 0)},
    ),
    Sample(
        "pagerduty: starts",
        PAGERDUTY,
        [pagerduty("incident.triggered", "triggered", 1)],
        {"PGR0VU2": ("firing", 1)},
    ),
    Sample(
        "pagerduty: is acknowledged",
        PAGERDUTY,
        [
            pagerduty("incident.triggered", "triggered", 1),
            pagerduty("incident.acknowledged", "acknowledged", 5),
        ],
        {"PGR0VU2": ("acknowledged", 0)},
    ),
    Sample(
        "pagerduty: is acknowledged no more",
        PAGERDUTY,
        [
            pagerduty("incident.triggered", "triggered", 1),
            pagerduty("incident.acknowledged", "acknowledged", 5),
            pagerduty("incident.unacknowledged", "triggered", 9),
        ],
        {"PGR0VU2": ("firing", 1)},
    ),
    Sample(
        "pagerduty: ends",
        PAGERDUTY,
        [pagerduty("incident.triggered", "triggered", 1), pagerduty("incident.resolved", "resolved", 9)],
        {"PGR0VU2": ("resolved", 0)},
    ),
    Sample(
        "pagerduty: opens again",
        PAGERDUTY,
        [
            pagerduty("incident.triggered", "triggered", 1),
            pagerduty("incident.resolved", "resolved", 9),
            pagerduty("incident.reopened", "triggered", 20, reopened_at=at(20)),
        ],
        {"PGR0VU2": ("firing", 1)},
    ),
    Sample(
        "pagerduty: a note and a service change nothing",
        PAGERDUTY,
        [
            pagerduty("incident.triggered", "triggered", 1),
            pagerduty("incident.annotated", "", 2, type="incident_note", content="hm"),
            pagerduty("service.updated", "", 3, type="service"),
            pagerduty("pagey.ping", "", 4, type="ping", message="Hello"),
        ],
        {"PGR0VU2": ("firing", 1)},
    ),
    Sample(
        "pagerduty: two incidents",
        PAGERDUTY,
        [
            pagerduty("incident.triggered", "triggered", 1),
            pagerduty("incident.triggered", "triggered", 1, number=3),
            pagerduty("incident.resolved", "resolved", 9, number=3, priority=None),
        ],
        {"PGR0VU2": ("firing", 1), "PGR0VU3": ("resolved", 0)},
    ),
    Sample("github: a run fails", GITHUB, [run(None, 10), run("failure", 10)], {CI: ("firing", 1)}),
    Sample(
        "github: the next run passes", GITHUB, [run("failure", 10), run("success", 90)], {CI: ("resolved", 0)}
    ),
    Sample(
        "github: a second attempt passes",
        GITHUB,
        [run("timed_out", 10), run("success", 10, attempt=2)],
        {CI: ("resolved", 0)},
    ),
    Sample(
        "github: an older run passes late",
        GITHUB,
        [run("success", 10), run("failure", 90)],
        {CI: ("firing", 1)},
    ),
    Sample(
        "github: a cancelled run tells nothing",
        GITHUB,
        [run("failure", 10), run("cancelled", 90), run("skipped", 95)],
        {CI: ("firing", 1)},
    ),
    Sample(
        "github: another branch passes",
        GITHUB,
        [run("failure", 10), run("success", 90, branch="dev")],
        {CI: ("firing", 1), CI_DEV: ("resolved", 0)},
    ),
    Sample(
        "github: a later deployment succeeds",
        GITHUB,
        [deployment("failure", 1), deployment("in_progress", 2), deployment("success", 2)],
        {"99/deployment/production/deploy": ("resolved", 0)},
    ),
    Sample(
        "github: another environment succeeds",
        GITHUB,
        [deployment("error", 1), deployment("success", 2, environment="staging")],
        {
            "99/deployment/production/deploy": ("firing", 1),
            "99/deployment/staging/deploy": ("resolved", 0),
        },
    ),
    Sample(
        "github: an issue is closed and opened again",
        GITHUB,
        [issue("opened", "open", 0), issue("closed", "closed", 5), issue("reopened", "open", 9)],
        {"99/issue/12": ("firing", 1)},
    ),
    Sample(
        "github: a pull request is closed, then labeled",
        GITHUB,
        [
            issue("opened", "open", 0, event="pull_request"),
            issue("closed", "closed", 5, event="pull_request"),
            issue("labeled", "closed", 6, event="pull_request"),
        ],
        {"99/pull request/12": ("resolved", 0)},
    ),
    Sample("github: a ping", GITHUB, [github("ping", "p", zen="Keep it simple", hook_id=7)]),
    Sample("sentry: an alert", SENTRY, [sentry_alert(1)], {"issue 111": ("firing", 1)}),
    Sample(
        "sentry: the issue of an alert is resolved",
        SENTRY,
        [sentry_alert(1), sentry_issue("resolved", "resolved", 5, level="error")],
        {"issue 111": ("resolved", 0)},
    ),
    Sample(
        "sentry: a regression",
        SENTRY,
        [
            sentry_issue("created", "unresolved", 1),
            sentry_issue("resolved", "resolved", 5),
            sentry_issue("unresolved", "unresolved", 9, substatus="regressed"),
        ],
        {"issue 111": ("firing", 1)},
    ),
    Sample(
        "sentry: an issue is archived",
        SENTRY,
        [sentry_alert(1), sentry_issue("ignored", "ignored", 5)],
        {"issue 111": ("acknowledged", 0)},
    ),
    Sample(
        "sentry: a metric recovers",
        SENTRY,
        [metric("critical", 1), metric("warning", 5), metric("resolved", 9)],
        {"metric 7": ("resolved", 0)},
    ),
    Sample("sentry: a comment tells nothing", SENTRY, [sentry("comment", "created", 1, comment="hm")]),
    Sample("datadog: a monitor triggers", DATADOG, [datadog("Triggered", 1)], {"c1": ("firing", 1)}),
    Sample(
        "datadog: it recovers",
        DATADOG,
        [datadog("Triggered", 1), datadog("Renotify", 5), datadog("Recovered", 9)],
        {"c1": ("resolved", 0)},
    ),
    Sample("datadog: no data", DATADOG, [datadog("Warn", 1), datadog("No Data", 5)], {"c1": ("firing", 1)}),
    Sample(
        "datadog: another cycle",
        DATADOG,
        [datadog("Triggered", 1), datadog("Recovered", 5), datadog("Triggered", 9, cycle="c2")],
        {"c1": ("resolved", 0), "c2": ("firing", 1)},
    ),
    Sample(
        "opsgenie: an alert",
        OPSGENIE,
        [opsgenie("Create", 1), opsgenie("AddNote", 2)],
        {"disk": ("firing", 1)},
    ),
    Sample(
        "opsgenie: it is acknowledged",
        OPSGENIE,
        [opsgenie("Create", 1), opsgenie("Acknowledge", 5)],
        {"disk": ("acknowledged", 0)},
    ),
    Sample(
        "opsgenie: it is closed",
        OPSGENIE,
        [opsgenie("Create", 1), opsgenie("Acknowledge", 5), opsgenie("Close", 9), opsgenie("Delete", 10)],
        {"disk": ("resolved", 0)},
    ),
    Sample(
        "opsgenie: a new alert with the same alias",
        OPSGENIE,
        [opsgenie("Create", 1), opsgenie("Close", 9), opsgenie("Create", 20, number=2)],
        {"disk": ("firing", 1)},
    ),
    Sample(
        "opsgenie: a late action on the alert before",
        OPSGENIE,
        [opsgenie("Create", 1), opsgenie("Create", 20, number=2), opsgenie("Close", 30, number=1)],
        {"disk": ("firing", 1)},
    ),
    Sample(
        "cloudevents: structured", CHECKS, [post(cloud_event("down", 1), STRUCTURED)], {"api": ("firing", 1)}
    ),
    Sample(
        "cloudevents: a batch",
        CHECKS,
        [post([cloud_event("down", 1), cloud_event("up", 9), cloud_event("down", 3, "web")], BATCH)],
        {"api": ("resolved", 0), "web": ("firing", 1)},
    ),
    Sample(
        "cloudevents: binary",
        CHECKS,
        [binary(cloud_event("down", 1)), binary(cloud_event("up", 9))],
        {"api": ("resolved", 0)},
    ),
    Sample(
        "cloudevents: data in base64",
        CHECKS,
        [
            post(
                {
                    **{name: value for name, value in cloud_event("down", 1).items() if name != "data"},
                    "data_base64": b64encode(json.dumps(cloud_event("down", 1)["data"]).encode()).decode(),
                },
                STRUCTURED,
            )
        ],
        {"api": ("firing", 1)},
    ),
    Sample("generic: fires", MONITOR, [monitor("alarm", 1)], {"m1": ("firing", 1)}),
    Sample("generic: ends", MONITOR, [monitor("alarm", 1), monitor("OK", 9)], {"m1": ("resolved", 0)}),
    Sample(
        "generic: is acknowledged and ends, another fires",
        MONITOR,
        [monitor("alarm", 1), monitor("acked", 5), monitor("closed", 9), monitor("alarm", 2, "m2")],
        {"m1": ("resolved", 0), "m2": ("firing", 1)},
    ),
)
"""Every sample of every source."""
