"""Check which accounts a caller administers, by the rules of the chat."""

from __future__ import annotations

from fastapi import HTTPException

from bot.access.admin_scope import administers_scope, home_origin
from bot.config import AccessEntry
from bot.server.api.auth import WEB, Principal
from bot.server.api.dependencies import ApiServices


def is_in_scope(services: ApiServices, by: Principal, scope: str) -> bool:
    """Return whether a caller administers every account that an entry's scope covers."""
    home = home_origin(WEB, WEB, by.sender)
    return administers_scope(by.role, home, scope, services.core.accounts.states(), services.core.policy)


def check_scope(services: ApiServices, by: Principal, who: AccessEntry) -> None:
    """Check that the caller administers the accounts that an entry covers. Raises 403."""
    if not is_in_scope(services, by, who.scope):
        reason = f"you are not an admin of every account that {who} covers; name a person on yours"
        raise HTTPException(403, f"{reason} ({by.account}:ID), or ask an owner")
