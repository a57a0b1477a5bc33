"""Route for the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from bot.access import Permission
from bot.features.privacy.schemas import Audit
from bot.server.api.auth import By, accounts_with, requires
from bot.server.api.dependencies import DEFAULT, Cursor, Limit, Services, parse_cursor
from bot.store.audit import list_audit_entries

router = APIRouter(prefix="/api", tags=["access"])
Person = Annotated[str, Query(max_length=256, description="Only events by or about this person.")]


@router.get("/audit")
@requires(Permission.AUDIT)
async def list_audit_events(
    services: Services, by: By, person: Person = "", limit: Limit = DEFAULT, cursor: Cursor = ""
) -> Audit:
    """List audit events, newest first: of the accounts that the caller administers."""
    accounts = accounts_with(services, by, Permission.AUDIT)
    found = await services.db.transact(list_audit_entries, parse_cursor(cursor), limit, person, accounts)
    next_cursor = str(found[-1].id) if len(found) == limit else None
    return Audit(entries=found, next=next_cursor)
