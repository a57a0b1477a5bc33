"""About whom a caller may decide, as in the chat."""

from __future__ import annotations

from fastapi import HTTPException

from bot.access.admin_scope import at_home, within_reach
from bot.config import AccessEntry
from bot.server.api.auth import WEB, Principal
from bot.server.api.dependencies import ApiServices


def reached(services: ApiServices, by: Principal, scope: str) -> bool:
    """Whether a caller looks after every account that an entry's scope means."""
    home = at_home(WEB, WEB, by.sender)
    return within_reach(by.role, home, scope, services.accounts.states(), services.policy)


def check_reach(services: ApiServices, by: Principal, who: AccessEntry) -> None:
    """Refuse what is about accounts that the caller does not look after. Raises 403."""
    if not reached(services, by, who.scope):
        told = f"{who} is about accounts of which you are no admin; name somebody on yours"
        raise HTTPException(403, f"{told} ({by.account}:ID), or ask an owner")
