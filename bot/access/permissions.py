"""Permissions beyond a command's least role, and the accounts that an admin administers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum, auto
from types import MappingProxyType

from bot.access.policy import AccessPolicy, Role
from bot.domain import ChatKind, Origin, Sender


class Permission(StrEnum):
    """A permission in addition to the least role of a command, button or route."""

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
    HEALTH = auto()
    """See why the service is not ready."""


LEAST: Mapping[Permission, Role] = MappingProxyType(dict.fromkeys(Permission, Role.ADMIN))
"""Least role of each permission; admins have all of them."""


def has_permission(role: Role, power: Permission) -> bool:
    """Return whether a role has a permission."""
    return role >= LEAST[power]


def home_origin(platform: str, account: str, sender: Sender) -> Origin:
    """Return a private chat with the sender on their own account.

    For a caller who signed in to the web console by a link, that is the account of the link.
    """
    if not sender.account:
        return Origin(account, platform, "", ChatKind.PRIVATE, "", sender)
    home, _, id_ = sender.id.partition(":")
    known = replace(sender, id=id_, account="")
    return Origin(sender.account, home, "", ChatKind.PRIVATE, "", known)


def administers_scope(
    role: Role,
    home: Origin,
    scope: str,
    states: Mapping[str, tuple[str, object]],
    policy: Callable[[str], AccessPolicy],
) -> bool:
    """Return whether a sender with this role at `home` is an admin of every account that `scope` covers.

    Owners are admins of all accounts. `states` maps account names to their platform and state.
    """
    if role is Role.OWNER:
        return True
    if role < Role.ADMIN:
        return False
    if scope == home.account:
        return True
    covered = [(account, on) for account, (on, _) in states.items() if scope in (account, on)]
    return bool(covered) and all(
        on == home.platform and policy(account).role_of(replace(home, account=account)) >= Role.ADMIN
        for account, on in covered
    )
