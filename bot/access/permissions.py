"""The single policy for every action: who may perform it, on which account, and on whose data.

Chat commands, buttons, the console, the API and calls proxied to the agent runtime ask it; nothing else
compares roles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, auto
from types import MappingProxyType

from bot.access.policy import AccessPolicy, Role
from bot.domain import DIRECT_PLATFORMS, LOCAL_PLATFORMS, ChatKind, Origin, Sender
from bot.turn import Turn


class Permission(StrEnum):
    """An action that requires permission."""

    USE = auto()
    """Talk to the bot, and use what is one's own."""
    DECIDE = auto()
    """Decide approvals of other people's work, and allow a tool on the whole account."""
    WITHDRAW = auto()
    """Revoke the permission of a tool in a group, or on the whole account."""
    RECORD = auto()
    """Turn the record of a chat on or off."""
    GROUP_MEMORY = auto()
    """Delete the agent's memory of a group."""
    AGENT = auto()
    """Choose another agent than the account's."""
    DIGESTS = auto()
    """See and change other people's schedules."""
    DIGEST_ELSEWHERE = auto()
    """Post a schedule's results to another chat."""
    USAGE = auto()
    """See everyone's usage."""
    READ = auto()
    """Read other people's conversations, turns, files and memory."""
    CHANGE = auto()
    """Change or delete other people's files and memory."""
    PERSONAL_DATA = auto()
    """Export or erase a person's data."""
    GRANT = auto()
    """Grant and revoke roles, and approve access requests."""
    LIMIT = auto()
    """Set limits of messages and tokens."""
    AUDIT = auto()
    """Read the audit log."""
    ACCOUNTS = auto()
    """See the state of an account, and restart it."""
    ANNOUNCE = auto()
    """Send an announcement to chats."""
    INSPECT = auto()
    """See the details of skills, MCP servers, models and agents."""
    EXTEND = auto()
    """Change skills, MCP servers and agents, and send test prompts to models."""
    CONFIGURE = auto()
    """See and reload the configuration, and the settings of the agent's memory."""
    HEALTH = auto()
    """See why the service is not ready, and its metrics."""
    PROGRAMS = auto()
    """Install programs on the machine."""
    TOKENS = auto()
    """Create, list and revoke API tokens."""
    RAW_RUNS = auto()
    """Call the agent runtime's own API."""


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """Rule for a permission.

    `least` is the least role on each account concerned; with `everywhere`, that is every account of the
    service, whatever the target. `own` is the least role for one's own data; with `own_only`, nobody has the
    permission for anything else.
    """

    least: Role = Role.ADMIN
    everywhere: bool = False
    own: Role | None = None
    own_only: bool = False


EVERYWHERE = PermissionRule(everywhere=True)
RULES: Mapping[Permission, PermissionRule] = MappingProxyType(
    {
        **dict.fromkeys(Permission, PermissionRule()),
        Permission.USE: PermissionRule(Role.MEMBER),
        Permission.DIGESTS: PermissionRule(own=Role.MEMBER),
        Permission.USAGE: PermissionRule(own=Role.MEMBER),
        Permission.READ: PermissionRule(own=Role.MEMBER),
        Permission.CHANGE: PermissionRule(own=Role.MEMBER),
        Permission.PERSONAL_DATA: PermissionRule(own=Role.MEMBER),
        Permission.EXTEND: EVERYWHERE,
        Permission.CONFIGURE: EVERYWHERE,
        Permission.HEALTH: EVERYWHERE,
        Permission.PROGRAMS: PermissionRule(Role.OWNER, everywhere=True),
        Permission.TOKENS: PermissionRule(Role.OWNER, everywhere=True),
        Permission.RAW_RUNS: PermissionRule(Role.OWNER, own=Role.OWNER, own_only=True),
    }
)


def home_origin(platform: str, account: str, sender: Sender) -> Origin:
    """Return the sender's private chat on their own account.

    For a caller who signed in to the web console by a link, that is the account of the link.
    """
    if not sender.account:
        return Origin(account, platform, "", ChatKind.PRIVATE, "", sender)
    home, _, id_ = sender.id.partition(":")
    known = replace(sender, id=id_, account="")
    return Origin(sender.account, home, "", ChatKind.PRIVATE, "", known)


@dataclass(frozen=True, slots=True)
class Caller:
    """A person who requests an action: their role, and their private chat on their own account.

    `only` lists the permissions that an API token is limited to (None: no limit).
    """

    role: Role
    home: Origin
    only: frozenset[Permission] | None = None

    @classmethod
    def of_turn(cls, turn: Turn, role: Role) -> Caller:
        """Return the author of a command."""
        return cls(role, home_origin(turn.platform, turn.address.account, turn.messages[-1].sender))


@dataclass(frozen=True, slots=True)
class Target:
    """Target of an action: `scope` is an account or a platform ("": every account), `own` marks the caller's
    own data, and `rank` is the highest role among the affected people and grants.
    """

    scope: str = ""
    own: bool = False
    rank: Role = Role.STRANGER


def owner_scope(account: str, platform: str, owner: str) -> str:
    """Return the scope whose admins are responsible for a conversation: its account, or in the console the
    platform of its owner (`platform:id`), who signed in by a link from one of its accounts.
    """
    home = owner.partition(":")[0]
    return home if platform in LOCAL_PLATFORMS and home else account


class PermissionPolicy:
    """Decides on every action. `platforms` returns each account's platform by name, `policy` its rules."""

    def __init__(
        self, platforms: Callable[[], Mapping[str, str]], policy: Callable[[str], AccessPolicy]
    ) -> None:
        self._platforms = platforms
        self._policy = policy

    def decide(self, caller: Caller, permission: Permission, target: Target = Target()) -> bool:
        """Return whether a caller may perform an action on a target.

        Owners may do everything on every account. Others need the rule's role on each account concerned, and
        cannot act on admins and owners, nor grant those roles.
        """
        rule = RULES[permission]
        if caller.only is not None and permission not in caller.only:
            return False
        if rule.own is not None and target.own:
            return caller.role >= rule.own
        if rule.own_only or caller.role < rule.least:
            return False
        if caller.role is Role.OWNER:
            return True
        if target.rank >= Role.ADMIN:
            return False
        covered = self._covered_accounts(caller, "" if rule.everywhere else target.scope)
        return bool(covered) and all(self._has_role(caller, account, rule.least) for account in covered)

    def accounts_with(self, caller: Caller, permission: Permission) -> frozenset[str] | None:
        """Return the accounts on which a caller has a permission; None for every account, including accounts
        that are no longer configured.
        """
        if caller.role is Role.OWNER:
            return None
        accounts: Iterable[str] = {caller.home.account, *self._platforms()}
        return frozenset(one for one in accounts if self.decide(caller, permission, Target(one)))

    def _covered_accounts(self, caller: Caller, scope: str) -> list[str]:
        """Return the accounts in a scope. Local accounts belong to owners only, so "every account" excludes
        them.
        """
        if scope == caller.home.account:
            return [scope]
        known = self._platforms()
        if not scope:
            return [account for account, platform in known.items() if platform not in LOCAL_PLATFORMS]
        return [account for account, platform in known.items() if scope in (account, platform)]

    def _has_role(self, caller: Caller, account: str, least: Role) -> bool:
        """Return whether a caller has a role on an account. Identities are never shared across platforms."""
        home = caller.home
        if account == home.account:
            return caller.role >= least
        platform = self._platforms().get(account)
        if home.platform in DIRECT_PLATFORMS:
            return platform not in LOCAL_PLATFORMS and caller.role >= least
        return (
            platform == home.platform
            and self._policy(account).role_of(replace(home, account=account)) >= least
        )
