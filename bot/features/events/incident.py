"""Incidents: their state, which follows from alerts, people and time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from bot.config.events import EventWork
from bot.domain import ReplyAddress
from bot.features.events.alerts import Alert, AlertReport, AlertSeverity, Group, Status
from bot.features.events.sources.base import MAX_INT
from bot.store.audit import Actor


@dataclass(frozen=True, slots=True)
class Timing:
    """Timing of a source (s).

    `interval` is how long an alert stays unsettled, `quiet_after` the time without events after which the
    state is unknown (0.0: never).
    """

    interval: float
    quiet_after: float


UNTIMED: Final = Timing(0.0, 0.0)
"""Timing of incidents whose source is not configured, and of those that only contain others."""


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident. `opened_at` is 0.0 until an alert is firing.

    The table `incidents` describes its other times. `work_since` is the first event of the burst for which
    the agent starts, as the route's `work` says.

    - `source`: "" for an incident that collects others during an alert storm.
    - `parent`: the incident that this one is part of (0: none). Its card shows this one as an alert.
    - `show_at`: when the card may be posted, because of quiet hours (0.0: now).
    - `taken_as`: the state that a person set, or None; `taken_by` is that person as `platform:id`.
    - `assignee`: who works on it, as `platform:id` ("": nobody).
    - `oncall`: the on-call schedule of its route ("": none).
    - `is_paused`: nothing about it is posted besides the card, and the agent doesn't start on it.
    """

    source: str
    address: ReplyAddress
    key: str
    title: str = ""
    group: Group = field(default_factory=Group)
    opened_at: float = 0.0
    changed_at: float = 0.0
    heard_at: float = 0.0
    status: Status = Status.RESOLVED
    severity: AlertSeverity | None = None
    settle_at: float = 0.0
    parent: int = 0
    show_at: float = 0.0
    is_paused: bool = False
    taken_as: Status | None = None
    taken_by: str = ""
    taken_name: str = ""
    assignee: str = ""
    assignee_name: str = ""
    id: int = 0
    conversation: int = 0
    card_turn: int = 0
    announced: Status | None = None
    announce_at: float = 0.0
    revision: int = 0
    work_since: float = 0.0
    work_at: float = 0.0
    work: EventWork | None = None
    oncall: str = ""

    @property
    def place(self) -> dict[str, str]:
        """Return the account, the chat and the topic."""
        address = self.address
        return {"account": address.account, "chat": address.chat, "topic": address.topic}

    @property
    def lasted(self) -> float:
        """Return how long an ended incident lasted (s), by the times of its alerts if known."""
        opened = self.opened_at * 1_000_000_000
        spans = [(one.report.start, one.report.end) for one in self.group.alerts.values()]
        spans = [(start, end) for start, end in spans if start and end >= opened]
        if not spans or self.taken_as is Status.RESOLVED:
            return max(0.0, self.changed_at - self.opened_at)
        return (max(end for _, end in spans) - min(start for start, _ in spans)) / 1_000_000_000

    @property
    def is_ended(self) -> bool:
        """Return whether the incident is resolved."""
        return self.status is Status.RESOLVED

    @property
    def is_storm(self) -> bool:
        """Return whether the incident collects others during an alert storm."""
        return not self.source

    @property
    def common_labels(self) -> dict[str, str]:
        """Return the labels that all alerts have in common."""
        return find_common_labels(self.group.alerts.values())

    def derive_state(self, timings: Mapping[str, Timing], now: float) -> Incident:
        """Return the incident with the state that follows from its group, its people and the time."""
        timing = timings.get(self.source, UNTIMED)
        group = self.group.confirm(now, timing.interval)
        status = group.status
        is_open = status in (Status.FIRING, Status.ACKNOWLEDGED)
        silent = bool(timing.quiet_after) and now >= self.heard_at + timing.quiet_after
        if is_open and silent:
            status = Status.NO_NEWS
        taken_as = None if status is Status.RESOLVED else self.taken_as
        if taken_as is Status.RESOLVED or (taken_as and status is Status.FIRING):
            status = taken_as
        waits = [
            one.unsettled_since + timing.interval for one in group.alerts.values() if one.unsettled_since
        ]
        if is_open and timing.quiet_after and not silent:
            waits.append(self.heard_at + timing.quiet_after)
        return replace(
            self,
            group=group,
            status=status,
            severity=group.severity,
            opened_at=self.opened_at or (now if is_open else 0.0),
            changed_at=now if status is not self.status else self.changed_at,
            taken_as=taken_as,
            settle_at=min(waits, default=0.0),
        )

    def fold_child(self, child: Incident, now: float) -> Incident:
        """Return the incident after a change of one that is part of it, which it contains as an alert."""
        report = AlertReport(
            key=_child_key(child.id),
            status=child.status,
            title=f"{child.id}: {child.title or child.key}",
            severity=child.severity,
            labels=child.common_labels,
            sequence=int(child.changed_at * 1_000_000_000),
        )
        # Lists of the source never contain it, and must not make it look outdated.
        alerts = {**self.group.alerts, report.key: Alert(report, listed_at=MAX_INT)}
        group = replace(self.group, alerts=alerts)
        is_news = fires_anew(self.group, group)
        taken_as = None if is_news and self.taken_as is Status.RESOLVED else self.taken_as
        held = replace(self, group=group, heard_at=now, taken_as=taken_as)
        if not child.work_at:
            return held
        at = min(self.work_at or child.work_at, child.work_at)
        since = self.work_since if self.work_at else child.work_since
        return replace(held, work_at=at, work_since=since, work=child.work)

    def without_person(self, person: str) -> Incident:
        """Return the incident without a person's id (`platform:id`) and name."""
        kept = replace(self, taken_by="", taken_name="") if self.taken_by == person else self
        return replace(kept, assignee="", assignee_name="") if self.assignee == person else kept

    def drop_child(self, number: int) -> Incident:
        """Return the incident without an incident that was part of it."""
        alerts = {key: one for key, one in self.group.alerts.items() if key != _child_key(number)}
        return replace(self, group=replace(self.group, alerts=alerts))


def find_common_labels(alerts: Iterable[Alert]) -> dict[str, str]:
    """Return the labels that all of these alerts have in common."""
    labels = [one.report.labels for one in alerts]
    first = labels[0] if labels else {}
    return {name: text for name, text in first.items() if all(one.get(name) == text for one in labels)}


def _child_key(number: int) -> str:
    return f"incident-{number}"


def fires_anew(before: Group, after: Group) -> bool:
    """Return whether an alert started firing, or is firing in a new episode."""
    known = {key: one.report.version for key, one in before.alerts.items() if one.status is Status.FIRING}
    firing = {key: one.report.version for key, one in after.alerts.items() if one.status is Status.FIRING}
    return bool(firing.items() - known.items())


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """A change of an incident.

    `kind` is a state, or "assigned", "paused", "resumed", "merged" or "silenced". `person` made the change,
    as `platform:id` ("": its source).
    """

    at: float
    kind: str
    person: str
    name: str


Decision = Callable[[Incident, Actor], Incident]
"""Applies the decision of a person to an incident."""


def _take(status: Status | None) -> Decision:
    def take(incident: Incident, actor: Actor) -> Incident:
        if incident.taken_as is status or incident.status is status:
            return incident
        return replace(incident, taken_as=status, taken_by=actor.person, taken_name=actor.name)

    return take


def _assign(incident: Incident, actor: Actor) -> Incident:
    taken = incident if incident.is_ended else _take(Status.ACKNOWLEDGED)(incident, actor)
    return replace(taken, assignee=actor.person, assignee_name=actor.name)


ASSIGN_ON_CALL: Final = "assign oncall"
DECISIONS: Final[Mapping[str, Decision]] = {
    "ack": _take(Status.ACKNOWLEDGED),
    "assign": _assign,
    ASSIGN_ON_CALL: lambda incident, actor: replace(
        incident, assignee=actor.person, assignee_name=actor.name
    ),
    "pause": lambda incident, _actor: replace(incident, is_paused=True),
    "resume": lambda incident, _actor: replace(incident, is_paused=False),
    "resolve": _take(Status.RESOLVED),
    "complete": _take(Status.RESOLVED),
    "reopen": _take(None),
}
RECORDED_AS: Final = {
    **dict.fromkeys(("assign", ASSIGN_ON_CALL), "assigned"),
    "pause": "paused",
    "resume": "resumed",
}
"""Kinds of changes by decision; other decisions are recorded as the new state."""
