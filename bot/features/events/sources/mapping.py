"""Sources whose JSON is mapped to alerts by the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bot.features.events.alerts import AlertReport, Event, Status
from bot.features.events.sources import base

RESOLVED: Final = frozenset({"resolved", "ok", "closed", "recovered", "success", "up", "normal", "done"})
ACKNOWLEDGED: Final = frozenset({"acknowledged", "acked", "ack"})


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Paths to the values of an alert in an event, such as "data.alert.id" or "items.0.name" ("": none).

    The `status` of an event is compared, in lower case, with `resolved` and `acknowledged`; any other one
    means firing. Without a path for the group, each event is a separate group.
    """

    id: str = ""
    group: str = ""
    title: str = "title"
    text: str = "text"
    status: str = "status"
    severity: str = "severity"
    time: str = ""
    link: str = ""
    runbook: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    resolved: frozenset[str] = RESOLVED
    acknowledged: frozenset[str] = ACKNOWLEDGED

    def read(self, value: Any, *, key: str = "", group: str = "") -> Event:
        """Convert a value to an event. `key` and `group` are used where the mapping has no value.

        Raises UnreadableEvent.
        """
        key = base.identifier(find_path(value, self.id) or key or base.digest_of(value))
        group = base.identifier(find_path(value, self.group) or group or key)
        word = base.line(find_path(value, self.status)).lower()
        labels = {name: base.line(find_path(value, path)) for name, path in self.labels.items()}
        report = AlertReport(
            key=group,
            status=self._status(word),
            sequence=self._read_time(find_path(value, self.time)),
            title=base.line(find_path(value, self.title)),
            text=base.paragraphs(find_path(value, self.text)),
            severity=base.find_severity(find_path(value, self.severity)),
            labels=base.present(labels),
            links=base.keep_links([("source", find_path(value, self.link))]),
            runbook=base.web_url(find_path(value, self.runbook)),
        )
        return Event(key, group, report.title, (report,), report.labels)

    def sample(self, began: float, ended: float | None) -> Any:
        """Return a sample event about a problem that began or, with `ended`, one that ended."""
        word = "firing" if ended is None else min(self.resolved)
        paths = {
            self.title: "This is a test of Roebot",
            self.status: word,
            self.time: base.format_time(ended or began),
            self.group: "roebot-test",
            self.id: f"roebot-test-{ended or began}",
        }
        return fill({path: text for path, text in paths.items() if path})

    def _status(self, word: str) -> Status:
        if word in self.resolved:
            return Status.RESOLVED
        return Status.ACKNOWLEDGED if word in self.acknowledged else Status.FIRING

    def _read_time(self, value: Any) -> int:
        try:
            return base.unix_seconds(str(value)) or base.read_time(None if value is None else str(value))
        except ValueError as error:
            raise base.UnreadableEvent(f"{self.time}: {error}.") from None


def find_path(value: Any, path: str) -> Any:
    """Return the value at a path; None if it is missing, an object or a list."""
    for name in filter(None, path.split(".")):
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return None if not path or isinstance(value, Mapping | list) else value


def fill(paths: Mapping[str, str]) -> Any:
    """Return a JSON value with these texts at these paths."""
    rest: dict[str, dict[str, str]] = {}
    for path, text in paths.items():
        if not path:
            return text
        name, _, below = path.partition(".")
        rest.setdefault(name, {})[below] = text
    if rest and all(name.isdecimal() for name in rest):
        return [fill(rest.get(str(index), {})) for index in range(max(map(int, rest)) + 1)]
    return {name: fill(below) for name, below in rest.items()}


def generic(mapping: FieldMap) -> base.SourceKind:
    """Create a kind of source from the mapping of its JSON."""

    def read(delivery: base.EventRequest) -> Sequence[Event]:
        return [mapping.read(base.read_json(delivery.body))]

    def sample(began: float, ended: float | None) -> base.EventRequest:
        return base.make_request(mapping.sample(began, ended))

    return base.SourceKind("generic", read, sample)
