"""Insertion of mentioned people's ids into a command, because a name alone is ambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.domain import Mention, MentionKind

_USABLE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def insert_ids(text: str, mentions: Iterable[Mention]) -> str:
    """Return a command's arguments with ids in place of mentioned people's names.

    If several names match, the longest is used. A name that several people share is left unchanged.
    """
    known: dict[str, set[str]] = {}
    for one in mentions:
        if one.kind is MentionKind.PERSON and one.name.strip() and _USABLE_ID.fullmatch(one.id):
            known.setdefault(one.label, set()).add(one.id)
    if not known:
        return text
    labels = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))

    def name_id(found: re.Match[str]) -> str:
        ids = known[found[0]]
        return next(iter(ids)) if len(ids) == 1 else found[0]

    return re.sub(rf"(?<!\S)(?:{labels})(?!\S)", name_id, text)
