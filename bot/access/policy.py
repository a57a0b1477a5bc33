"""The one decision about a person: which role they have where they wrote."""

from __future__ import annotations

from enum import IntEnum

from bot.config import AccessConfig, AccessEntry
from bot.domain import ChatKind, Origin

# The page and the terminal are reached through the service's own port, which checks who is there.
LOCAL_PLATFORMS = frozenset({"web", "terminal"})


class Role(IntEnum):
    """What a person may do; each role may what the lower ones may."""

    BLOCKED = 0
    STRANGER = 1
    MEMBER = 2
    ADMIN = 3
    OWNER = 4

    @property
    def held(self) -> tuple[str, ...]:
        """The names of this role and of those that it includes, the highest first; none below a member."""
        included = (role for role in reversed(Role) if Role.MEMBER <= role <= self)
        return tuple(role.name.lower() for role in included)


class AccessPolicy:
    """The rules of one account."""

    def __init__(self, rules: AccessConfig) -> None:
        self._rules = rules

    def role(self, origin: Origin) -> Role:
        """The role of the sender in that chat."""
        if origin.platform in LOCAL_PLATFORMS:
            return Role.OWNER
        person = _names(origin, origin.sender.id)
        chat = _names(origin, origin.chat) if origin.chat_kind is ChatKind.GROUP else frozenset()
        rules = self._rules
        if (person | chat) & frozenset(rules.blocked):
            return Role.BLOCKED
        for entries, role in (
            (rules.owners, Role.OWNER),
            (rules.admins, Role.ADMIN),
            (rules.members, Role.MEMBER),
        ):
            if person & frozenset(entries):
                return role
        if chat & frozenset(rules.groups) or rules.default == "allow":
            return Role.MEMBER
        return Role.STRANGER

    @staticmethod
    def line(origin: Origin) -> str:
        """The lines of the configuration that let the sender in."""
        return f"access:\n  members:\n    - {origin.platform}:{origin.sender.id}"


def _names(origin: Origin, identity: str) -> frozenset[AccessEntry]:
    """The entries that mean this id here: by platform or by account."""
    return frozenset({AccessEntry(origin.platform, identity), AccessEntry(origin.account, identity)})
