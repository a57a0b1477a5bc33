"""The one decision about a person: which role they have where they wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from types import MappingProxyType

from bot.config import AccessConfig, AccessEntry
from bot.domain import ChatKind, Origin, Sender, Turn

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
    def role_names(self) -> tuple[str, ...]:
        """The names of this role and of those that it includes, the highest first; none below a member."""
        included = (role for role in reversed(Role) if Role.MEMBER <= role <= self)
        return tuple(role.name.lower() for role in included)

    def may_give(self, role: Role, held: Role) -> bool:
        """Whether somebody with this role may give `role` to one who has `held`, or take it: owners whatever
        they like, admins what is below an admin, to people below an admin.
        """
        return self is Role.OWNER or (self is Role.ADMIN and role < Role.ADMIN and held < Role.ADMIN)

    def outranks_grant(self, given: Role) -> bool:
        """Whether this role, named by the configuration, makes another one that is given to the same person
        void.
        """
        if given is Role.BLOCKED:
            return self is Role.OWNER
        return self is Role.BLOCKED or self > given


NOBODY: Mapping[AccessEntry, Role] = MappingProxyType({})


class AccessPolicy:
    """The rules of one account, and the roles that people were given while it runs.

    The higher role counts, but for one who is blocked; nobody blocks an owner whom the configuration names,
    and blocking a whole group or workspace in the chat leaves out its admins. Who came to the page by a link
    has the role (`linked`) that they have where they came from.
    """

    def __init__(
        self,
        rules: AccessConfig,
        given: Mapping[AccessEntry, Role] = NOBODY,
        linked: Callable[[Sender], Role] = lambda _sender: Role.STRANGER,
    ) -> None:
        self._rules = rules
        self._given = given
        self._linked = linked

    @property
    def offers_pairing(self) -> bool:
        """Whether strangers get a code."""
        return self._rules.default == "pair"

    def role_of(self, origin: Origin) -> Role:
        """The role of the sender in that chat."""
        if (origin.sender.account or origin.platform) in LOCAL_PLATFORMS:
            return Role.OWNER
        if origin.sender.account:
            return self._linked(origin.sender)
        listed = self.configured_role(origin)
        own = [self._given[entry] for entry in _person_entries(origin) if entry in self._given]
        if listed is Role.BLOCKED or (Role.BLOCKED in own and listed < Role.OWNER):
            return Role.BLOCKED
        found = max(listed, self._as_everybody(origin), *own)
        shut = any(self._given.get(entry) is Role.BLOCKED for entry in _place_entries(origin))
        return Role.BLOCKED if shut and found < Role.ADMIN else found

    def role_in(self, turn: Turn) -> Role:
        """What the author of a turn may do now; of several authors, and of those whose work an answer goes on
        with, what every one of them may. STRANGER where nobody wrote it.
        """
        at = turn.address
        people = [*(message.sender for message in turn.messages), *turn.askers]
        return min(
            (
                self.role_of(Origin(at.account, turn.platform, at.chat, at.chat_kind, "", person))
                for person in people
            ),
            default=Role.STRANGER,
        )

    def configured_role(self, origin: Origin) -> Role:
        """The role that the configuration names for the sender; STRANGER for none."""
        rules, person = self._rules, _person_entries(origin)
        if not (person | _place_entries(origin)).isdisjoint(rules.blocked):
            return Role.BLOCKED
        known = person | _membership_entries(origin) if self._counts_as_everyone(origin.sender) else person
        for entries, role in (
            (rules.owners, Role.OWNER),
            (rules.admins, Role.ADMIN),
            (rules.members, Role.MEMBER),
        ):
            if not known.isdisjoint(entries):
                return role
        return Role.STRANGER

    def configured_role_of_entry(self, entry: AccessEntry) -> Role:
        """The role that the configuration names for exactly this person, group or the like, be it for one
        account or the whole platform. STRANGER for none.
        """
        rules = self._rules
        for entries, role in (
            (rules.blocked, Role.BLOCKED),
            (rules.owners, Role.OWNER),
            (rules.admins, Role.ADMIN),
            ((*rules.members, *rules.groups), Role.MEMBER),
        ):
            if any((one.kind, one.id) == (entry.kind, entry.id) for one in entries):
                return role
        return Role.STRANGER

    def _counts_as_everyone(self, sender: Sender) -> bool:
        """Whether somebody is one of everybody, wherever that is said of a place."""
        return self._rules.guests or not sender.guest

    def _as_everybody(self, origin: Origin) -> Role:
        """A member, where that was said of the chat, of what the sender belongs to, or of all."""
        if not self._counts_as_everyone(origin.sender):
            return Role.STRANGER
        opened = any(entry in self._rules.groups or entry in self._given for entry in _place_entries(origin))
        return Role.MEMBER if opened or self._rules.default == "allow" else Role.STRANGER

    @staticmethod
    def config_lines(origin: Origin) -> str:
        """The lines of the configuration that let the sender in."""
        return f"access:\n  members:\n    - {origin.platform}:{origin.sender.id}"


def _person_entries(origin: Origin) -> frozenset[AccessEntry]:
    return _entry_names(origin, origin.sender.id)


def _place_entries(origin: Origin) -> frozenset[AccessEntry]:
    """The group, and what the sender belongs to."""
    chat = _entry_names(origin, origin.chat) if origin.chat_kind is ChatKind.GROUP else frozenset()
    return chat | _membership_entries(origin)


def _membership_entries(origin: Origin) -> frozenset[AccessEntry]:
    parts = [part.partition(":") for part in origin.sender.belongs]
    return frozenset(entry for kind, _, id_ in parts for entry in _entry_names(origin, id_, kind))


def _entry_names(origin: Origin, identity: str, kind: str = "") -> frozenset[AccessEntry]:
    """The entries that mean this id here: by platform or by account."""
    return frozenset(AccessEntry(scope, identity, kind) for scope in (origin.platform, origin.account))
