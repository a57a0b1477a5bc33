"""What only some may do at doors that are open to every member: in a command, by a button, on the page."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto
from types import MappingProxyType

from bot.access.policy import Role


class Permission(StrEnum):
    """Something that a door checks by itself, beyond the least role that it takes to come through."""

    DECIDE = auto()
    """Decide an approval of work that others asked for, and allow a tool on the whole account."""
    WITHDRAW = auto()
    """Have a tool ask again in a group, or on the whole account."""
    RECORD = auto()
    """Switch the record of a chat."""
    GROUP_MEMORY = auto()
    """Have forgotten what is remembered of a group."""
    AGENT = auto()
    """Choose another agent than the one that an account has set."""
    DIGESTS = auto()
    """See and change the schedules of others."""
    DIGEST_ELSEWHERE = auto()
    """Have a schedule's results put into another chat."""
    USAGE = auto()
    """See what everybody used."""
    READ = auto()
    """Read the conversations, turns, files and memory of others."""
    HEALTH = auto()
    """See why the service is not ready."""


LEAST: Mapping[Permission, Role] = MappingProxyType(dict.fromkeys(Permission, Role.ADMIN))
"""Who may do what; admins all of it."""


def has_permission(role: Role, power: Permission) -> bool:
    """Whether somebody with this role may do that."""
    return role >= LEAST[power]
