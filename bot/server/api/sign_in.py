"""Sign in with a token or with the code from a link, and issue session cookies."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Self

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.types import Scope

from agent.shared.client_address import client_of
from agent.shared.live_token import LiveToken
from bot.access import Role
from bot.access.one_time_codes import SESSION_LASTS, create_secret, hash_secret
from bot.clock import Clock
from bot.server.api import schemas
from bot.server.api.auth import AuthMethod, By, Principal, audit_actor, find_caller, open_to
from bot.server.api.credential_attempts import Attempts, CredentialAttempts, CredentialKind
from bot.server.api.dependencies import ApiServices, Services
from bot.store.audit import AuditEvent, record_event
from bot.store.web_sessions import SIGNED_OUT, SecretHash, end_session, load_session, redeem_sign_in_code

PERSON_COOKIE = "roebot_person"


class LinkSessions:
    """Personal sessions created with sign-in links. The role is looked up for each request, so a revoked role
    takes effect at once.
    """

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    async def redeem(self, code: str) -> tuple[str, Principal] | None:
        """Exchange a code for a new session. Return its key and the caller, or None if the code is expired or
        used.
        """
        services, key = self._services, create_secret()
        now, hashed = services.clock.now(), hash_secret(key)
        session = SecretHash(hashed, now + SESSION_LASTS)
        sender = await services.db.run(
            redeem_sign_in_code, hash_secret(code), session, f"sign in:{services.core.new_id()}", now
        )
        if sender is None:
            return None
        caller = Principal(services.core.role_on_home_account(sender), AuthMethod.LINK, sender, hashed)
        if caller.role < Role.MEMBER:
            await services.db.run(end_session, hashed)
        return key, caller

    async def load_caller(self, key: str) -> Principal | None:
        """Return the caller with this session key, or None if the session has ended or the person lost
        access.
        """
        return await self._load_caller(hash_secret(key))

    async def refresh_caller(self, caller: Principal) -> Principal | None:
        """Return the caller with their current role, or None if they lost access."""
        return await self._load_caller(caller.session) if caller.session else caller

    async def end_session(self, key: str) -> None:
        """End a session."""
        await self._services.db.run(end_session, hash_secret(key))

    async def _load_caller(self, hashed: str) -> Principal | None:
        services = self._services
        sender = await services.db.run(load_session, hashed, services.clock.now())
        if sender is None:
            return None
        role = services.core.role_on_home_account(sender)
        return Principal(role, AuthMethod.LINK, sender, hashed) if role >= Role.MEMBER else None


COOKIE = "roebot_session"
LASTS = 30 * 24 * 3600


class TokenSessions:
    """Check tokens and cookies without stored state. A cookie contains its expiry and a signature made with
    the token, so changing the token ends all sessions.
    """

    def __init__(self, token: LiveToken, clock: Clock) -> None:
        self._token = token
        self._clock = clock

    def is_token(self, value: bytes) -> bool:
        """Return whether this is the token."""
        return self._token.matches(value)

    async def check_token(self, scope: Scope, sent: Sequence[bytes], attempts: CredentialAttempts) -> bool:
        """Return whether one of these is the token. Raises TooManyAttempts."""

        async def find() -> bool | None:
            return any(map(self.is_token, sent)) or None

        kind = CredentialKind.TOKEN
        return bool(await attempts.check(scope, kind, find, guessable=self._token.is_weak))

    def is_valid_cookie(self, value: str) -> bool:
        """Return whether a cookie is valid and not expired."""
        expiry, _, _ = value.partition(".")
        if not expiry.isdecimal() or not value.isascii() or int(expiry) < self._clock.now():
            return False
        return hmac.compare_digest(value, self._cookie(int(expiry)))

    def issue_cookie(self) -> str:
        """Return a new cookie."""
        return self._cookie(int(self._clock.now()) + LASTS)

    def _cookie(self, expiry: int) -> str:
        key = hashlib.sha256(b"roebot session\0" + self._token.value.encode()).digest()
        return f"{expiry}.{hmac.new(key, str(expiry).encode(), hashlib.sha256).hexdigest()}"


class SignIn(BaseModel):
    """The service token, or the code from a sign-in link."""

    model_config = ConfigDict(extra="forbid")
    token: str | None = Field(None, max_length=4096)
    code: str | None = Field(None, max_length=200)

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.token is None) is (self.code is None):
            raise ValueError("expected either token or code")
        return self


def sessions_of(request: Request) -> TokenSessions:
    """Return the sessions of the application that handles a request."""
    found: TokenSessions = request.app.state.sessions
    return found


def links_of(request: Request) -> LinkSessions:
    """Return the sign-in links of the application that handles a request."""
    found: LinkSessions = request.app.state.links
    return found


router = APIRouter(prefix="/api/session", tags=["session"])
Known = Annotated[TokenSessions, Depends(sessions_of)]
Linked = Annotated[LinkSessions, Depends(links_of)]


@router.get("")
@open_to(Role.MEMBER)
async def get_session(by: By) -> schemas.SignedIn:
    """Return the signed-in caller, with their role and sign-in method."""
    return schemas.SignedIn(
        person=by.person, name=by.sender.name, role=by.role.name.lower(), how=by.how, account=by.account
    )


@router.post("", status_code=204)
@open_to(Role.BLOCKED)
async def sign_in(
    body: SignIn, request: Request, sessions: Known, known: Linked, attempts: Attempts
) -> Response:
    """Exchange the token, or the code from a sign-in link, for a cookie (HttpOnly, SameSite=Strict; valid for
    30 days with the token, 7 days with a link). 401: the token is wrong, or the link has expired or was
    already used; 403: the person lost access; 429: too many attempts.
    """
    if body.code is not None:
        return await _sign_in_by_code(body.code, request, attempts, known)
    sent = (body.token or "").encode("utf-8", "surrogatepass")
    if not await sessions.check_token(request.scope, [sent], attempts):
        raise HTTPException(401, "Wrong token. `roebot token` prints the right one.")
    return _cookie_response(request, COOKIE, sessions.issue_cookie(), LASTS, PERSON_COOKIE)


@router.delete("", status_code=204)
@open_to(Role.BLOCKED)
async def sign_out(request: Request, services: Services, known: Linked) -> Response:
    """Sign out: end a person's session and delete the cookies."""
    if key := request.cookies.get(PERSON_COOKIE):
        await known.end_session(key)
    by = find_caller(request)
    if by is not None and by.session:
        await services.db.run(
            record_event, audit_actor(services, by), AuditEvent(SIGNED_OUT), services.clock.now()
        )
    response = Response(status_code=204)
    for name in (COOKIE, PERSON_COOKIE):
        response.delete_cookie(name, httponly=True, samesite="strict")
    return response


async def _sign_in_by_code(
    code: str, request: Request, attempts: CredentialAttempts, known: LinkSessions
) -> Response:
    found = await attempts.check(request.scope, CredentialKind.LINK, partial(known.redeem, code))
    if found is None:
        raise HTTPException(
            401,
            "This link has expired or was already used. To get a new one, send the command page to the bot.",
        )
    key, caller = found
    if caller.role < Role.MEMBER:
        raise HTTPException(403, "You no longer have access to the bot.")
    return _cookie_response(request, PERSON_COOKIE, key, SESSION_LASTS, COOKIE)


def _cookie_response(request: Request, name: str, value: str, lasts: int, other: str) -> Response:
    """Return a response that sets one cookie and deletes the other."""
    response = Response(status_code=204)
    host, secure = request.headers.get("host", "").lower(), client_of(request.scope).is_secure
    public = request.app.state.services.server.public_url or ""
    secure = secure or public.lower().rstrip("/") == f"https://{host}"
    response.set_cookie(name, value, max_age=lasts, httponly=True, samesite="strict", secure=secure)
    response.delete_cookie(other, httponly=True, samesite="strict")
    return response
