"""API tokens: named secrets with a scope and an expiry time. Only hashes of the secrets are stored."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain import API_TOKENS
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Connection, sql
from bot.store.people import RoleGrant, grant_role, revoke_role

CREATED, REVOKED = "API token created", "API token revoked"
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class ApiToken:
    """An API token; times are in seconds since the epoch, `used_at` is 0 if it was never used. `role` is the
    role that is granted to it ("" for none).
    """

    name: str
    scope: str
    by: str
    created_at: float
    expires_at: float
    used_at: float = 0.0
    role: str = ""

    @property
    def person(self) -> str:
        """Return the author of the token's actions, as `platform:id`."""
        return f"{API_TOKENS}:{self.name}"


# Store a token, unless one has its name.
ADD_TOKEN = sql(
    """INSERT INTO api_tokens (name, hash, scope, given_by, given_at, expires_at)
    VALUES (:name, :hash, :scope, :by, :now, :expires_at) ON CONFLICT (name) DO NOTHING RETURNING name"""
)
SELECT_TOKENS = f"""SELECT name, scope, given_by, given_at, expires_at, used_at, COALESCE((SELECT role
    FROM roles WHERE entry = '{API_TOKENS}:' || api_tokens.name), '') FROM api_tokens"""
FIND_TOKEN = sql(f"{SELECT_TOKENS} WHERE hash = :hash AND expires_at > :now")
LIST_TOKENS = sql(f"{SELECT_TOKENS} ORDER BY name")
SET_USED = sql("UPDATE api_tokens SET used_at = :now WHERE hash = :hash AND used_at <= :before")
DELETE_TOKEN = sql("DELETE FROM api_tokens WHERE name = :name RETURNING scope")
# Revoke the roles of expired tokens.
EXPIRE_ROLES = sql(
    f"""DELETE FROM roles WHERE entry IN (SELECT '{API_TOKENS}:' || name FROM api_tokens
    WHERE expires_at <= :now) RETURNING entry"""
)


def add_token(connection: Connection, one: ApiToken, hashed: str, actor: Actor) -> bool:
    """Store a token and grant its role. Return False if the name is in use."""
    values = {"name": one.name, "hash": hashed, "scope": one.scope, "by": one.by, "now": one.created_at}
    if connection.execute(ADD_TOKEN, {**values, "expires_at": one.expires_at}).first() is None:
        return False
    if one.role:
        grant = RoleGrant(one.person, one.role, one.name, one.by, one.created_at)
        grant_role(connection, grant, _about_role(actor), one.created_at)
    record_event(connection, actor, AuditEvent(CREATED, one.person, one.scope), one.created_at)
    return True


def find_token(connection: Connection, hashed: str, now: float) -> ApiToken | None:
    """Return a valid token by its hash, and record its use, at most once a minute."""
    row = connection.execute(FIND_TOKEN, {"hash": hashed, "now": now}).first()
    if row is None:
        return None
    if row.used_at <= now - MINUTE:
        connection.execute(SET_USED, {"hash": hashed, "now": now, "before": now - MINUTE})
    return ApiToken(*row)


def list_tokens(connection: Connection) -> list[ApiToken]:
    """Return all tokens by name, including expired ones."""
    return [ApiToken(*row) for row in connection.execute(LIST_TOKENS).all()]


def revoke_token(connection: Connection, name: str, actor: Actor, now: float) -> bool:
    """Delete a token and its role. Return False if there is none."""
    row = connection.execute(DELETE_TOKEN, {"name": name}).first()
    if row is None:
        return False
    person = f"{API_TOKENS}:{name}"
    revoke_role(connection, person, _about_role(actor), now)
    record_event(connection, actor, AuditEvent(REVOKED, person, row.scope), now)
    return True


def expire_roles(connection: Connection, now: float) -> int:
    """Revoke the roles of expired tokens, which end their schedules. Return their number."""
    return len(connection.execute(EXPIRE_ROLES, {"now": now}).all())


def _about_role(actor: Actor) -> Actor:
    return Actor(f"{actor.key} role", actor.person, actor.name, actor.account, actor.chat)
