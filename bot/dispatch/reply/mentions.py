"""Decide which names in an answer become mentions: those that stand for one person or channel of the chat."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable

from bot.domain import Mention, MentionKind

MAX_NAMES = 500
"""Maximum number of names that an answer is searched for, the ones seen last."""
MAX_NAME = 80
"""Maximum number of characters of a name; longer ones are no mentions."""
RESERVED = frozenset({"all", "channel", "everyone", "group", "here", "所有人", "全体成员", "全員"})
"""Names that address everybody on some platform: nobody is mentioned by them, whoever has such a name."""
_UNUSABLE = frozenset("`<>[]|\\\n")
_INVISIBLE = ("Cc", "Cf", "Cs", "Cn", "Co")


def build_names(known: Iterable[Mention], kinds: Collection[MentionKind]) -> tuple[Mention, ...]:
    """Return each name once: with its id if it stands for one person or channel of these kinds, without one
    if it must stay text. Roles are never mentioned.
    """
    owners: dict[tuple[str, str], set[Mention]] = {}
    for one in known:
        name = _show(one.name)
        if _is_usable(name, one.kind):
            shown = Mention(one.kind, name, one.id)
            owners.setdefault((shown.label[0], name), set()).add(shown)
    found = [_choose(people, kinds) for people in owners.values()]
    return tuple(found[:MAX_NAMES])


def _choose(people: set[Mention], kinds: Collection[MentionKind]) -> Mention:
    one = min(people, key=lambda mention: mention.id)
    is_mentioned = len(people) == 1 and one.kind in kinds and one.kind is not MentionKind.ROLE
    is_reserved = unicodedata.normalize("NFKC", one.name).casefold() in RESERVED
    return one if is_mentioned and not is_reserved else Mention(one.kind, one.name, "")


def _show(name: str) -> str:
    """Return a name as the agent reads it: on one line, without invisible characters."""
    spaced = (" " if char.isspace() else char for char in name)
    seen = "".join(char for char in spaced if unicodedata.category(char) not in _INVISIBLE)
    return " ".join(seen.split())


def _is_usable(name: str, kind: MentionKind) -> bool:
    if not name or len(name) > MAX_NAME or not _UNUSABLE.isdisjoint(name):
        return False
    if kind is MentionKind.CHANNEL:
        # `#12` is mostly the number of an issue.
        return any(char.isalpha() for char in name)
    return any(char.isalnum() for char in name)
