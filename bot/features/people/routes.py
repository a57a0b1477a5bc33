"""Routes for roles and access requests by pairing code or person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request
from pydantic import BaseModel, Field

from bot.access import AccessPolicy, Permission, Role, Target
from bot.access.one_time_codes import normalize_code
from bot.account_view import AccountView
from bot.config import AccessConfig, AccessEntry, wrong_entry
from bot.domain import ChatKind
from bot.features.people.commands import WRONG_CODE
from bot.server.api import schemas
from bot.server.api.auth import By, Principal, accounts_with, audit_actor, check, check_scope, may, requires
from bot.server.api.credential_attempts import Attempts, CredentialKind
from bot.server.api.dependencies import DEFAULT, ApiServices, Limit, Names, Services
from bot.server.api.display_names import name_entries
from bot.server.api.errors import not_found
from bot.server.api.people_in_reach import erasable_person
from bot.store.audit import AuditEvent, record_event
from bot.store.people import (
    PairingRequest,
    RoleGrant,
    approve_pairing,
    dismiss_pairing,
    grant_role,
    list_pairing_requests,
    list_role_grants,
    revoke_role,
)

router = APIRouter(prefix="/api", tags=["access"])

LISTS: Sequence[tuple[str, schemas.GivenRole]] = (
    ("owners", "owner"),
    ("admins", "admin"),
    ("members", "member"),
    ("groups", "member"),
    ("blocked", "blocked"),
)
ADDED = "blocked"
"""Configuration key whose account list extends the general one; every other account list replaces it."""
Entry = Annotated[str, Path(max_length=256, description="`platform:id`, `account:id` or `platform:kind:id`.")]


NOBODY = "code: no pending access request has this code"
NOT_PENDING = "no pending access request from {who}: it was decided, or it expired and they must write again"
ELSEWHERE = "on your accounts; an owner can approve access on the others"


class NewRole(BaseModel):
    """The role to grant."""

    role: schemas.GivenRole


@router.get("/access")
@requires(Permission.GRANT)
async def get_access(
    services: Services, by: By, limit: Limit = DEFAULT, cursor: Names = ""
) -> schemas.Access:
    """List the configured roles, the granted roles (ordered by entry, in pages) and the access requests of
    the accounts that the caller administers.
    """
    rules, own, now = services.core.config.access, services.core.configured_accounts(), services.clock.now()
    reached = accounts_with(services, by, Permission.GRANT)
    own = [one for one in own if reached is None or one.name in reached]
    shown = reached if reached is None else {*reached, *(one.platform for one in own)}
    grants = [
        one
        for one in await services.db.transact(list_role_grants)
        if one.entry > cursor and (shown is None or one.entry.partition(":")[0] in shown)
    ]
    configured = [
        one for one in _configured_roles(rules, own) if shown is None or one.entry.partition(":")[0] in shown
    ]
    names = await name_entries(
        services, {one.entry for one in configured} | {one.entry for one in grants[:limit]}
    )
    return schemas.Access(
        default=rules.default,
        defaults=[
            schemas.AccountDefault(account=one.name, default=one.own_rules.default)
            for one in own
            if one.own_rules.default is not None
        ],
        configured=[one.model_copy(update={"name": names.get(one.entry, "")}) for one in configured],
        given=[
            present_grant(services, by, replace(one, name=one.name or names.get(one.entry, "")))
            for one in grants[:limit]
        ],
        next=grants[limit - 1].entry if len(grants) > limit else None,
        waiting=[
            one
            for one in await services.db.transact(list_pairing_requests, now)
            if may(services, by, Permission.GRANT, Target(one.account))
        ],
    )


@router.put("/access/{entry}")
@requires(Permission.GRANT)
async def put_role(entry: Entry, body: NewRole, services: Services, by: By) -> schemas.RoleGrantInfo:
    """Grant a role to a person, or access to a group or workspace (403: the caller is neither an owner nor an
    admin of every account that the entry covers; 409: the configuration overrides it).
    """
    target, role = parse_entry(entry), Role[body.role.upper()]
    _check_grant(services, by, target, role)
    _check_id(services, target)
    _check_named(services, target, role)
    if target.kind and role > Role.MEMBER:
        raise HTTPException(422, f"role: {target} can only be member or blocked, not {body.role}")
    now = services.clock.now()
    waiting = await services.db.transact(list_pairing_requests, now)
    names = {known: stranger.name for stranger in waiting for known in (stranger.person, stranger.entry)}
    one = RoleGrant(str(target), body.role, names.get(str(target), ""), by.person, now)
    await services.db.transact(grant_role, one, audit_actor(services, by), one.at)
    await services.core.people.load_grants()
    found = [given for given in await services.db.transact(list_role_grants) if given.entry == one.entry]
    return present_grant(services, by, found[0] if found else one)


@router.delete("/access/{entry}", status_code=204)
@requires(Permission.GRANT)
async def delete_role(entry: Entry, services: Services, by: By) -> None:
    """Revoke a role (403: the caller is neither an owner nor an admin of all accounts that it covers)."""
    who = parse_entry(entry)
    _check_grant(services, by, who, Role.STRANGER)
    revoked = await services.db.transact(
        revoke_role, str(who), audit_actor(services, by), services.clock.now()
    )
    await services.core.people.load_grants()
    if not revoked:
        raise not_found("role")


def _check_grant(services: ApiServices, by: Principal, who: AccessEntry, role: Role) -> None:
    """Check that the caller may grant or revoke this role, by the same rules as in a chat. Raises 403."""
    rank = max(role, services.core.highest_role(who))
    check(services, by, Permission.GRANT, Target(by.caller.home.account, rank=rank))
    check_scope(services, by, who)


def _check_id(services: ApiServices, who: AccessEntry) -> None:
    """Check that an id is valid for its platform. Raises 422."""
    states = services.core.accounts.states()
    if problem := wrong_entry(states[who.scope][0] if who.scope in states else who.scope, who):
        raise HTTPException(422, f"entry: {problem}")


def _check_named(services: ApiServices, who: AccessEntry, role: Role) -> None:
    """Check that no configured role overrides the grant on any account it covers. Raises 409."""
    general = services.core.config.access
    own = {one.name: one.rules for one in services.core.configured_accounts() if one.is_covered_by(who)}
    for account, rules in (own or {"": general}).items():
        configured = AccessPolicy(rules).configured_role_of_entry(who)
        if configured.outranks_grant(role):
            place = (
                "" if configured is AccessPolicy(general).configured_role_of_entry(who) else f" on {account}"
            )
            reason = f"config.yaml gives {who} the role {configured.name.lower()}{place}; change it there"
            raise HTTPException(409, reason)


def _configured_roles(rules: AccessConfig, own: Sequence[AccountView]) -> list[schemas.ConfiguredRole]:
    """Return the roles for all accounts, followed by those of each account."""
    found = [
        schemas.ConfiguredRole(entry=str(entry), role=role, not_on=_accounts_with_own_rules(key, entry, own))
        for key, role in LISTS
        for entry in getattr(rules, key)
    ]
    return found + [
        schemas.ConfiguredRole(entry=str(entry), role=role, account=one.name)
        for one in own
        for key, role in LISTS
        for entry in getattr(one.own_rules, key) or ()
    ]


def _accounts_with_own_rules(key: str, entry: AccessEntry, own: Sequence[AccountView]) -> list[str]:
    """Return the accounts that an entry would cover, but that have their own list."""
    covered = [one for one in own if key != ADDED and one.is_covered_by(entry)]
    return [one.name for one in covered if getattr(one.own_rules, key) is not None]


def parse_entry(text: str) -> AccessEntry:
    """Parse an entry in a path. Raises 422."""
    try:
        return AccessEntry.parse(text)
    except ValueError as error:
        raise HTTPException(422, f"entry: {error}") from None


def present_grant(services: ApiServices, by: Principal, one: RoleGrant) -> schemas.RoleGrantInfo:
    """Return a granted role in the API format for the caller."""
    who = parse_entry(one.entry)
    target = Target(who.scope, rank=services.core.highest_role(who))
    changeable = may(services, by, Permission.GRANT, target)
    return schemas.RoleGrantInfo(
        entry=one.entry,
        role=one.role,
        name=one.name,
        by=one.by,
        at=one.at,
        changeable=changeable,
        erasable=erasable_person(services, by, who),
    )


class PairingApproval(BaseModel):
    """A pairing code and the role to grant."""

    code: str = Field(min_length=1, max_length=40)
    role: schemas.GivenRole = "member"


@router.post("/access/pair")
@requires(Permission.GRANT)
async def approve_by_code(
    body: PairingApproval, request: Request, services: Services, by: By, attempts: Attempts
) -> schemas.RoleGrantInfo:
    """Approve access by pairing code and notify the person (404: no request with this code on the caller's
    accounts; 429: too many wrong codes).
    """
    _check_role(services, by, body.role)
    approve = partial(_approve, services, by, body)
    grant = await attempts.check(
        request.scope, CredentialKind.PAIRING_CODE, approve, detail=by.person, guessable=True
    )
    if grant is None:
        sees_all = accounts_with(services, by, Permission.GRANT) is None
        raise HTTPException(404, NOBODY if sees_all else f"{NOBODY} {ELSEWHERE}")
    return grant


@router.post("/access/waiting/{entry}")
@requires(Permission.GRANT)
async def approve_by_person(entry: Entry, body: NewRole, services: Services, by: By) -> schemas.RoleGrantInfo:
    """Approve the access request from `account:id` and notify the person (403: the caller is neither an owner
    nor an admin of that account; 404: no pending request).
    """
    who = parse_entry(entry)
    _check_role(services, by, body.role)
    check_scope(services, by, who)
    one = await _find_request(services, who)
    grant = await _grant_access(services, by, one, body.role) if one else None
    if grant is None:
        raise HTTPException(404, NOT_PENDING.format(who=who))
    return grant


@router.delete("/access/waiting/{entry}", status_code=204)
@requires(Permission.GRANT)
async def dismiss_request(entry: Entry, services: Services, by: By) -> None:
    """Dismiss the access request from `account:id`. The code becomes invalid; the person can ask again
    (403: the caller is neither an owner nor an admin of that account; 404: no pending request).
    """
    who = parse_entry(entry)
    check_scope(services, by, who)
    one, now = await _find_request(services, who), services.clock.now()
    actor = audit_actor(services, by)
    if one is None or not await services.db.transact(dismiss_pairing, one.code, actor, now):
        raise HTTPException(404, NOT_PENDING.format(who=who))


async def _find_request(services: ApiServices, who: AccessEntry) -> PairingRequest | None:
    found = await services.db.transact(list_pairing_requests, services.clock.now())
    return next((one for one in found if one.entry == str(who)), None)


async def _approve(
    services: ApiServices, by: Principal, body: PairingApproval
) -> schemas.RoleGrantInfo | None:
    """Approve a request by its code. Record an invalid code, and return None for it."""
    db, now = services.db, services.clock.now()
    found = await db.transact(list_pairing_requests, now, normalize_code(body.code))
    within = [one for one in found if may(services, by, Permission.GRANT, Target(one.account))]
    grant = await _grant_access(services, by, within[0], body.role) if within else None
    if grant is None:
        await db.transact(record_event, audit_actor(services, by), AuditEvent(WRONG_CODE), now)
    return grant


async def _grant_access(
    services: ApiServices, by: Principal, one: PairingRequest, role: str
) -> schemas.RoleGrantInfo | None:
    """Grant a role and notify the person. Return None if the request is no longer pending."""
    db, now = services.db, services.clock.now()
    texts = services.core.account(one.account).texts_in("", ChatKind.PRIVATE, "", one.person)
    notice = await db.transact(approve_pairing, one.code, role, texts, audit_actor(services, by), now)
    if notice is None:
        return None
    await services.core.people.load_grants()
    services.dispatcher.deliver_notice(notice)
    grants = [known for known in await db.transact(list_role_grants) if known.entry == one.entry]
    return present_grant(
        services, by, grants[0] if grants else RoleGrant(one.entry, role, one.name, by.person, now)
    )


def _check_role(services: ApiServices, by: Principal, role: str) -> None:
    """Check that the caller may grant this role to people without access. Raises 403."""
    check(services, by, Permission.GRANT, Target(by.caller.home.account, rank=Role[role.upper()]))
