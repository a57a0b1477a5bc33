"""CloudEvents 1.0 over HTTP: structured, in batches, and binary.

Modes and attributes: `cloudevents/bindings/http-protocol-binding.md` of cloudevents/spec; the handshake of
senders: `http-webhook.md` there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote

from bot.config.events import EventFields
from bot.features.events.alerts import Event
from bot.features.events.sources import base
from bot.features.events.sources.mapping import read_mapped, sample_mapped

MAX_BATCH: Final = 100
_TYPE: Final = "application/cloudevents"


def cloudevents(fields: EventFields) -> base.SourceKind:
    """Create the kind of source for CloudEvents. Their subject, or else their source, is the group."""

    def read_one(value: dict[str, Any]) -> Event:
        key, group = f"{value['source']} {value['id']}", str(value.get("subject") or value["source"])
        return read_mapped(fields, value, key=key, group=group)

    def read(delivery: base.EventRequest) -> Sequence[Event]:
        return [read_one(_check(value)) for value in _unpack(delivery)]

    def sample(began: float, ended: float | None) -> base.EventRequest:
        event = {
            "specversion": "1.0",
            "id": f"roebot-test-{ended or began}",
            "source": "/roebot",
            "type": "roebot.test",
            "subject": "test",
            **sample_mapped(fields, began, ended),
        }
        return base.make_request(event, {"content-type": f"{_TYPE}+json"})

    return base.SourceKind("cloudevents", read, sample)


def _unpack(delivery: base.EventRequest) -> list[Any]:
    """Return the events of a structured, batched or binary request, in the JSON format."""
    kind = delivery.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == f"{_TYPE}-batch+json":
        batch = base.read_json(delivery.body)
        if not isinstance(batch, list) or len(batch) > MAX_BATCH:
            raise base.UnreadableEvent(f"The body must be a list of at most {MAX_BATCH} events.")
        return batch
    if kind == f"{_TYPE}+json":
        return [base.read_json(delivery.body)]
    if kind.startswith(_TYPE):
        raise base.UnreadableEvent(
            f"The content type {base.line(kind)} is not supported. Use the JSON format."
        )
    value: dict[str, Any] = {
        name.removeprefix("ce-"): unquote(text)
        for name, text in delivery.headers.items()
        if name.startswith("ce-")
    }
    is_json = kind in ("", "application/json", "text/json") or kind.endswith("+json")
    value["data"] = base.read_json(delivery.body) if is_json and delivery.body else None
    return [value]


def _check(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise base.UnreadableEvent("Each event must be an object.")
    for name in ("id", "source", "type", "specversion"):
        if not isinstance(value.get(name), str) or not value[name]:
            raise base.UnreadableEvent(f"{name}: expected a text; the attribute is required.")
    if value["specversion"] != "1.0":
        raise base.UnreadableEvent('specversion: expected "1.0".')
    if isinstance(value.get("data_base64"), str):
        try:
            return {**value, "data": json.loads(base64.b64decode(value["data_base64"], validate=True))}
        except ValueError:
            raise base.UnreadableEvent("data_base64: expected JSON in base64.") from None
    return {**value}
