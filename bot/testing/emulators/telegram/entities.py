"""Texts and entities: offsets count UTF-16 units, as in the Bot API."""

from __future__ import annotations

import re
from typing import Any

from bot.testing.emulators.telegram.errors import bad_request

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
    if entities:
        encoded = text.encode("utf-16-le", "surrogatepass")
        for entity in entities:
            _check(entity, encoded)
    return _trimmed(text, entities)


def _check(entity: Entity, encoded: bytes) -> None:
    total = len(encoded) // 2
    offset, length = entity.get("offset"), entity.get("length")
    if not isinstance(entity.get("type"), str):
        raise bad_request("can't parse MessageEntity: Can't find field \"type\"")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length <= 0:
        raise bad_request("can't parse MessageEntity: entity offset or length is invalid")
    if offset + length > total:
        raise bad_request(
            f"entity beginning at UTF-16 offset {offset} ends after the end of the text "
            f"at UTF-16 offset {total}"
        )
    for edge, word in ((offset, "begins"), (offset + length, "ends")):
        if edge < total and 0xDC <= encoded[edge * 2 + 1] <= 0xDF:
            raise bad_request(f"entity {word} in a middle of a UTF-16 symbol at UTF-16 offset {edge}")


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
