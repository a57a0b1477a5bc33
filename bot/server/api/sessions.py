"""Web console sessions, sign-in links, and token checks."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import Scope

from agent.shared.live_token import LiveToken
from bot.access import Role
from bot.access.one_time_codes import (
    CODE_LASTS,
    OWNER_SESSION_LASTS,
    SESSION_LASTS,
    create_secret,
    hash_owner_secret,
    hash_secret,
)
from bot.domain import SIGN_ON, Sender, person_of
from bot.server.api.api_tokens import find_token_caller
from bot.server.api.auth import HERE, WEB, AuthMethod, Principal, audit_actor
from bot.server.api.credential_attempts import CredentialAttempts, CredentialKind
from bot.server.api.dependencies import ApiServices
from bot.store import Database
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.web_sessions import (
    SecretHash,
    create_owner_code,
    end_session,
    load_session,
    open_session,
    redeem_sign_in_code,
)

SIGN_ON_LASTS = 12 * 3600
"""Lifetime of a session by `server.oidc` (s); its groups are those of the sign-in."""
COOKIE = "roebot_session"
"""Cookie of the owner's session."""
PERSON_COOKIE = "roebot_person"
"""Cookie of the session of a person who came by a link."""
NO_ACCESS = "sign-in refused"
WRONG_TOKEN = "Wrong token. `roebot token` prints the right one."  # noqa: S105


class LinkSessions:
    """Console sessions of people who signed in by a link, and of the service owner.

    A cookie is the random key of a row. A person's role is looked up for each request, so a revoked role
    takes effect at once; the owner's rows are bound to the token, so a new token ends them.
    """

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    async def redeem(self, code: str) -> tuple[str, Principal] | None:
        """Exchange a code for a new session. Return its key and the caller, or None if the code has expired
        or was already used.
        """
        services, key = self._services, create_secret()
        now, event = services.clock.now(), f"sign in:{services.core.new_id()}"
        owners = SecretHash(self._hash_owner(key), now + OWNER_SESSION_LASTS)
        if (
            await services.db.transact(redeem_sign_in_code, self._hash_owner(code), owners, event, now)
            is not None
        ):
            return key, self._owner(owners.hash)
        session = SecretHash(hash_secret(key), now + SESSION_LASTS)
        sender = await services.db.transact(redeem_sign_in_code, hash_secret(code), session, event, now)
        if sender is None:
            return None
        caller = Principal(services.core.role_on_home_account(sender), AuthMethod.LINK, sender, session.hash)
        if caller.role < Role.MEMBER:
            await services.db.transact(end_session, session.hash)
        return key, caller

    async def open_owner_session(self) -> str:
        """Open a session for the owner, who has authenticated with the token, and return its key."""
        services, key = self._services, create_secret()
        now = services.clock.now()
        session = SecretHash(self._hash_owner(key), now + OWNER_SESSION_LASTS)
        actor = audit_actor(services, self._owner())
        await services.db.transact(open_session, session, actor, HERE, now)
        return key

    async def open_sign_on_session(self, sender: Sender) -> str | None:
        """Open a session for a person who signed in by `server.oidc`, and return its key. Return None if they
        have no access, and record that.
        """
        services, key = self._services, create_secret()
        now, role = services.clock.now(), services.core.role_on_home_account(sender)
        actor = audit_actor(services, Principal(role, AuthMethod.OIDC, sender))
        if role < Role.MEMBER:
            await services.db.transact(record_event, actor, AuditEvent(NO_ACCESS), now)
            return None
        session = SecretHash(hash_secret(key), now + SIGN_ON_LASTS)
        await services.db.transact(open_session, session, actor, sender, now)
        return key

    async def load_caller(self, key: str) -> Principal | None:
        """Return the person with this session key, or None if the session or their access has ended."""
        return await self._load_person(hash_secret(key))

    async def check_api_token(
        self, scope: Scope, sent: bytes, attempts: CredentialAttempts
    ) -> Principal | None:
        """Return the caller for an API token, or None if it is invalid. Raises TooManyAttempts."""
        hashed = hash_secret(sent.decode("latin-1"))

        async def find() -> Principal | None:
            return await find_token_caller(self._services, hashed)

        return await attempts.check(scope, CredentialKind.TOKEN, find)

    async def load_owner(self, key: str) -> Principal | None:
        """Return the owner if the key belongs to one of their sessions."""
        return await self._load_owner(self._hash_owner(key))

    async def refresh_caller(self, caller: Principal) -> Principal | None:
        """Return the caller with their current role, or None if they have lost access."""
        if caller.is_local_owner and caller.generation != self._services.token.generation:
            return None
        if not caller.session:
            return caller
        if caller.how is AuthMethod.API_TOKEN:
            return await find_token_caller(self._services, caller.session)
        load = self._load_owner if caller.is_local_owner else self._load_person
        return await load(caller.session)

    async def end_session(self, key: str) -> None:
        """End a session."""
        for hashed in (hash_secret(key), self._hash_owner(key)):
            await self._services.db.transact(end_session, hashed)

    def _hash_owner(self, secret: str) -> str:
        return hash_owner_secret(self._services.token.value, secret)

    def _owner(self, hashed: str = "") -> Principal:
        generation = self._services.token.generation
        return Principal(Role.OWNER, AuthMethod.TOKEN, session=hashed, generation=generation)

    async def _load_owner(self, hashed: str) -> Principal | None:
        services = self._services
        sender = await services.db.transact(load_session, hashed, services.clock.now())
        return self._owner(hashed) if sender == HERE else None

    async def _load_person(self, hashed: str) -> Principal | None:
        services = self._services
        sender = await services.db.transact(load_session, hashed, services.clock.now())
        if sender is None:
            return None
        role = services.core.role_on_home_account(sender)
        how = AuthMethod.OIDC if sender.account == SIGN_ON else AuthMethod.LINK
        return Principal(role, how, sender, hashed) if role >= Role.MEMBER else None


async def create_owner_link(db: Database, token: str, address: str, now: float, new_id: str) -> str:
    """Return a single-use link that signs in the service owner, replacing an earlier one."""
    code = create_secret()
    actor = Actor(f"owner link:{new_id}", person_of(WEB, HERE), HERE.name, WEB, "")
    stored = SecretHash(hash_owner_secret(token, code), now + CODE_LASTS)
    await db.transact(create_owner_code, stored, actor, HERE, now)
    return f"{address}/#code={code}"


class TokenSessions:
    """Checks of the service token."""

    def __init__(self, token: LiveToken) -> None:
        self._token = token

    @property
    def owner(self) -> Principal:
        """Return the caller for the token."""
        return Principal(Role.OWNER, AuthMethod.TOKEN, generation=self._token.generation)

    def is_token(self, value: bytes) -> bool:
        """Return whether a value is the token."""
        return self._token.matches(value)

    async def check_token(self, scope: Scope, sent: Sequence[bytes], attempts: CredentialAttempts) -> bool:
        """Return whether any of the values is the token. Raises TooManyAttempts."""

        async def find() -> bool | None:
            return any(map(self.is_token, sent)) or None

        kind = CredentialKind.TOKEN
        return bool(await attempts.check(scope, kind, find, guessable=self._token.is_weak))
