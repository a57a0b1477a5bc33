"""Alerts, and how reports about them determine their state.

Every report has a version. The state of an alert is that of the report with the highest version, so neither
the order in which reports arrive nor their repetition makes a difference.

Real sources require two exceptions. If a report says that an alert is firing, with the start of an episode
that was resolved, either a lagging replica repeated an old report, or the alert is back. The reports are
identical byte for byte in both cases. The alert is then *tentative*: it stays resolved for the source's
interval, and becomes active unless another report resolves it by then. The other exception is a list of a
whole group, which has no timestamp: if it mentions no later time than earlier lists, it may be outdated. It
then counts only if no other list contradicts it within that interval. Such a list may lack an alert, include
one that was missing, or say that an earlier episode of one ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """State of an alert or an incident. NO_NEWS: it was firing, and its source stopped reporting it."""

    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    NO_NEWS = "no_news"


_RANKS: Final = {Status.FIRING: 0, Status.ACKNOWLEDGED: 1, Status.RESOLVED: 2, Status.NO_NEWS: 3}


class AlertSeverity(StrEnum):
    """Severities of alerts, the least urgent first."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Return the position in the order of urgency."""
        return list(AlertSeverity).index(self)


@dataclass(frozen=True, slots=True)
class AlertLink:
    """A link from a source, with an http or https URL."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class AlertReport:
    """The part of an event about one alert. Every text is untrusted.

    - `key`: identifies the alert within its group.
    - `start`, `end`: the episode, in nanoseconds since the epoch (0: unknown); only some sources report it.
    - `sequence`: order of the report within its episode, if the source has one (otherwise 0).
    - `labels`: names and values that routes match.
    - `runbook`: URL of the page with instructions ("": none).
    """

    key: str
    status: Status
    start: int = 0
    sequence: int = 0
    end: int = 0
    title: str = ""
    text: str = ""
    severity: AlertSeverity | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    links: tuple[AlertLink, ...] = ()
    runbook: str = ""

    @property
    def version(self) -> tuple[int, int, int, int]:
        """Return the sort key of the report among those of its alert, independent of the order of arrival."""
        return self.start, self.sequence, _RANKS[self.status], self.end


@dataclass(frozen=True, slots=True)
class Event:
    """A request of a source, or part of one, in a form common to all sources.

    - `id`: the same if the source delivers the event again; unique within the source.
    - `group`: grouping key of the source ("": the event belongs to no group).
    - `labels`: labels common to all reports, and fields of the source, that routes match.
    - `is_whole`: it lists all current alerts of the group, except for the `omitted` ones.
    - `is_test`: the source sent it to test the connection.
    """

    id: str
    group: str
    title: str
    reports: tuple[AlertReport, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    is_whole: bool = False
    omitted: int = 0
    is_test: bool = False

    @property
    def news_at(self) -> int:
        """Return the latest time that the event mentions (ns), which orders the events of a group."""
        return max((max(one.start, one.sequence, one.end) for one in self.reports), default=0)


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert, with the state that follows from its reports.

    - `listed_at`: time of the newest event that lists it (`Event.news_at`; -1: it is no longer listed).
    - `tentative_since`: when it was reported as firing in an episode that had been resolved (s; 0.0: never).
    - `reopened_end`: end of the resolved episode in which it is firing again (ns; -1: none).
    - `disputed_since`: when a list of the whole group that may be old contradicted its state (s; 0.0: never).
    - `disputed_end`: whether that list says that it has ended, and not only whether it is listed.
    """

    report: AlertReport
    listed_at: int = 0
    tentative_since: float = 0.0
    reopened_end: int = -1
    disputed_since: float = 0.0
    disputed_end: bool = False

    @property
    def status(self) -> Status:
        """Return the state that follows from the reports about this alert."""
        return Status.FIRING if self.is_reopened else self.report.status

    @property
    def is_reopened(self) -> bool:
        """Return whether the alert is firing again in an episode that had been resolved."""
        return self.report.status is Status.RESOLVED and self.reopened_end >= self.report.end

    @property
    def unsettled_since(self) -> float:
        """Return when its state became unsettled (s; 0.0: it is settled)."""
        return self.tentative_since or self.disputed_since

    def fold(self, report: AlertReport, news_at: int, now: float) -> Alert:
        """Return the alert after a report from an event of `news_at` (ns) that arrived at `now` (s)."""
        listed = replace(self, listed_at=max(self.listed_at, news_at))
        known = self.report
        episode = known.start, known.sequence
        if known.status is not Status.RESOLVED or episode != (report.start, report.sequence):
            return listed if report.version <= known.version else Alert(report, listed.listed_at)
        if report.status is Status.RESOLVED:
            newest = max(known, report, key=lambda one: one.version)
            return replace(listed, report=newest, tentative_since=0.0)
        return listed if self.is_reopened else replace(listed, tentative_since=self.tentative_since or now)

    def dispute(self, report: AlertReport | None, group_news_at: int, now: float) -> Alert:
        """Return the alert after a list of its group at `now` (s); it may lack a report about it (None)."""
        if self.listed_at > group_news_at:
            return self  # lists never contain it
        is_listed = self.listed_at == group_news_at
        ends = report is not None and report.status is Status.RESOLVED and report.start < self.report.start
        is_known = self.status is Status.RESOLVED or (is_listed is (report is not None) and not ends)
        since = 0.0 if is_known else self.disputed_since or now
        return replace(self, disputed_since=since, disputed_end=ends and not is_known)

    def confirm(self, group_news_at: int, now: float, seconds: float) -> Alert:
        """Return the alert as it is after waiting for `seconds`: firing again if it was tentative; ended,
        listed, or no longer listed if that was disputed.
        """
        if not self.unsettled_since or now < self.unsettled_since + seconds:
            return self
        if self.tentative_since:
            return replace(self, tentative_since=0.0, reopened_end=self.report.end)
        settled = replace(self, disputed_since=0.0, disputed_end=False)
        if self.disputed_end:
            return replace(settled, report=replace(self.report, status=Status.RESOLVED))
        return replace(settled, listed_at=-1 if self.listed_at >= group_news_at else group_news_at)


@dataclass(frozen=True, slots=True)
class Group:
    """The alerts of a group by key.

    `news_at` is the time of the newest event that lists the whole group (`Event.news_at`), `omitted` the
    number of alerts missing from that list.
    """

    alerts: Mapping[str, Alert] = field(default_factory=dict)
    news_at: int = 0
    omitted: int = 0

    def fold(self, event: Event, now: float) -> Group:
        """Return the group after an event that arrived at `now` (s)."""
        alerts, at = dict(self.alerts), event.news_at
        for report in event.reports:
            known = alerts.get(report.key)
            alerts[report.key] = Alert(report, at) if known is None else known.fold(report, at, now)
        if not event.is_whole:
            return replace(self, alerts=alerts)
        # Of two events with the same time, the one that omits fewer alerts is more complete.
        newest, omitted = max((self.news_at, -self.omitted), (at, -event.omitted))
        listed = {report.key: report for report in event.reports}
        for key, one in alerts.items():
            if key in listed or not event.omitted:
                alerts[key] = one.dispute(listed.get(key), newest, now)
        return Group(alerts, newest, -omitted)

    def prune(self, most: int) -> Group:
        """Return the group without the oldest resolved alerts if it has more than `most` alerts."""
        resolved = [one.report for one in self.alerts.values() if one.status is Status.RESOLVED]
        oldest = sorted(resolved, key=lambda one: one.version)[: max(0, len(self.alerts) - most)]
        dropped = {one.key for one in oldest}
        return replace(self, alerts={key: one for key, one in self.alerts.items() if key not in dropped})

    def confirm(self, now: float, seconds: float) -> Group:
        """Return the group with its alerts settled (see `Alert.confirm`)."""
        alerts = {key: one.confirm(self.news_at, now, seconds) for key, one in self.alerts.items()}
        return replace(self, alerts=alerts)

    def status_of(self, alert: Alert) -> Status:
        """Return the state of an alert; NO_NEWS if a newer list of the whole group lacks it."""
        is_missing = alert.listed_at < self.news_at and not self.omitted
        return Status.NO_NEWS if is_missing and alert.status is Status.FIRING else alert.status

    @property
    def status(self) -> Status:
        """Return the state of the group.

        A group is firing while an alert is firing, or may be firing without being listed: a source that
        lists only some alerts of a group may call it resolved while others are firing.
        """
        found = {self.status_of(one) for one in self.alerts.values()}
        if self.omitted:
            found.add(Status.FIRING)
        by_urgency = (Status.FIRING, Status.ACKNOWLEDGED, Status.NO_NEWS)
        return next((one for one in by_urgency if one in found), Status.RESOLVED)

    @property
    def severity(self) -> AlertSeverity | None:
        """Return the highest severity of the unresolved alerts, or of all alerts if all are resolved."""
        active = [one for one in self.alerts.values() if one.status is not Status.RESOLVED]
        return highest(one.report.severity for one in active or self.alerts.values())

    def count(self, status: Status) -> int:
        """Return the number of alerts in a state."""
        return sum(self.status_of(one) is status for one in self.alerts.values())


def highest(severities: Iterable[AlertSeverity | None]) -> AlertSeverity | None:
    """Return the most urgent severity, or None if there is none."""
    return max((one for one in severities if one is not None), key=lambda one: one.rank, default=None)
