"""Routes to sign in with the token or with the code from a link, and to sign out.

The link's code is in the fragment of the URL, which no request, log or referrer contains. The store has only
its hash, and the transcript, which admins can read, a sentence in its place. If somebody is signed in
already, the console asks first: a link of another person would make them write in that person's name.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, Self

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent.shared.client_address import client_of
from bot.access import Permission, Role
from bot.access.one_time_codes import CODE_LASTS, OWNER_SESSION_LASTS, SESSION_LASTS
from bot.server.api import schemas
from bot.server.api.auth import FOR_OWNERS, AuthMethod, By, audit_actor, find_caller, open_to, requires
from bot.server.api.credential_attempts import Attempts, CredentialAttempts, CredentialKind
from bot.server.api.dependencies import Services
from bot.server.api.sessions import (
    COOKIE,
    PERSON_COOKIE,
    WRONG_TOKEN,
    LinkSessions,
    TokenSessions,
    create_owner_link,
)
from bot.store.audit import AuditEvent, record_event
from bot.store.web_sessions import SIGNED_OUT


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


async def sessions_of(request: Request) -> TokenSessions:
    """Return the token sessions of a request's application."""
    found: TokenSessions = request.app.state.sessions
    return found


async def links_of(request: Request) -> LinkSessions:
    """Return the sign-in links of a request's application."""
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
    30 days for the owner, 7 days for others). 401: the token is wrong, or the link has expired or was
    already used; 403: the person lost access; 429: too many attempts.
    """
    if body.code is not None:
        return await _sign_in_by_code(body.code, request, attempts, known)
    sent = (body.token or "").encode("utf-8", "surrogatepass")
    if not await sessions.check_token(request.scope, [sent], attempts):
        raise HTTPException(401, WRONG_TOKEN)
    return session_response(
        request,
        COOKIE,
        await known.open_owner_session(),
        OWNER_SESSION_LASTS,
        PERSON_COOKIE,
    )


@router.delete("", status_code=204)
@open_to(Role.BLOCKED)
async def sign_out(request: Request, services: Services, known: Linked) -> Response:
    """Sign out: end the session, wherever its cookie has been copied to, and delete the cookies."""
    for name in (COOKIE, PERSON_COOKIE):
        if key := request.cookies.get(name):
            await known.end_session(key)
    by = find_caller(request)
    if by is not None and by.session and by.how is not AuthMethod.API_TOKEN:
        await services.db.transact(
            record_event, audit_actor(services, by), AuditEvent(SIGNED_OUT), services.clock.now()
        )
    response = Response(status_code=204)
    for name in (COOKIE, PERSON_COOKIE):
        response.delete_cookie(name, httponly=True, samesite="strict")
    return response


class LanguageChoice(BaseModel):
    """The language of the service's texts for the caller; "" for that of their app."""

    model_config = ConfigDict(extra="forbid")
    language: Literal["en", "zh", ""]


@router.put("/language", status_code=204)
@open_to(Role.MEMBER)
async def choose_language(body: LanguageChoice, services: Services, by: By) -> None:
    """Set the caller's language for the console and the bot's texts, as `/language` does."""
    await services.core.languages.set_language(by.person, body.language)
    event = AuditEvent("command", "/language", body.language)
    await services.db.transact(record_event, audit_actor(services, by), event, services.clock.now())


@router.post("/links", status_code=201)
@requires(Permission.PROGRAMS)
async def create_link(services: Services, by: By) -> schemas.SignInLink:
    """Create a single-use link that signs in the owner. Only they and holders of the token may do so."""
    if not by.is_local_owner:
        raise HTTPException(403, FOR_OWNERS)
    core, now = services.core, services.clock.now()
    address = core.console_url or core.address
    url = await create_owner_link(services.db, services.token.value, address, now, core.new_id())
    return schemas.SignInLink(url=url, expires_at=now + CODE_LASTS)


async def _sign_in_by_code(
    code: str, request: Request, attempts: CredentialAttempts, known: LinkSessions
) -> Response:
    found = await attempts.check(request.scope, CredentialKind.LINK, partial(known.redeem, code))
    if found is None:
        raise HTTPException(
            401,
            "This link has expired or was already used. To get a new one, send the command `page` to the "
            "bot, or run `roebot link` on the machine that runs the service.",
        )
    key, caller = found
    if caller.is_local_owner:
        return session_response(request, COOKIE, key, OWNER_SESSION_LASTS, PERSON_COOKIE)
    if caller.role < Role.MEMBER:
        raise HTTPException(403, "You no longer have access to the bot.")
    return session_response(request, PERSON_COOKIE, key, SESSION_LASTS, COOKIE)


def session_response(
    request: Request, name: str, value: str, lasts: int, other: str, response: Response | None = None
) -> Response:
    """Return the response, by default an empty one, with the cookie of a session and without the other
    one.
    """
    response, secure = response or Response(status_code=204), is_secure(request)
    response.set_cookie(name, value, max_age=lasts, httponly=True, samesite="strict", secure=secure)
    response.delete_cookie(other, httponly=True, samesite="strict")
    return response


def is_secure(request: Request) -> bool:
    """Return whether the browser uses https."""
    host, secure = request.headers.get("host", "").lower(), client_of(request.scope).is_secure
    public = request.app.state.services.server.public_url or ""
    return secure or public.lower().rstrip("/") == f"https://{host}"
