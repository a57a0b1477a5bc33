"""API tokens of programs: authentication, and routes for owners."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from fastapi import APIRouter, HTTPException, Path
from pydantic import BaseModel, ConfigDict, Field

from bot.access import Permission, Role
from bot.access.one_time_codes import create_secret, hash_secret
from bot.domain import API_TOKENS, Sender
from bot.server.api import schemas
from bot.server.api.auth import AuthMethod, By, Principal, audit_actor, requires
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import not_found
from bot.store.api_tokens import ApiToken, add_token, expire_roles, find_token, list_tokens, revoke_token

PREFIX = b"roebot_"
"""Begins each token, so that scanners for leaked secrets can recognize it."""
DAY = 24 * 3600.0
MOST_DAYS = 366
NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
Name = Annotated[str, Path(max_length=64, description="The token's name.")]


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """What a scope allows: a role on all accounts, limited to the permissions in `only` (None: no limit)."""

    role: Role
    only: frozenset[Permission] | None = None


READING = frozenset(
    {
        *(Permission.USE, Permission.DIGESTS, Permission.USAGE, Permission.READ, Permission.AUDIT),
        *(Permission.ACCOUNTS, Permission.INSPECT, Permission.HEALTH),
    }
)
SCOPES = MappingProxyType(
    {
        "read": ScopeRule(Role.ADMIN, READING),
        "turns": ScopeRule(Role.MEMBER),
        "admin": ScopeRule(Role.ADMIN),
    }
)
"""`read` only allows GET requests, so it needs no role in chats; the others have theirs as a granted role."""


async def find_token_caller(services: ApiServices, hashed: str) -> Principal | None:
    """Return the caller for a token's hash, or None if it has expired or was revoked, or its role was."""
    one = await services.db.transact(find_token, hashed, services.clock.now())
    if one is None or one.scope not in SCOPES:
        return None
    rule, sender = SCOPES[one.scope], Sender(one.person, one.name, account=API_TOKENS)
    # As stored: another process may have granted or revoked the role a moment ago.
    granted = Role[one.role.upper()] if one.role else Role.STRANGER
    role = rule.role if rule.only else min(rule.role, granted)
    if role < Role.MEMBER:
        return None
    return Principal(role, AuthMethod.API_TOKEN, sender, hashed, only=rule.only)


async def revoke_expired_roles(services: ApiServices) -> None:
    """Revoke the roles of expired tokens, so that what they scheduled ends, too."""
    if await services.db.transact(expire_roles, services.clock.now()):
        await services.core.people.load_grants()


class NewToken(BaseModel):
    """A token to create."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(pattern=f"^{NAME}$")
    scope: Literal["read", "turns", "admin"] = Field(
        description="read: GET requests, as an admin of all accounts; turns: like a member, with its own "
        "conversations; admin: like an admin of all accounts."
    )
    expires_days: int = Field(ge=1, le=MOST_DAYS, description="Lifetime in days.")


router = APIRouter(prefix="/api/tokens", tags=["tokens"])


@router.get("")
@requires(Permission.TOKENS)
async def get_tokens(services: Services) -> list[ApiToken]:
    """List the API tokens, including expired ones, by name."""
    return await services.db.transact(list_tokens)


@router.post("", status_code=201)
@requires(Permission.TOKENS)
async def create_token(body: NewToken, services: Services, by: By) -> schemas.CreatedApiToken:
    """Create an API token for a program, and return it; it can't be shown again. 409: the name is in use."""
    secret, now, rule = PREFIX.decode() + create_secret(), services.clock.now(), SCOPES[body.scope]
    role = "" if rule.only else rule.role.name.lower()
    one = ApiToken(body.name, body.scope, by.person, now, now + body.expires_days * DAY, role=role)
    if not await services.db.transact(add_token, one, hash_secret(secret), audit_actor(services, by)):
        raise HTTPException(409, f"name: {body.name} is in use; revoke that token first")
    await services.core.people.load_grants()
    return schemas.CreatedApiToken(token=secret, expires_at=one.expires_at)


@router.delete("/{name}", status_code=204)
@requires(Permission.TOKENS)
async def delete_token(name: Name, services: Services, by: By) -> None:
    """Revoke an API token. It stops working at once."""
    revoked = await services.db.transact(revoke_token, name, audit_actor(services, by), services.clock.now())
    await services.core.people.load_grants()
    if not revoked:
        raise not_found("token")
