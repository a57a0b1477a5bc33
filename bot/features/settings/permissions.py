"""Who may make a change: admins of all accounts, and owners what could run programs, send messages elsewhere
or make somebody an owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from bot.access import Permission, Role, Target
from bot.config import AccessEntry
from bot.config.changes import ACCESS_LISTS, Change, ChangeSettings, ConnectAccount, ConnectModel
from bot.server.api.auth import FOR_OWNERS, Principal, may
from bot.server.api.dependencies import ApiServices

OUTRANKED = "Only owners can change the access of admins and owners."
_ROLES = {"owners": Role.OWNER, "admins": Role.ADMIN, "members": Role.MEMBER, "groups": Role.MEMBER}


def find_refusal(services: ApiServices, by: Principal, changes: Iterable[Change]) -> str:
    """Return why the caller may not make the changes, or ""."""
    return next(filter(None, map(partial(_refusal, services, by), changes)), "")


def _refusal(services: ApiServices, by: Principal, change: Change) -> str:
    if _is_for_owners(change) and not may(services, by, Permission.PROGRAMS):
        return FOR_OWNERS
    for rank in _ranks(services, change):
        if not may(services, by, Permission.GRANT, Target(rank=rank)):
            return OUTRANKED
    return ""


def _is_for_owners(change: Change) -> bool:
    if isinstance(change, ConnectModel):
        return bool(change.base_url)
    if isinstance(change, ConnectAccount):
        return bool(change.owner or change.variables or "base_url" in change.settings)
    return isinstance(change, ChangeSettings) and change.section == "approvals"


def _ranks(services: ApiServices, change: Change) -> Iterator[Role]:
    """Yield the roles of lists that change, and of the people who come or go."""
    if not isinstance(change, ChangeSettings):
        return
    section, _, account = change.section.partition(".")
    rules = services.core.config.access
    own = services.core.config.channels[account].access if account in services.core.config.channels else None
    for key, value in change.values.items():
        name = key.rpartition(".")[2]
        if name not in ACCESS_LISTS or section not in {"access", "channels"}:
            continue
        yield _ROLES.get(name, Role.MEMBER)
        before = {str(one) for one in getattr(own if own and account else rules, name) or ()}
        after = {str(one) for one in value} if isinstance(value, list) else {str(value)} if value else set()
        for text in before ^ after:
            try:
                yield services.core.highest_role(AccessEntry.parse(text))
            except ValueError:
                continue  # the check of the configuration reports it
