"""Selection of names in an answer that become mentions: unique names of people and channels in the chat, and
roles that the configuration allows.

Ids in the prompt would have to be copied by the agent, and a message could have it mention an id of its
choice; a lookup on the platform would find people who have nothing to do with the chat. Stored answers keep
the plain names, so that no id is left when a person is erased. Edits notify nobody, so an answer that begins
by mentioning somebody other than the person who asked is posted complete instead of streamed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from bot.domain import EVERYBODY, Mention, MentionKind

NO_GROUPS: Mapping[str, str] = MappingProxyType({})
MAX_NAMES = 500
"""Maximum number of names that an answer is searched for, the ones seen last."""
MAX_NAME = 80
"""Maximum number of characters of a name; longer ones are no mentions."""
_UNUSABLE = frozenset("`<>[]|\\\n")
_INVISIBLE = ("Cc", "Cf", "Cs", "Cn", "Co")


def build_names(
    known: Iterable[Mention], kinds: Collection[MentionKind], groups: Mapping[str, str] = NO_GROUPS
) -> tuple[Mention, ...]:
    """Return each name once: with its id if it identifies a single person or channel of these kinds, without
    an id if it must stay text. `groups` contains the ids of the roles that may be mentioned, by configured
    name; a configured role takes precedence over a person of the same name. Other roles stay text.
    """
    allowed = {Mention(MentionKind.ROLE, name, identity) for name, identity in groups.items()}
    owners: dict[str, set[Mention]] = {one.label: {one} for one in allowed}
    for one in known:
        shown = replace(one, name=_show(one.name))
        if _is_usable(shown.name, one.kind) and owners.get(shown.label, set()).isdisjoint(allowed):
            owners.setdefault(shown.label, set()).add(shown)
    found = [_choose(sharing, kinds, groups.values()) for sharing in owners.values()]
    return tuple(found[:MAX_NAMES])


def _choose(sharing: set[Mention], kinds: Collection[MentionKind], groups: Collection[str]) -> Mention:
    """Return the owner of a shared name, without the id if the name must stay text."""
    one = min(sharing, key=lambda mention: mention.id)
    is_allowed = one.kind in kinds and (one.kind is not MentionKind.ROLE or one.id in groups)
    is_mentioned = len(sharing) == 1 and is_allowed
    is_reserved = unicodedata.normalize("NFKC", one.name).casefold() in EVERYBODY
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
