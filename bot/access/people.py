"""Who was given a role by people, beside whom the configuration names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import structlog

from bot.access.policy import Role
from bot.config import AccessEntry
from bot.store import Database
from bot.store.people import RoleGrant, list_role_grants

log = structlog.get_logger(__name__)


class GrantedRoles(Mapping[AccessEntry, Role]):
    """The roles that were given, by entry: what the store says, as of the last `load`."""

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
        """Take over what the store says now."""
        self._roles = dict(filter(None, map(_parse_grant, await self._db.run(list_role_grants))))

    def highest_granted_role(self, entry: AccessEntry) -> Role:
        """The highest role that this person, group or the like was given, be it for one account or the whole
        platform. STRANGER for none.
        """
        same = (role for one, role in self._roles.items() if (one.kind, one.id) == (entry.kind, entry.id))
        return max(same, default=Role.STRANGER)


def _parse_grant(one: RoleGrant) -> tuple[AccessEntry, Role] | None:
    """A row as the policy reads it; one that this version cannot read gives nothing."""
    try:
        return AccessEntry.parse(one.entry), Role[one.role.upper()]
    except (ValueError, KeyError):
        log.warning("role_unreadable", entry=one.entry, role=one.role)
        return None
