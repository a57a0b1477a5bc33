"""Routes for roles, pending access requests and the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from bot.access import AccessPolicy, Role
from bot.config import AccessConfig, AccessEntry, wrong_entry
from bot.server.api import schemas
from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import NOT_YOURS, By, Principal
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import not_found
from bot.server.api.pagination import DEFAULT, Cursor, Limit, Names, parse_cursor
from bot.server.api.scope_checks import check_scope, is_in_scope
from bot.store.audit import list_audit_entries
from bot.store.people import (
    RoleGrant,
    grant_role,
    list_pairing_requests,
    list_role_grants,
    revoke_role,
)
from bot.wiring import AccountView

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
Entry = Annotated[str, Path(max_length=256, description="`platform:id`, `account:id`, `platform:kind:id`.")]
Person = Annotated[str, Query(max_length=256, description="Only events by or about this person.")]


class NewRole(BaseModel):
    """The role to grant."""

    role: schemas.GivenRole


@router.get("/access")
async def get_access(
    services: Services, by: By, limit: Limit = DEFAULT, cursor: Names = ""
) -> schemas.Access:
    """List the configured roles, the granted roles (by entry, in pages) and the access requests that the
    caller may approve.
    """
    rules, own, now = services.core.config.access, services.core.configured_accounts(), services.clock.now()
    grants = [one for one in await services.db.run(list_role_grants) if one.entry > cursor]
    return schemas.Access(
        default=rules.default,
        defaults=[
            schemas.AccountDefault(account=one.name, default=one.own_rules.default)
            for one in own
            if one.own_rules.default is not None
        ],
        configured=_configured_roles(rules, own),
        given=[present_grant(services, by, one) for one in grants[:limit]],
        next=grants[limit - 1].entry if len(grants) > limit else None,
        waiting=[
            one
            for one in await services.db.run(list_pairing_requests, now)
            if is_in_scope(services, by, one.account)
        ],
    )


@router.put("/access/{entry}")
async def put_role(entry: Entry, body: NewRole, services: Services, by: By) -> schemas.RoleGrantInfo:
    """Grant a role to a person, or access to a group or workspace (409: the configuration overrides it;
    403: this takes an owner, or an admin of every account that the entry covers).
    """
    target, role = parse_entry(entry), Role[body.role.upper()]
    _check_grant(services, by, target, role)
    _check_id(services, target)
    _check_named(services, target, role)
    if target.kind and role > Role.MEMBER:
        raise HTTPException(422, f"role: {target} can only be member or blocked, not {body.role}")
    now = services.clock.now()
    waiting = await services.db.run(list_pairing_requests, now)
    names = {known: stranger.name for stranger in waiting for known in (stranger.person, stranger.entry)}
    one = RoleGrant(str(target), body.role, names.get(str(target), ""), by.person, now)
    await services.db.run(grant_role, one, audit_actor(services, by), one.at)
    await services.core.people.load_grants()
    found = [given for given in await services.db.run(list_role_grants) if given.entry == one.entry]
    return present_grant(services, by, found[0] if found else one)


@router.delete("/access/{entry}", status_code=204)
async def delete_role(entry: Entry, services: Services, by: By) -> None:
    """Revoke a granted role (403: this takes an owner, or an admin of every account that the entry
    covers).
    """
    who = parse_entry(entry)
    _check_grant(services, by, who, Role.STRANGER)
    revoked = await services.db.run(revoke_role, str(who), audit_actor(services, by), services.clock.now())
    await services.core.people.load_grants()
    if not revoked:
        raise not_found("role")


@router.get("/audit")
async def list_audit_events(
    services: Services, person: Person = "", limit: Limit = DEFAULT, cursor: Cursor = ""
) -> schemas.Audit:
    """List audit events, newest first."""
    found = await services.db.run(list_audit_entries, parse_cursor(cursor), limit, person)
    next_cursor = str(found[-1].id) if len(found) == limit else None
    return schemas.Audit(entries=found, next=next_cursor)


def _check_grant(services: ApiServices, by: Principal, who: AccessEntry, role: Role) -> None:
    """Check that the caller may grant or revoke this role, as in the chat. Raises 403."""
    if not by.role.may_give(role, services.core.highest_role(who)):
        raise HTTPException(403, NOT_YOURS)
    check_scope(services, by, who)


def _check_id(services: ApiServices, who: AccessEntry) -> None:
    """Check that the id is valid for its platform. Raises 422."""
    states = services.core.accounts.states()
    if problem := wrong_entry(states[who.scope][0] if who.scope in states else who.scope, who):
        raise HTTPException(422, f"entry: {problem}")


def _check_named(services: ApiServices, who: AccessEntry, role: Role) -> None:
    """Check that no configured role overrides the grant on an account that it covers. Raises 409."""
    general = services.core.config.access
    own = {one.name: one.rules for one in services.core.configured_accounts() if one.is_covered_by(who)}
    for account, rules in (own or {"": general}).items():
        configured = AccessPolicy(rules).configured_role_of_entry(who)
        if configured.outranks_grant(role):
            place = (
                "" if configured is AccessPolicy(general).configured_role_of_entry(who) else f" on {account}"
            )
            reason = f"config.yaml sets {who} to {configured.name.lower()}{place}; change it there"
            raise HTTPException(409, reason)


def _configured_roles(rules: AccessConfig, own: Sequence[AccountView]) -> list[schemas.ConfiguredRole]:
    """Return the roles for all accounts, then those of each account."""
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
    """Return the accounts that an entry covers, but which have their own list instead."""
    covered = [one for one in own if key != ADDED and one.is_covered_by(entry)]
    return [one.name for one in covered if getattr(one.own_rules, key) is not None]


def parse_entry(text: str) -> AccessEntry:
    """Parse the entry in a path. Raises 422."""
    try:
        return AccessEntry.parse(text)
    except ValueError as error:
        raise HTTPException(422, f"entry: {error}") from None


def present_grant(services: ApiServices, by: Principal, one: RoleGrant) -> schemas.RoleGrantInfo:
    """Return a granted role as the API shows it to the caller."""
    who = parse_entry(one.entry)
    changeable = by.role.may_give(Role.STRANGER, services.core.highest_role(who)) and is_in_scope(
        services, by, who.scope
    )
    return schemas.RoleGrantInfo(
        entry=one.entry, role=one.role, name=one.name, by=one.by, at=one.at, changeable=changeable
    )
