"""Routes to approve access requests, by pairing code or by person."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from bot.access import Role
from bot.access.pairing_codes import normalize_code
from bot.commands.people import MOST_WRONG, WRONG_CODE, WRONG_WITHIN
from bot.server.api import schemas
from bot.server.api.access import Entry, NewRole, parse_entry, present_grant
from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import NOT_YOURS, By, Principal
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.scope_checks import check_scope, is_in_scope
from bot.store.audit import AuditEvent, count_audit_events, record_event
from bot.store.people import (
    PairingRequest,
    RoleGrant,
    approve_pairing,
    list_pairing_requests,
    list_role_grants,
)

router = APIRouter(prefix="/api/access", tags=["access"])

NOBODY = "code: no pending access request has this code"
ELSEWHERE = "on your accounts; an owner can approve access on the others"


class PairingApproval(BaseModel):
    """A pairing code, and the role to grant."""

    code: str = Field(min_length=1, max_length=40)
    role: schemas.GivenRole = "member"


@router.post("/pair")
async def approve_by_code(body: PairingApproval, services: Services, by: By) -> schemas.RoleGrantInfo:
    """Approve access by pairing code and notify the person (404: no request with this code on the caller's
    accounts; 429: too many wrong codes).
    """
    db, now = services.db, services.clock.now()
    _check_role(by, body.role)
    if await db.run(count_audit_events, by.person, WRONG_CODE, now - WRONG_WITHIN) >= MOST_WRONG:
        raise HTTPException(429, "code: too many wrong codes; wait an hour")
    found = await db.run(list_pairing_requests, now, normalize_code(body.code))
    within = [one for one in found if is_in_scope(services, by, one.account)]
    grant = await _grant_access(services, by, within[0], body.role) if within else None
    if grant is None:
        await db.run(record_event, audit_actor(services, by), AuditEvent(WRONG_CODE), now)
        raise HTTPException(404, NOBODY if by.role is Role.OWNER else f"{NOBODY} {ELSEWHERE}")
    return grant


@router.post("/waiting/{entry}")
async def approve_by_person(entry: Entry, body: NewRole, services: Services, by: By) -> schemas.RoleGrantInfo:
    """Approve the access request of an `account:id` and notify the person (404: no pending request; 403:
    this takes an owner, or an admin of that account).
    """
    who = parse_entry(entry)
    _check_role(by, body.role)
    check_scope(services, by, who)
    found = [
        one
        for one in await services.db.run(list_pairing_requests, services.clock.now())
        if one.entry == str(who)
    ]
    grant = await _grant_access(services, by, found[0], body.role) if found else None
    if grant is None:
        reason = f"no pending access request of {who}: approved already, or expired until they write again"
        raise HTTPException(404, reason)
    return grant


async def _grant_access(
    services: ApiServices, by: Principal, one: PairingRequest, role: str
) -> schemas.RoleGrantInfo | None:
    """Grant a role and notify the person; None if the request is no longer pending."""
    db, now = services.db, services.clock.now()
    welcome = services.core.account(one.account).texts("pair_welcome")
    notice = await db.run(approve_pairing, one.code, role, welcome, audit_actor(services, by), now)
    if notice is None:
        return None
    await services.core.people.load_grants()
    services.dispatcher.deliver_notice(notice)
    grants = [known for known in await db.run(list_role_grants) if known.entry == one.entry]
    return present_grant(
        services, by, grants[0] if grants else RoleGrant(one.entry, role, one.name, by.person, now)
    )


def _check_role(by: Principal, role: str) -> None:
    """Check that the caller may grant this role to people without access. Raises 403."""
    if not by.role.may_give(Role[role.upper()], Role.STRANGER):
        raise HTTPException(403, NOT_YOURS)
