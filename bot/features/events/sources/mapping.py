"""Sources whose JSON is mapped to alerts by the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.config.events import EventFields
from bot.features.events.alerts import AlertReport, Event, Status
from bot.features.events.sources import base


def read_mapped(fields: EventFields, value: Any, *, key: str = "", group: str = "") -> Event:
    """Convert a value to an event. `key` and `group` are used if the mapping finds none.

    Without a value for the group, each event is a separate one. Raises UnreadableEvent.
    """
    key = base.identifier(find_path(value, fields.id) or key or base.digest_of(value))
    group = base.identifier(find_path(value, fields.group) or group or key)
    statuses = dict.fromkeys(fields.acknowledged, Status.ACKNOWLEDGED)
    statuses |= dict.fromkeys(fields.resolved, Status.RESOLVED)
    labels = {name: base.line(find_path(value, path)) for name, path in fields.labels.items()}
    report = AlertReport(
        key=group,
        status=statuses.get(base.line(find_path(value, fields.status)).lower(), Status.FIRING),
        sequence=_read_time(fields, find_path(value, fields.time)),
        title=base.line(find_path(value, fields.title)),
        text=base.paragraphs(find_path(value, fields.text)),
        severity=base.find_severity(find_path(value, fields.severity)),
        labels=base.present(labels),
        links=base.keep_links([("source", find_path(value, fields.link))]),
        runbook=base.web_url(find_path(value, fields.runbook)),
    )
    return Event(key, group, report.title, (report,), report.labels)


def sample_mapped(fields: EventFields, began: float, ended: float | None) -> Any:
    """Return a sample event about a problem that began or, with `ended`, one that ended."""
    paths = {
        fields.title: "This is a test of Roebot",
        fields.status: "firing" if ended is None else min(fields.resolved),
        fields.time: base.format_time(ended or began),
        fields.group: "roebot-test",
        fields.id: f"roebot-test-{ended or began}",
    }
    return fill({path: text for path, text in paths.items() if path})


def _read_time(fields: EventFields, value: Any) -> int:
    try:
        return base.unix_seconds(str(value)) or base.read_time(None if value is None else str(value))
    except ValueError as error:
        raise base.UnreadableEvent(f"{fields.time}: {error}.") from None


def find_path(value: Any, path: str | None) -> Any:
    """Return the value at a path such as `items.0.name`; None if it is missing, an object or a list."""
    for name in filter(None, (path or "").split(".")):
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


def generic(fields: EventFields) -> base.SourceKind:
    """Create a kind of source from the mapping of its JSON."""

    def read(delivery: base.EventRequest) -> Sequence[Event]:
        return [read_mapped(fields, base.read_json(delivery.body))]

    def sample(began: float, ended: float | None) -> base.EventRequest:
        return base.make_request(sample_mapped(fields, began, ended))

    return base.SourceKind("generic", read, sample)
