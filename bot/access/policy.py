"""Roles of senders in chats.

Configured and granted roles are evaluated together everywhere. A role applies to the account where it was
granted, because each account has rules of its own; rows for a platform (`PLATFORM:7`) apply to all of its
accounts, and can't be told apart from those of an account named like its platform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from types import MappingProxyType

from bot.config import AccessConfig, AccessEntry, AppRule
from bot.domain import APP_PREFIX, LOCAL_PLATFORMS, ChatKind, Origin, Sender
from bot.turn import Turn


class Role(IntEnum):
    """Role of a person; each includes the permissions of the lower ones."""

    BLOCKED = 0
    STRANGER = 1
    MEMBER = 2
    ADMIN = 3
    OWNER = 4

    @property
    def role_names(self) -> tuple[str, ...]:
        """Return the names of this role and all lower roles, highest first; none below member."""
        included = (role for role in reversed(Role) if Role.MEMBER <= role <= self)
        return tuple(role.name.lower() for role in included)

    def outranks_grant(self, granted: Role) -> bool:
        """Return whether this configured role takes precedence over a granted role of the same person."""
        if granted is Role.BLOCKED:
            return self is Role.OWNER
        return self is Role.BLOCKED or self > granted


NOBODY: Mapping[AccessEntry, Role] = MappingProxyType({})


class AccessPolicy:
    """Access rules of one account, including roles granted at run time.

    The highest role counts, unless the person is blocked. A configured owner cannot be blocked by a grant,
    and blocking a whole group or workspace in the chat does not affect its admins. A caller who signed in to
    the web console by a link has the role of the account of the link (`linked`). No rule for people covers
    an app, whatever its id and its name: one that `apps` lists is a member, all others have no access.
    """

    def __init__(
        self,
        rules: AccessConfig,
        given: Mapping[AccessEntry, Role] = NOBODY,
        linked: Callable[[Sender], Role] = lambda _sender: Role.STRANGER,
        apps: Sequence[AppRule] = (),
    ) -> None:
        self._rules = rules
        self._given = given
        self._linked = linked
        self._apps = apps

    @property
    def offers_pairing(self) -> bool:
        """Return whether people without access get a pairing code."""
        return self._rules.default == "pair"

    def role_of(self, origin: Origin) -> Role:
        """Return the sender's role in this chat."""
        if origin.sender.is_bot:
            return self._role_of_app(origin)
        if (origin.sender.account or origin.platform) in LOCAL_PLATFORMS:
            return Role.OWNER
        if origin.sender.account:
            return self._linked_role(origin)
        configured = self.configured_role(origin)
        own = [self._given[entry] for entry in _person_entries(origin) if entry in self._given]
        if configured is Role.BLOCKED or (Role.BLOCKED in own and configured < Role.OWNER):
            return Role.BLOCKED
        found = max(configured, self._as_everybody(origin), *own)
        blocked = any(self._given.get(entry) is Role.BLOCKED for entry in _place_entries(origin))
        return Role.BLOCKED if blocked and found < Role.ADMIN else found

    def _role_of_app(self, origin: Origin) -> Role:
        entries = _app_entries(origin) | _place_entries(origin)
        blocked = not entries.isdisjoint(self._rules.blocked) or any(
            self._given.get(entry) is Role.BLOCKED for entry in entries
        )
        if blocked:
            return Role.BLOCKED
        return Role.STRANGER if self.rule_of_app(origin) is None else Role.MEMBER

    def rule_of_app(self, origin: Origin) -> AppRule | None:
        """Return the rule that allows an app to start turns in this chat, or None."""
        ids, chats = _app_entries(origin), _entry_names(origin, origin.chat)
        for rule in self._apps:
            if rule.id in ids and (not rule.chats or chats.intersection(rule.chats)):
                return rule
        return None

    def _linked_role(self, origin: Origin) -> Role:
        """Return the role of a caller who signed in by a link: in the console, their role on the link's
        account; elsewhere, their own role there, except that an owner is an owner everywhere.
        """
        linked, sender = self._linked(origin.sender), origin.sender
        if linked is Role.OWNER or origin.platform in LOCAL_PLATFORMS or origin.account == sender.account:
            return linked
        platform, _, id_ = sender.id.partition(":")
        if linked < Role.MEMBER or platform != origin.platform:
            return min(linked, Role.STRANGER)
        return self.role_of(replace(origin, sender=replace(sender, id=id_, account="")))

    def role_in(self, turn: Turn) -> Role:
        """Return the current role of a turn's author; STRANGER if the author is not a person.

        With several authors, including those of work that the answer continues, it is the lowest of their
        roles.
        """
        at = turn.address
        return min(
            (
                self.role_of(Origin(at.account, turn.platform, at.chat, at.chat_kind, "", person))
                for person in turn.people
            ),
            default=Role.STRANGER,
        )

    def configured_role(self, origin: Origin) -> Role:
        """Return the sender's configured role; STRANGER if none."""
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
        """Return the configured role of exactly this person or group, on an account or a whole platform;
        STRANGER if none.
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

    def entries_of(self, origin: Origin) -> frozenset[str]:
        """Return the access entries of a person and their groups."""
        counts = self._counts_as_everyone(origin.sender)
        groups = _membership_entries(origin) if counts else frozenset()
        return frozenset(map(str, _person_entries(origin) | groups))

    def _counts_as_everyone(self, sender: Sender) -> bool:
        """Return whether rules for a chat or everyone include the sender; guests are excluded unless
        configured.
        """
        return self._rules.guests or not sender.guest

    def _as_everybody(self, origin: Origin) -> Role:
        """Return MEMBER if the chat, one of the sender's groups or everyone has access, otherwise
        STRANGER.
        """
        if not self._counts_as_everyone(origin.sender):
            return Role.STRANGER
        has_access = any(
            entry in self._rules.groups or entry in self._given for entry in _place_entries(origin)
        )
        return Role.MEMBER if has_access or self._rules.default == "allow" else Role.STRANGER

    @staticmethod
    def config_lines(origin: Origin) -> str:
        """Return configuration lines that grant the sender access."""
        return f"access:\n  members:\n    - {origin.platform}:{origin.sender.id}"


def _person_entries(origin: Origin) -> frozenset[AccessEntry]:
    return _entry_names(origin, origin.sender.id)


def _app_entries(origin: Origin) -> frozenset[AccessEntry]:
    """Return an app's entries: by its posting id, and by its app id if different (`app:A0CI00000` in
    `belongs`).
    """
    ids = [part.removeprefix(APP_PREFIX) for part in origin.sender.belongs if part.startswith(APP_PREFIX)]
    return frozenset(entry for id_ in (origin.sender.id, *ids) for entry in _entry_names(origin, id_))


def _place_entries(origin: Origin) -> frozenset[AccessEntry]:
    """Return the entries of the group chat and the sender's groups."""
    chat = _entry_names(origin, origin.chat) if origin.chat_kind is ChatKind.GROUP else frozenset()
    return chat | _membership_entries(origin)


def _membership_entries(origin: Origin) -> frozenset[AccessEntry]:
    parts = [part.partition(":") for part in origin.sender.belongs]
    return frozenset(entry for kind, _, id_ in parts for entry in _entry_names(origin, id_, kind))


def _entry_names(origin: Origin, identity: str, kind: str = "") -> frozenset[AccessEntry]:
    """Return the entries that match this id here, by platform and by account."""
    return frozenset(AccessEntry(scope, identity, kind) for scope in (origin.platform, origin.account))
