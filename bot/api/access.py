"""Who may use the bot, who waits to be let in, and who did what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Query
from pydantic import BaseModel

from bot.access import AccessPolicy, Role
from bot.api import shapes
from bot.api.failures import missing
from bot.api.paging import DEFAULT, Cursor, Limit, before
from bot.api.services import ApiServices, Services
from bot.config import AccessEntry
from bot.store.audit import Actor, AuditEntry
from bot.store.people import Given

# Whoever has the service's token, or sits at its machine, is its owner.
OWNER = "web:owner"
router = APIRouter(prefix="/api", tags=["access"])

Entry = Annotated[str, Path(max_length=256, description="`platform:id`, `account:id`, `platform:kind:id`.")]
Person = Annotated[str, Query(max_length=256, description="Only what was done by or to this person.")]


class NewRole(BaseModel):
    """The role that somebody gets."""

    role: shapes.GivenRole


@router.get("/access")
async def show(services: Services) -> shapes.Access:
    """The roles that the configuration names, those that people gave, and who waits with a code."""
    rules, now = services.access(), services.clock.now()
    lists = (
        (rules.owners, "owner"),
        (rules.admins, "admin"),
        (rules.members, "member"),
        (rules.groups, "member"),
        (rules.blocked, "blocked"),
    )
    return shapes.Access(
        default=rules.default,
        configured=[
            shapes.Configured(entry=str(entry), role=role) for entries, role in lists for entry in entries
        ],
        given=[_given(one) for one in await services.store.given()],
        waiting=[
            shapes.Waiting(account=one.account, person=one.person, name=one.name, expires_at=one.expires_at)
            for one in await services.store.waiting(now)
        ],
    )


@router.put("/access/{entry}")
async def give(entry: Entry, body: NewRole, services: Services) -> shapes.Given:
    """Give a role to a person, or let a group, workspace or the like in (409 where the configuration says
    otherwise).
    """
    who, role = _entry(entry), Role[body.role.upper()]
    named = AccessPolicy(services.access()).named(who)
    if named.overrules(role):
        raise HTTPException(409, f"{who} is {named.name.lower()} by config.yaml; change that there")
    if who.kind and role > Role.MEMBER:
        raise HTTPException(422, f"role: everybody of {who} can be member or blocked, not {body.role}")
    one = Given(str(who), body.role, "", OWNER, services.clock.now())
    await services.store.give(one, _actor(services), one.at)
    await services.people.load()
    found = [given for given in await services.store.given() if given.entry == one.entry]
    return _given(found[0] if found else one)


@router.delete("/access/{entry}", status_code=204)
async def take(entry: Entry, services: Services) -> None:
    """Take a role back that was given."""
    taken = await services.store.take(str(_entry(entry)), _actor(services), services.clock.now())
    await services.people.load()
    if not taken:
        raise missing("role")


@router.get("/audit")
async def audit(
    services: Services, person: Person = "", limit: Limit = DEFAULT, cursor: Cursor = ""
) -> shapes.Audit:
    """Who did what, newest first."""
    found = await services.store.audit(before(cursor), limit, person)
    following = str(found[-1].id) if len(found) == limit else None
    return shapes.Audit(entries=[_deed(one) for one in found], next=following)


def _entry(text: str) -> AccessEntry:
    try:
        return AccessEntry.parse(text)
    except ValueError as error:
        raise HTTPException(422, f"entry: {error}") from None


def _actor(services: ApiServices) -> Actor:
    return Actor(f"api:{services.new_id()}", OWNER, "", "web", "")


def _given(one: Given) -> shapes.Given:
    return shapes.Given(entry=one.entry, role=one.role, name=one.name, by=one.by, at=one.at)


def _deed(one: AuditEntry) -> shapes.Deed:
    return shapes.Deed(
        id=one.id,
        at=one.at,
        person=one.person,
        name=one.name,
        account=one.account,
        chat=one.chat,
        action=one.deed.action,
        subject=one.deed.subject,
        detail=one.deed.detail,
    )
