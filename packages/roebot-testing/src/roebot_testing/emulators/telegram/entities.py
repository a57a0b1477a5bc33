"""Texts and entities: offsets count UTF-16 units, as in the Bot API."""

from __future__ import annotations

import re
from typing import Any

from roebot_testing.emulators.telegram import rules
from roebot_testing.emulators.telegram.errors import bad_request

_COMMAND = re.compile(r"(?<![\w/])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?")
_MENTION = re.compile(r"(?<!\w)@[A-Za-z0-9_]{3,32}")

Entity = dict[str, Any]


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def detect(text: str) -> list[Entity]:
    """Return the entities that a client adds to typed text: commands and mentions."""
    found = [("bot_command", match) for match in _COMMAND.finditer(text)]
    found += [
        ("mention", match)
        for match in _MENTION.finditer(text)
        if not any(command.start() <= match.start() < command.end() for _, command in found)
    ]
    found.sort(key=lambda pair: pair[1].start())
    return [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match.group())}
        for kind, match in found
    ]


def checked(text: str, entities: Any) -> tuple[str, list[Entity]]:
    """Return text and entities as Telegram stores them: stripped, with checked offsets.

    Raises ApiRefusal 400 for an entity out of range or one that cuts a surrogate pair.
    """
    if entities is None:
        entities = []
    if not isinstance(entities, list) or not all(isinstance(item, dict) for item in entities):
        raise bad_request("can't parse entities: expected an Array of MessageEntity")
    shown = [entity for entity in entities if entity["length"]]
    if shown:
        encoded = text.encode("utf-16-le", "surrogatepass")
        for entity in shown:
            _check(entity, encoded)
    return _trimmed(text, shown)


def _check(entity: Entity, encoded: bytes) -> None:
    """Check an entity's position. Telegram ignores empty ones."""
    total, begin = len(encoded) // 2, entity["offset"]
    end = begin + entity["length"]
    if begin > total:
        raise rules.ENTITY_AFTER_END.refusal(begin)
    if end > total:
        raise rules.ENTITY_PAST_END.refusal(begin, str(end))
    if _is_inside(encoded, begin):
        raise rules.ENTITY_BEGINS_INSIDE.refusal(_count_bytes(encoded, begin))
    if _is_inside(encoded, end):
        raise rules.ENTITY_ENDS_INSIDE.refusal(begin, str(_count_bytes(encoded, end)))


def _is_inside(encoded: bytes, unit: int) -> bool:
    return unit * 2 < len(encoded) and 0xDC <= encoded[unit * 2 + 1] <= 0xDF


def _count_bytes(encoded: bytes, unit: int) -> int:
    """Return the number of UTF-8 bytes up to the end of the symbol that contains `unit`."""
    return len(encoded[: (unit + 1) * 2].decode("utf-16-le").encode())


def _trimmed(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    kept = text.rstrip()
    shorter = kept.lstrip()
    if len(shorter) == len(text):
        return text, entities
    shift = units(kept) - units(shorter)
    end = units(shorter)
    moved = []
    for entity in entities:
        start = max(0, entity["offset"] - shift)
        stop = min(end, entity["offset"] + entity["length"] - shift)
        if stop > start:
            moved.append({**entity, "offset": start, "length": stop - start})
    return shorter, moved
