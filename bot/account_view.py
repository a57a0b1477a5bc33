"""The settings of an account, and what follows from them for its people and chats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bot.access import AccessPolicy, Caller, Permission, PermissionPolicy, Role, Target
from bot.access.permissions import home_origin
from bot.config import AccessConfig, AccessEntry, AccessOverrides, ApprovalsConfig
from bot.domain import (
    LOCAL_PLATFORMS,
    ChatKind,
    IsolationPolicy,
    Origin,
    ReplyAddress,
    Sender,
    person_of,
)
from bot.languages import Languages
from bot.profiles import (
    ADMINS,
    MEMBERS,
    OFF,
    REQUESTER,
    PlacedSettings,
    Profile,
    ProvidesSettings,
    TurnPlace,
    resolve_profile,
)
from bot.store.app_budget import AppBudget
from bot.store.approval_rules import APPROVERS, ApprovalRules
from bot.store.chat_record import NO_RECORD, ChatRecord
from bot.store.usage_limits import UNLIMITED, UsageLimits
from bot.texts import Texts
from bot.turn import Turn, turn_author


class LimitsUsage:
    """Usage limits of people, chats and accounts. By default, nothing is limited."""

    def limits_for(
        self, origin: Origin, role: Role, texts: Texts, *, is_scheduled: bool = False
    ) -> UsageLimits:
        """Return the limits of a sender with this role in their chat, or of their scheduled runs."""
        return UNLIMITED


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """Message limits: characters, and bytes of a file."""

    characters: int = 100_000
    file_bytes: int = 20_000_000


@dataclass(frozen=True)
class AccountView:
    """Settings of an account. `rules` are its effective access rules, `own_rules` its overrides; `texts` are
    the texts for its private chats (see `texts_at`); `retention_days` is 0 for unlimited; `app_budget` is
    None if apps may not start turns. An unconfigured account has the defaults, and admits nobody.
    """

    name: str
    platform: str
    policy: AccessPolicy
    texts: Texts
    record: ChatRecord = NO_RECORD
    usage: LimitsUsage = field(default_factory=LimitsUsage)
    rules: AccessConfig = field(default_factory=AccessConfig)
    own_rules: AccessOverrides = field(default_factory=AccessOverrides)
    isolation: IsolationPolicy = field(default_factory=IsolationPolicy)
    private_isolation: IsolationPolicy = field(default_factory=IsolationPolicy)
    limits: MessageLimits = field(default_factory=MessageLimits)
    settings: Sequence[PlacedSettings] = ()
    providers: Sequence[ProvidesSettings] = ()
    retention_days: int = 0
    configured: bool = True
    approvals: ApprovalsConfig = field(default_factory=ApprovalsConfig)
    app_budget: AppBudget | None = None
    languages: Languages | None = None
    permissions: PermissionPolicy = field(default_factory=lambda: PermissionPolicy(dict, no_policy))

    def texts_at(self, address: ReplyAddress, person: str = "") -> Texts:
        """Return the texts for an address, in a person's language (`platform:id`), else the chat's."""
        return self.texts_in(address.chat, address.chat_kind, address.topic, person)

    def texts_in(self, chat: str, kind: ChatKind, topic: str, person: str, locale: str = "") -> Texts:
        """Return the texts for a chat or one of its threads, in the same language as `texts_at`."""
        found = self.languages.find(person, f"{self.name}:{chat}", locale) if self.languages else ""
        return self.texts.in_language(found).in_chat(kind, topic)

    def texts_for(self, origin: Origin) -> Texts:
        """Return the texts for a sender at this origin."""
        person = person_of(origin.platform, origin.sender)
        place = origin.chat, origin.chat_kind, origin.topic
        return self.texts_in(*place, person, origin.sender.locale)

    def texts_of(self, turn: Turn) -> Texts:
        """Return the texts for the reply to a turn."""
        return self.texts_at(turn.address, turn_author(turn))

    def profile_at(self, chat: str, topic: str = "", person: str = "", home: str = "") -> Profile:
        """Return the effective settings in a chat, for a person (`platform:id`)."""
        place = TurnPlace(self.platform, self.name, chat, topic, person, home)
        return resolve_profile(self._list_settings(place), place)

    def _list_settings(self, place: TurnPlace) -> list[PlacedSettings]:
        return [*self.settings, *(one for part in self.providers for one in part.list_settings(place))]

    def profile_for(self, origin: Origin) -> Profile:
        """Return the effective settings of a message's sender."""
        person = person_of(origin.platform, origin.sender)
        return self.profile_at(origin.chat, origin.topic, person, origin.sender.account)

    def profile_of(self, turn: Turn) -> Profile:
        """Return the effective settings of a turn: those of its author, and the lists of its other people."""
        chat, topic, author = turn.address.chat, turn.address.topic, turn_author(turn)
        people = {person_of(turn.platform, one) for one in turn.people}
        others = [self.profile_at(chat, topic, one) for one in sorted(people - {author})]
        return self.profile_at(chat, topic, author).merged(others)

    def names_of(self, origin: Origin) -> frozenset[str]:
        """Return the words that match a person in lists of people; none for an app or without access."""
        if origin.sender.is_bot or not self.has_access(origin):
            return frozenset()
        entries = self.policy.entries_of(home_origin(origin.platform, origin.account, origin.sender))
        return entries | {MEMBERS} | ({ADMINS} if self.may(origin, Permission.DECIDE) else frozenset())

    def list_people(
        self, name: str, usual: tuple[str, ...], chat: str, people: Iterable[Sender], topic: str
    ) -> list[tuple[str, ...]]:
        """Return the values of a list (`usual` by default) for each of several people."""
        known = sorted({person_of(self.platform, one) for one in people} or {""})
        found = [self.profile_at(chat, topic, one).lists(name) for one in known]
        return [values for lists in found for values in lists or [usual]]

    def approvals_for(self, origin: Origin) -> ApprovalRules:
        """Return the rules for a person who decides in this chat."""
        rules, names = self.approvals, self.names_of(origin) - {ADMINS}
        find_approvers = partial(self.list_people, "approvers", APPROVERS[rules.by], origin.chat)
        return ApprovalRules(find_approvers, names, rules.here == "admins", rules.here_days)

    def may_steer(self, turn: Turn, sender: Sender) -> bool:
        """Return whether a person may add a message to the run of a turn of other people.

        The run keeps the role, skills and tools of its own people, so the person must have them, too.
        """
        at, own = turn.address, self.profile_of(turn)
        origin = Origin(at.account, turn.platform, at.chat, at.chat_kind, "", sender, at.topic)
        both, names = own.merged([self.profile_for(origin)]), self.names_of(origin)
        allowed = self.list_people("steer", (REQUESTER,), at.chat, turn.people, at.topic)
        has_same = all(set(own.lists(name)) == set(both.lists(name)) for name in ("skills", "denied_tools"))
        is_listed = all(not names.isdisjoint(one) for one in allowed)
        return is_listed and has_same and self.policy.role_of(origin) >= self.role_in(turn)

    def is_read(self, chat: str) -> bool:
        """Return whether messages in a chat that don't address the bot are processed."""
        place = TurnPlace(self.platform, self.name, chat)
        off = [one for one in self._list_settings(place) if one.values.get("mention") == (OFF,)]
        anywhere = [replace(one, place=replace(one.place, topic="", person="")) for one in off]
        return self.is_recorded(chat) or any(one.covers(place) for one in anywhere)

    def isolation_of(self, origin: Origin) -> IsolationPolicy:
        """Return the isolation policy for a message's chat."""
        private = origin.chat_kind is ChatKind.PRIVATE
        return self.private_isolation if private else self.isolation

    def is_recorded(self, chat: str) -> bool:
        """Return whether a chat is recorded."""
        return self.record.is_recorded(self.name, chat)

    def limits_for(self, origin: Origin, role: Role) -> UsageLimits:
        """Return the limits of a sender with this role in their chat."""
        return self.usage.limits_for(origin, role, self.texts_for(origin))

    def may(self, origin: Origin, permission: Permission) -> bool:
        """Return whether a sender has a permission on this account. In the console the permission on their
        own platform counts, since only its conversations are open to them.
        """
        home = home_origin(origin.platform, origin.account, origin.sender)
        caller = Caller(self.policy.role_of(origin), home)
        scope = home.platform if self.platform in LOCAL_PLATFORMS else self.name
        return self.permissions.decide(caller, permission, Target(scope))

    def role_in(self, turn: Turn) -> Role:
        """Return the current role of a turn's author."""
        return self.policy.role_in(turn) if self.configured else Role.STRANGER

    def has_access(self, origin: Origin) -> bool:
        """Return whether a sender currently has access at this origin."""
        return self.configured and self.policy.role_of(origin) >= Role.MEMBER

    def is_covered_by(self, entry: AccessEntry) -> bool:
        """Return whether an access entry covers this account."""
        return entry.scope in (self.name, self.platform)


def no_policy(_account: str) -> AccessPolicy:
    """Return a policy that admits nobody."""
    return AccessPolicy(AccessConfig(default="closed"))
