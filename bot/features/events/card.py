"""Contents of an incident's card, in Markdown that every platform's renderer supports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from bot.commands.escaping import quoted
from bot.commands.registry import Button
from bot.domain import Mention
from bot.features.events.alerts import Alert, AlertSeverity, Group, Status
from bot.features.events.incident import Incident, IncidentChange
from bot.texts import Texts

MARKS: Final = {
    Status.FIRING: "🔴",
    Status.ACKNOWLEDGED: "🟡",
    Status.NO_NEWS: "⚪",
    Status.RESOLVED: "🟢",
}
MAX_CARD: Final = 1_800
"""Maximum length of a card, which must fit in one message on every platform (one allows 2,000)."""
MAX_LISTED: Final = 8
"""Maximum number of alerts listed on a card; further ones are counted."""
MAX_DETAILS: Final = 300
MAX_FACTS: Final = 20
"""Maximum number of alerts passed to the agent."""
MAX_CHANGES: Final = 15
"""Maximum number of changes shown of an incident."""
MAX_LABELS: Final = 6
MAX_ON_CALL: Final = 5
MAX_LINKS: Final = 3
HIDDEN_LABELS: Final = frozenset({"alertname", "severity", "receiver", "event", "action", "transition"})


def format_card(incident: Incident, texts: Texts, on_call: Sequence[Mention] = ()) -> str:
    """Return the card of an incident. Texts of the source are shown as code, so that none becomes a link."""
    group, alerts = incident.group, _sorted(incident.group)
    state = texts(f"incident_{incident.status.value}")
    title = format_title(incident, texts, 200)
    lines = [f"{MARKS[incident.status]} {texts('incident_head', number=incident.id, state=state)} {title}"]
    if incident.parent:
        lines.append(texts("incident_part_of", number=incident.parent))
    if incident.taken_as is not None and incident.taken_as is incident.status:
        key = f"incident_{incident.taken_as.value}_by"
        lines.append(texts(key, name=quoted(incident.taken_name or incident.taken_by or "?")))
    if on_call:
        names = [one.label if one.id else quoted(one.name) for one in on_call[:MAX_ON_CALL]]
        lines.append(texts("incident_on_call", names=texts("list_separator").join(names)))
    if incident.assignee:
        lines.append(texts("incident_assigned_to", name=quoted(incident.assignee_name or incident.assignee)))
    lines += [texts("incident_paused_line")] if incident.is_paused else []
    lines += filter(None, [_describe(incident, texts), _labels(incident)])
    if len(alerts) > 1 or group.omitted:
        lines += ["", *(_line(group, one) for one in alerts[:MAX_LISTED])]
        left = len(alerts) - MAX_LISTED + group.omitted
        lines += [texts("incident_more", count=left)] if left > 0 else []
    elif alerts:
        report = alerts[0].report
        details = [report.title if report.title not in incident.title else "", report.text]
        lines += ["", *(quoted(one, MAX_DETAILS) for one in details if one)]
    return "\n".join([*lines, *_links(alerts, texts, MAX_CARD - len("\n".join(lines)) - 2)])


def format_title(incident: Incident, texts: Texts, most: int = 60) -> str:
    """Return the title of an incident, as code unless it is the bot's own."""
    if incident.is_storm:
        return texts("incident_storm", count=len(incident.group.alerts))
    return quoted(incident.title or incident.key, most)


def format_news(
    incident: Incident, texts: Texts, changes: Sequence[IncidentChange] = (), zone: tzinfo = UTC
) -> str:
    """Return the message to the chat about an incident's new state, with its timeline if it has ended."""
    state = texts("incident_done", number=incident.id, state=texts(f"incident_{incident.status.value}"))
    lasted = f"{incident.lasted / 60:.0f} min" if incident.lasted >= 60 else f"{incident.lasted:.0f} s"
    facts = [format_title(incident, texts), texts("incident_lasted", lasted=lasted)][: 1 + incident.is_ended]
    timeline = format_changes(changes, zone, texts) if incident.is_ended else ()
    return "\n".join([f"{MARKS[incident.status]} {state}", " · ".join(facts), *timeline])


def format_changes(changes: Sequence[IncidentChange], zone: tzinfo, texts: Texts) -> list[str]:
    """Return a line for each of the newest changes, the oldest first."""
    lines = []
    for change in changes[-MAX_CHANGES:]:
        at, state = (
            f"{datetime.fromtimestamp(change.at, zone):%m-%d %H:%M %Z}",
            texts(f"change_{change.kind}"),
        )
        by = {"name": quoted(change.name or change.person)} if change.person else {}
        lines.append(texts("incident_change_by" if by else "incident_change", at=at, state=state, **by))
    return lines


def format_facts(incident: Incident, earlier: Sequence[Incident], texts: Texts) -> str:
    """Return the facts about an incident for the agent, as plain text: alerts and earlier incidents."""
    group = incident.group
    lines = [format_title(incident, texts) if incident.is_storm else incident.title]
    for alert in _sorted(group)[:MAX_FACTS]:
        report, state = alert.report, group.status_of(alert).value
        labels = " ".join(f"{name}={value}" for name, value in report.labels.items())
        links = " ".join(link.url for link in report.links)
        parts = [state, report.title, report.text, labels, links]
        lines.append("- " + " | ".join(part for part in parts if part))
    left = max(0, len(group.alerts) - MAX_FACTS) + group.omitted
    lines += [texts("incident_more", count=left)] if left else []
    runbooks = dict.fromkeys(one.report.runbook for one in group.alerts.values() if one.report.runbook)
    lines += [f"runbook: {url}" for url in runbooks]
    for one in earlier:
        date = f"{datetime.fromtimestamp(one.opened_at, UTC):%Y-%m-%d %H:%M} UTC"
        news = format_news(one, texts).replace("\n", " ")
        lines.append(texts("incident_earlier", number=one.id, news=news, date=date))
    return "\n".join(lines)


def make_buttons(incident: Incident, texts: Texts, *, can_silence: bool) -> list[Button]:
    """Return the buttons below a card."""
    assign = () if incident.assignee else ("assign",)
    silence = ("silence",) if can_silence else ()
    actions = {
        Status.FIRING: ("ack", *assign, "ask", *silence, "resolve"),
        Status.ACKNOWLEDGED: (*assign, "ask", *silence, "resolve", "reopen"),
        Status.NO_NEWS: ("ask", "resolve"),
        Status.RESOLVED: ("reopen",) if incident.taken_as is Status.RESOLVED else (),
    }
    return [
        Button(texts(f"incident_button_{action}"), f"incident {incident.id} {action}")
        for action in actions[incident.status]
    ]


def _describe(incident: Incident, texts: Texts) -> str:
    severity = incident.severity or AlertSeverity.INFO
    word = texts(f"severity_{severity.value}") if incident.severity else ""
    firing = incident.group.count(Status.FIRING)
    is_counted = len(incident.group.alerts) > 1 and firing and not incident.is_ended
    count = texts("incident_firing_count", count=firing) if is_counted else ""
    source = texts("incident_from", source=quoted(incident.source)) if incident.source else ""
    return " · ".join(filter(None, [word, count, source]))


def _sorted(group: Group) -> list[Alert]:
    """Return the alerts, sorted by state and severity, the most urgent first."""
    order = list(MARKS)

    def urgency(alert: Alert) -> tuple[int, int, str]:
        severity = alert.report.severity.rank if alert.report.severity else -1
        return order.index(group.status_of(alert)), -severity, alert.report.title

    return sorted(group.alerts.values(), key=urgency)


def _line(group: Group, alert: Alert) -> str:
    return f"- {MARKS[group.status_of(alert)]} {quoted(alert.report.title or alert.report.key, 120)}"


def _labels(incident: Incident) -> str:
    """Return the labels that all alerts have in common; in a storm, the most frequent ones."""
    if incident.is_storm:
        found = Counter(pair for one in incident.group.alerts.values() for pair in one.report.labels.items())
        shown = [f"{name}={value} × {count}" for (name, value), count in found.most_common() if count > 1]
    else:
        shown = [
            f"{name}={value}" for name, value in incident.common_labels.items() if name not in HIDDEN_LABELS
        ]
    return " ".join(quoted(one, 60) for one in shown[:MAX_LABELS])


def _links(alerts: list[Alert], texts: Texts, most: int) -> list[str]:
    """Return the lines with the links of the most urgent alert that fit in `most` characters."""
    if not alerts:
        return []
    report = alerts[0].report
    runbook = [("runbook", report.runbook)] if report.runbook else []
    found = [*runbook, *((link.label, link.url) for link in report.links)]
    shown = ""
    for label, url in found[:MAX_LINKS]:
        longer = f"{shown}{' · ' if shown else ''}{texts.label('link', label)}: <{url}>"
        shown = longer if len(longer) <= most else shown
    return ["", shown] if shown else []
