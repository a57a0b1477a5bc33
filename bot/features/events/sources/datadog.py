"""Datadog's webhooks, with TEMPLATE as the configured payload.

Variables and transitions: docs.datadoghq.com/integrations/webhooks and /monitors/notify/variables.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from bot.features.events.alerts import AlertReport, Event, Status
from bot.features.events.sources import base

TEMPLATE: Final = """{
  "id": "$ID",
  "cycle": "$ALERT_CYCLE_KEY",
  "aggregate": "$AGGREG_KEY",
  "alert": "$ALERT_ID",
  "scope": "$ALERT_SCOPE",
  "transition": "$ALERT_TRANSITION",
  "type": "$ALERT_TYPE",
  "priority": "$ALERT_PRIORITY",
  "metric": "$ALERT_METRIC",
  "title": "$ALERT_TITLE",
  "text": "$TEXT_ONLY_MSG",
  "host": "$HOSTNAME",
  "link": "$LINK",
  "tags": "$TAGS",
  "at": "$DATE_POSIX"
}
"""
"""Payload to configure for the webhook in Datadog."""
_STATUSES: Final = {
    **dict.fromkeys(("Triggered", "Re-Triggered", "Warn", "Re-Warn", "Renotify"), Status.FIRING),
    **dict.fromkeys(("No Data", "Re-No Data"), Status.FIRING),
    "Recovered": Status.RESOLVED,
}


class _Body(base.Payload):
    id: base.Key
    transition: base.Line
    cycle: base.Key = ""
    aggregate: base.Key = ""
    alert: base.Line = ""
    scope: base.Line = ""
    type: base.Line = ""
    priority: base.Line = ""
    metric: base.Line = ""
    title: base.Line = ""
    text: base.Paragraphs = ""
    host: base.Line = ""
    link: base.Line = ""
    tags: base.Line = ""
    at: base.Line = ""


def read(delivery: base.EventRequest) -> Sequence[Event]:
    """Read a notification of a monitor. Other events are ignored."""
    body = base.read_payload(_Body, base.read_json(delivery.body))
    if body.id.startswith("$"):
        raise base.UnreadableEvent(
            "id: expected a value instead of $ID, which Datadog replaces when it sends the payload."
        )
    if body.transition not in _STATUSES:
        return []
    group = body.cycle or body.aggregate or base.identifier(f"{body.alert} {body.scope}")
    if not group:
        raise base.UnreadableEvent("cycle, aggregate or alert: at least one must have a value.")
    facts = {"alert": body.alert, "scope": body.scope, "metric": body.metric, "host": body.host}
    more = {"transition": body.transition, "type": body.type, "priority": body.priority}
    tags = dict(tag.strip().partition(":")[::2] for tag in body.tags.split(",") if ":" in tag)
    report = AlertReport(
        key=group,
        status=_STATUSES[body.transition],
        sequence=base.unix_seconds(body.at),
        title=body.title,
        text=body.text,
        severity=base.find_severity(body.priority, body.type),
        labels=base.present({**tags, **facts, **more}),
        links=base.keep_links([("event", body.link)]),
    )
    return [Event(f"{body.id} {body.transition}", group, body.title, (report,), report.labels)]


def sample(began: float, ended: float | None) -> base.EventRequest:
    """Create a notification with the payload of TEMPLATE."""
    transition, at = ("Triggered", began) if ended is None else ("Recovered", ended)
    given = {"id": f"{at:.0f}", "cycle": "roebot-test", "transition": transition, "at": f"{at:.0f}"}
    empty = dict.fromkeys(json.loads(TEMPLATE), "")
    return base.make_request({**empty, **given, "title": "This is a test of Roebot", "priority": "P4"})


DATADOG: Final = base.SourceKind("datadog", read, sample)
