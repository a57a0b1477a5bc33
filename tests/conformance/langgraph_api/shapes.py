"""Comparable shapes of outcomes: values that differ between any two servers become their kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, Final

HEX = "[0-9a-f]"
KINDS: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(rf"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(rf"\b{HEX}{{32}}\b"), "<hash>"),
    (re.compile(r"^\d{5,}$|^\d+-\d+$"), "<event id>"),
    (re.compile(r"\b\d+\.\d+\.\d+\w*\b"), "<version>"),
)
LARGEST_COUNT = 1_000_000_000
"""Larger numbers are times."""
LONGEST_TEXT = 300
IN_FLIGHT: Final = ("pending", "running")
ABSENT: Final = "<absent>"


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where two shapes differ."""

    path: str
    ours: Any
    reference: Any


def normalize(value: Any) -> Any:
    """Return the shape of a JSON value: keys, types and stable values to full depth."""
    if isinstance(value, Mapping):
        return _normalize_mapping(value)
    if isinstance(value, str):
        return _normalize_text(value)
    if isinstance(value, Sequence):
        return [normalize(item) for item in value]
    if isinstance(value, (int, float)) and abs(value) > LARGEST_COUNT:
        return f"<large {type(value).__name__}>"
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return f"<{type(value).__name__}>"


def _normalize_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    for name, item in value.items():
        key = plain = _normalize_text(str(name))
        number = 1
        while key in shape:
            number += 1
            key = f"{plain} {number}"
        # Whether a run has begun when it is looked at depends on the queue.
        shape[key] = "<in flight>" if key == "status" and item in IN_FLIGHT else normalize(item)
    return shape


def _normalize_text(text: str) -> str:
    for pattern, kind in KINDS:
        text = pattern.sub(kind, text)
    return text if len(text) <= LONGEST_TEXT else "<long text>"


def compare_outcomes(ours: dict[str, Any], reference: dict[str, Any]) -> Iterator[Difference]:
    """Yield the places where two outcomes of a step differ; one place if they are of different kinds."""
    if ours.keys() == reference.keys():
        yield from compare(normalize(ours), normalize(reference))
    else:
        kinds = f"{'/'.join(ours)} for {'/'.join(reference)}"
        yield Difference(f"answer ({kinds})", normalize(ours), normalize(reference))


def compare(ours: Any, reference: Any, path: str = "") -> Iterator[Difference]:
    """Yield the places where two shapes differ. The events of a stream are aligned by name."""
    if isinstance(ours, dict) and isinstance(reference, dict):
        for key in sorted(ours.keys() | reference.keys()):
            one, other = ours.get(key, ABSENT), reference.get(key, ABSENT)
            yield from compare(one, other, f"{path}.{key}" if path else key)
    elif isinstance(ours, list) and isinstance(reference, list):
        pairs = _align_events if _has_events([*ours, *reference]) else _align_items
        for place, one, other in pairs(ours, reference):
            yield from compare(one, other, f"{path}[{place}]")
    elif type(ours) is not type(reference) or ours != reference:
        yield Difference(path, ours, reference)


def _has_events(items: list[Any]) -> bool:
    return bool(items) and all(
        isinstance(item, dict) and item.keys() == {"event", "data", "id"} for item in items
    )


def _align_items(ours: list[Any], reference: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    for place, (one, other) in enumerate(zip_longest(ours, reference, fillvalue=ABSENT)):
        yield str(place), one, other


def _align_events(ours: list[Any], reference: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    names, others = ([_name_event(item) for item in items] for items in (ours, reference))
    for kind, start, end, other_start, other_end in SequenceMatcher(None, names, others, False).get_opcodes():
        mine, theirs = ours[start:end], reference[other_start:other_end]
        if kind == "equal":
            yield from ((one["event"], one, other) for one, other in zip(mine, theirs, strict=True))
            continue
        yield from ((one["event"], one, ABSENT) for one in mine)
        yield from ((other["event"], ABSENT, other) for other in theirs)


def _name_event(item: dict[str, Any]) -> str:
    """Return the name that events are aligned by; the events of the `events` mode have names of their own."""
    data = item["data"] if isinstance(item["data"], dict) else {}
    return (
        f"{item['event']} {data.get('event')} {data.get('name')}"
        if item["event"] == "events"
        else item["event"]
    )
