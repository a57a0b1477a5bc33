"""Strangers who wait are let in: by the code that they were told, or as who they are."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field

from bot.access import Role
from bot.access.pairing_codes import as_code
from bot.commands.people import MOST_WRONG, WRONG_CODE, WRONG_WITHIN
from bot.server.api import schemas
from bot.server.api.access import Entry, NewRole, as_entry, given_shape
from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import NOT_YOURS, By, Principal
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.scope_checks import check_reach, reached
from bot.store.audit import AuditEvent, count_audit_events, record_event
from bot.store.people import (
    PairingRequest,
    RoleGrant,
    approve_pairing,
    list_pairing_requests,
    list_role_grants,
)

router = APIRouter(prefix="/api/access", tags=["access"])

NOBODY = "code: nobody waits with it"
ELSEWHERE = "on the accounts that you look after; an owner can let people in on the others"


class PairingApproval(BaseModel):
    """The code of a stranger, and the role that they get."""

    code: str = Field(min_length=1, max_length=40)
    role: schemas.GivenRole = "member"


@router.post("/pair")
async def approve_by_code(body: PairingApproval, services: Services, by: By) -> schemas.RoleGrantInfo:
    """Let the stranger in who has this code on the account where they wrote, and tell them so (404: nobody
    waits with it where the caller is an admin; 429: there were too many wrong ones).
    """
    db, now = services.db, services.clock.now()
    _check_role(by, body.role)
    if await db.run(count_audit_events, by.person, WRONG_CODE, now - WRONG_WITHIN) >= MOST_WRONG:
        raise HTTPException(429, "code: there were too many wrong ones, wait an hour")
    found = await db.run(list_pairing_requests, now, as_code(body.code))
    within = [one for one in found if reached(services, by, one.account)]
    given = await _grant_access(services, by, within[0], body.role) if within else None
    if given is None:
        await db.run(record_event, audit_actor(services, by), AuditEvent(WRONG_CODE), now)
        raise HTTPException(404, NOBODY if by.role is Role.OWNER else f"{NOBODY} {ELSEWHERE}")
    return given


@router.post("/waiting/{entry}")
async def let_in(entry: Entry, body: NewRole, services: Services, by: By) -> schemas.RoleGrantInfo:
    """Let the stranger in who waits as this `account:id`, and tell them so, as by their code (404: nobody
    does any more; 403 where it takes an owner, or an admin of that account).
    """
    who = as_entry(entry)
    _check_role(by, body.role)
    check_reach(services, by, who)
    found = [
        one
        for one in await services.db.run(list_pairing_requests, services.clock.now())
        if one.entry == str(who)
    ]
    given = await _grant_access(services, by, found[0], body.role) if found else None
    if given is None:
        told = f"nobody waits as {who}: they have a role by now, or get a new code when they write again"
        raise HTTPException(404, told)
    return given


async def _grant_access(
    services: ApiServices, by: Principal, one: PairingRequest, role: str
) -> schemas.RoleGrantInfo | None:
    """Give a stranger a role and tell them so; None where they do not wait any more."""
    db, now = services.db, services.clock.now()
    welcome = services.texts(one.account)("pair_welcome")
    told = await db.run(approve_pairing, one.code, role, welcome, audit_actor(services, by), now)
    if told is None:
        return None
    await services.people.load_grants()
    services.deliver(told)
    given = [known for known in await db.run(list_role_grants) if known.entry == one.entry]
    return given_shape(
        services, by, given[0] if given else RoleGrant(one.entry, role, one.name, by.person, now)
    )


def _check_role(by: Principal, role: str) -> None:
    """Refuse a role that the caller may not give to strangers. Raises 403."""
    if not by.role.may_give(Role[role.upper()], Role.STRANGER):
        raise HTTPException(403, NOT_YOURS)
