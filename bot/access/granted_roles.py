"""Roles granted at run time, in addition to the configured ones.

They are cached and reloaded after each change, so several services can't share a database without notifying
each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import structlog

from bot.access.policy import Role
from bot.config import AccessEntry
from bot.store import Database
from bot.store.people import RoleGrant, list_role_grants

log = structlog.get_logger(__name__)


class GrantedRoles(Mapping[AccessEntry, Role]):
    """Granted roles by entry, as of the last `load_grants`."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._roles: Mapping[AccessEntry, Role] = {}

    def __getitem__(self, entry: AccessEntry) -> Role:
        return self._roles[entry]

    def __iter__(self) -> Iterator[AccessEntry]:
        return iter(self._roles)

    def __len__(self) -> int:
        return len(self._roles)

    async def load_grants(self) -> None:
        """Reload the granted roles from the store."""
        self._roles = dict(filter(None, map(_parse_grant, await self._db.transact(list_role_grants))))

    def highest_granted_role(self, entry: AccessEntry) -> Role:
        """Return the highest role granted to a person or group, on one account or the whole platform;
        STRANGER if none.
        """
        same = (role for one, role in self._roles.items() if (one.kind, one.id) == (entry.kind, entry.id))
        return max(same, default=Role.STRANGER)


def _parse_grant(one: RoleGrant) -> tuple[AccessEntry, Role] | None:
    """Parse a stored grant; ignore it if this version cannot read it."""
    try:
        return AccessEntry.parse(one.entry), Role[one.role.upper()]
    except (ValueError, KeyError):
        log.warning("role_unreadable", entry=one.entry, role=one.role)
        return None
