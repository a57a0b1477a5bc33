"""People whose data a caller may export and erase."""

from __future__ import annotations

from fastapi import HTTPException

from bot.access import Permission, Role, Target
from bot.config import AccessEntry, wrong_person
from bot.config.platforms import known_platforms
from bot.domain import DIRECT_PLATFORMS
from bot.server.api.auth import NOT_YOURS, Principal, may
from bot.server.api.dependencies import ApiServices
from bot.server.api.errors import not_found
from bot.store.person_data import PersonKey


def erasable_person(services: ApiServices, by: Principal, entry: AccessEntry) -> str:
    """Return the person in an access entry (`platform:id`) if the caller may export and erase their data;
    otherwise "".
    """
    states = services.core.accounts.states()
    platform = states[entry.scope][0] if entry.scope in states else entry.scope
    try:
        return "" if entry.kind else str(parse_person(services, by, f"{platform}:{entry.id}"))
    except HTTPException:
        return ""


def parse_person(services: ApiServices, by: Principal, text: str) -> PersonKey:
    """Parse `platform:id`, checking the caller's access. Raises 403, 404 and 422."""
    platform, _, id_ = text.partition(":")
    if not platform or not id_:
        raise HTTPException(422, "person: expected platform:id")
    if not may(services, by, Permission.PERSONAL_DATA, Target(platform, own=text == by.person)):
        raise not_found("person") if by.role < Role.ADMIN else HTTPException(403, NOT_YOURS)
    if text != by.person:
        _check_person(services, by, AccessEntry(platform, id_))
    return PersonKey(platform, id_)


def _check_person(services: ApiServices, by: Principal, who: AccessEntry) -> None:
    """Check that the caller may access the person's data. Raises 403, 404 and, for an invalid id, 422.

    An impossible id is rejected, because success would suggest that data was erased.
    """
    target = Target(who.scope, rank=services.core.highest_role(who))
    if not may(services, by, Permission.PERSONAL_DATA, target):
        raise HTTPException(403, NOT_YOURS)
    running = (platform for platform, _ in services.core.accounts.states().values())
    known = {*known_platforms(), *DIRECT_PLATFORMS, *running}
    if who.scope not in known:
        expected = ", ".join(sorted(known))
        raise HTTPException(422, f"person: unknown platform {who.scope}; expected one of {expected}")
    if problem := wrong_person(who.scope, who):
        raise HTTPException(422, f"person: {problem}")
