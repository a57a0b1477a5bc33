"""Selection of usable entries in a model's memory patch: an invalid entry does not discard the others."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from json import JSONDecodeError, JSONDecoder
from typing import Any, get_args

from agent.core.loose_json import parse_loose_json, split_items
from agent.shared.memory_document import Category

DEFAULT_CONFIDENCE = 0.7
"""Of a fact without one: the prompt asks for clear conclusions at least."""
_PARTS: Mapping[str, Mapping[str, str]] = {
    "user": {
        "workcontext": "workContext",
        "personalcontext": "personalContext",
        "topofmind": "topOfMind",
    },
    "history": {
        "recentmonths": "recentMonths",
        "earliercontext": "earlierContext",
        "longtermbackground": "longTermBackground",
    },
}
_ADD = ("add", "added", "addfacts", "newfacts", "facts")
_REMOVE = ("remove", "removed", "removefacts", "delete", "deleted")
_WRAPPERS = ("memory", "patch", "update", "result", "answer")
_CONTENT = ("content", "fact", "text", "statement", "value")
_CATEGORIES: Mapping[str, str] = {
    **{one: one for one in get_args(Category)},
    **{f"{one}s": one for one in get_args(Category)},
    "behaviour": "behavior",
    "habit": "behavior",
    "like": "preference",
    "dislike": "preference",
    "skill": "knowledge",
    "plan": "goal",
}
_CONFIDENCES: Mapping[str, float] = {
    "certain": 1.0,
    "veryhigh": 0.95,
    "high": 0.9,
    "medium": 0.7,
    "moderate": 0.7,
    "low": 0.4,
}


@dataclass(slots=True)
class PatchEntries:
    """The usable part of a patch, and problems of the rest: positions and reasons, never content."""

    patch: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    usable: int = 0

    def reject(self, where: str, reason: str) -> None:
        self.problems.append(f"{where}: {reason}")

    def accept(self, value: Any) -> Any:
        """Count an accepted entry."""
        self.usable += 1
        return value


def find_patch(text: str) -> Mapping[str, Any] | None:
    """Return the first object in an answer that is a patch: alone, in a code fence or within text."""
    try:
        whole = parse_loose_json(text)
    except ValueError:
        candidates = list(_find_objects(text))
    else:
        candidates = whole if isinstance(whole, list) else [whole]
    for one in candidates:
        found = _unwrap(one) if isinstance(one, Mapping) else None
        if found is not None:
            return found
    return None


def select_entries(found: Mapping[str, Any]) -> PatchEntries:
    """Return the usable entries, converting imprecise ones."""
    entries = PatchEntries()
    known = {_plain(key): value for key, value in found.items()}
    for part, names in _PARTS.items():
        inner = known.get(part)
        if inner is not None and not isinstance(inner, Mapping):
            entries.reject(part, "expected an object of summaries")
        written = {_plain(key): value for key, value in inner.items()} if isinstance(inner, Mapping) else {}
        # Some models leave out the level of `user` and `history`.
        written = {**{name: known[name] for name in names if name in known}, **written}
        entries.patch[part] = _select_summaries(entries, part, names, written)
    entries.patch["add"] = [
        fact
        for at, one in enumerate(_as_list(known, _ADD))
        if (fact := _select_fact(entries, f"add.{at}", one)) is not None
    ]
    entries.patch["remove"] = [
        fact_id
        for at, one in enumerate(_as_list(known, _REMOVE))
        if (fact_id := _select_id(entries, f"remove.{at}", one)) is not None
    ]
    return entries


def _find_objects(text: str) -> Iterator[Any]:
    decoder, at = JSONDecoder(strict=False), text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (JSONDecodeError, RecursionError):
            # What an object contains that breaks off is no patch.
            return
        yield found
        at = text.find("{", end)


def _unwrap(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    names = {_plain(key) for key in found}
    summaries = {name for part in _PARTS.values() for name in part}
    if not names or names & {*_PARTS, *_ADD, *_REMOVE, *summaries}:
        return found
    inner = [value for key, value in found.items() if _plain(key) in _WRAPPERS and isinstance(value, Mapping)]
    return _unwrap(inner[0]) if inner else None


def _select_summaries(
    entries: PatchEntries, part: str, names: Mapping[str, str], written: Mapping[str, Any]
) -> dict[str, str]:
    selected = {}
    for name, right in names.items():
        value = written.get(name)
        if isinstance(value, Mapping):
            value = value.get("summary")
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            value = " ".join(value)
        if value is None or value in ("null", "None"):
            continue
        if isinstance(value, str):
            selected[right] = entries.accept(value)
        else:
            entries.reject(f"{part}.{right}", "expected text or null")
    return selected


def _select_fact(entries: PatchEntries, where: str, one: Any) -> dict[str, Any] | None:
    if isinstance(one, str):
        one = {"content": one}
    if not isinstance(one, Mapping):
        entries.reject(where, "expected an object")
        return None
    known = {_plain(key): value for key, value in one.items()}
    content = next((known[name] for name in _CONTENT if isinstance(known.get(name), str)), "")
    confidence = _read_confidence(known.get("confidence"))
    if not content.strip():
        entries.reject(f"{where}.content", "expected text")
    elif confidence is None:
        entries.reject(f"{where}.confidence", "expected a number from 0 to 1")
    else:
        category = _CATEGORIES.get(_plain(known.get("category", known.get("type", ""))), "context")
        return dict(entries.accept({"content": content, "category": category, "confidence": confidence}))
    return None


def _select_id(entries: PatchEntries, where: str, one: Any) -> str | None:
    found = one.get("id") if isinstance(one, Mapping) else one
    if isinstance(found, str) and found.strip():
        return str(entries.accept(found.strip()))
    entries.reject(where, "expected the id of a fact")
    return None


def _read_confidence(value: Any) -> float | None:
    """Return the confidence from 0 to 1, also from a percentage or a word; None if it is neither."""
    if value is None:
        return DEFAULT_CONFIDENCE
    if isinstance(value, str):
        text = value.strip()
        if (word := _CONFIDENCES.get(_plain(text))) is not None:
            return word
        try:
            value = float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    if 10 < value <= 100:
        value = value / 100
    return float(value) if 0 <= value <= 1 else None


def _as_list(known: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    value = next((known[name] for name in names if known.get(name) is not None), None)
    if isinstance(value, str):
        try:
            value = parse_loose_json(value)
        except ValueError:
            value = [one for one in split_items(value) if one not in {"null", "None"}]
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _plain(word: Any) -> str:
    return re.sub(r"[^a-z]", "", str(word).lower())
