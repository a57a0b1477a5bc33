"""Odd values in events: each request is refused, or leads to a state that databases and chats can take."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from bot.domain import ChatKind, ReplyAddress
from bot.features.events.alerts import Alert, AlertReport, Group, Status
from bot.features.events.card import MAX_CARD, format_card, format_facts
from bot.features.events.incident import Incident
from bot.features.events.incident_store import STATE, encode_incident
from bot.features.events.sources.base import EventRequest, SourceKind, UnreadableEvent
from bot.texts import texts_for

from .samples import SAMPLES

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1e308,
    "",
    "\x00",
    "\ud800",
    "9999-12-31T23:59:59Z",
    "1969-07-20T20:17:40Z",
    "2026-13-45T99:99:99Z",
    "99999999999",
    "x" * 100_000,
    "](http://evil.example) `code` <@U1> @everyone\n# title",
    "http://page.example/>**bold**<@U1>",
    [],
    [[]],
    {},
    {"a": {"b": "c"}},
    [None],
)
KINDS = {
    sample.kind.name: [one for one in SAMPLES if one.kind.name == sample.kind.name] for sample in SAMPLES
}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values in a JSON value."""
    if path:
        yield path
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, inner in entries:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    """A copy with another value at a path."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return copy


def odd_requests(request: EventRequest) -> Iterator[EventRequest]:
    """The request with each odd value in each place."""
    value = json.loads(request.body)
    for path in places(value):
        for odd in ODD:
            yield EventRequest(request.headers, json.dumps(replaced(value, path, odd)).encode())
    for name in request.headers:
        for odd in ("", "\x80", "9" * 11, "x" * 10_000):
            yield EventRequest({**request.headers, name: odd}, request.body)


def check_text(text: str, most: int) -> None:
    assert len(text) <= most
    text.encode()
    assert "\x00" not in text


@pytest.mark.parametrize("name", KINDS)
def test_an_odd_event_is_refused_or_can_be_stored_and_shown(name: str) -> None:
    kind: SourceKind = KINDS[name][0].kind
    requests = [
        one for sample in KINDS[name] for delivery in sample.deliveries for one in odd_requests(delivery)
    ]
    texts, refused = texts_for("en"), 0
    for request in random.Random(7).sample(requests, min(4_000, len(requests))):
        try:
            events = kind.read(request)
        except UnreadableEvent as error:
            check_text(str(error), 500)
            refused += 1
            continue
        for event in events:
            check_text(event.id, 400)
            check_text(event.group, 400)
            group = Group().fold(event, 1.0)
            address = ReplyAddress("slack", "C1", ChatKind.GROUP)
            incident = Incident("alerts", address, event.group, event.title, group, 1.0)
            assert STATE.validate_json(encode_incident(incident)) == incident
            check_text(format_card(incident, texts), MAX_CARD)
            format_facts(incident, [], texts).encode()
    assert refused


def test_a_card_is_short_however_much_there_is_to_say() -> None:
    long = "https://prometheus.example/graph?" + "x" * 150
    reports = {
        f"{number}": AlertReport(
            f"{number}",
            Status.FIRING,
            title="word " * 100,
            text="word " * 1_000,
            labels={f"label{index}": "value " * 50 for index in range(20)},
            runbook=long,
        )
        for number in range(50)
    }
    group = Group({key: Alert(report) for key, report in reports.items()})
    incident = Incident("alerts", ReplyAddress("slack", "C1", ChatKind.GROUP), "g", "word " * 100, group, 1.0)
    card = format_card(incident, texts_for("en"))
    assert len(card) <= MAX_CARD
    assert "more" in card
