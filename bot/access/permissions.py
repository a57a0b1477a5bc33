"""Permissions that a command, button or route checks beyond the least role that it requires."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, auto
from types import MappingProxyType

from bot.access.policy import Role


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
