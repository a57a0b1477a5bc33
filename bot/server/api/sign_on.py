"""Routes of the sign-on by `server.oidc`."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bot.access import Role
from bot.access.one_time_codes import CODE_LASTS, create_secret
from bot.errors import SignOnError, StartError
from bot.server.api.auth import open_to
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import not_found
from bot.server.api.sessions import COOKIE, PERSON_COOKIE, SIGN_ON_LASTS
from bot.server.api.sign_in import Linked, is_secure, session_response

if TYPE_CHECKING:
    from bot.server.api.identity_provider import IdentityProvider

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/api/session/oidc", tags=["session"])
PENDING = "roebot_sign_on"
# Cookies with SameSite=Strict are not sent after a redirect from another site, so a page of our own leads on.
_DONE = '<meta http-equiv="refresh" content="0; url=/">'
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    '<title>Roebot</title>{head}<p>{text}</p><p><a href="/">{link}</a></p></html>'
)
NO_ACCESS = (
    "You are signed in at the identity provider as {name}, but none of your groups has access here. Ask an "
    "admin to add one to server.oidc.roles, or an owner to grant a role to {person}."
)


def make_provider(services: ApiServices) -> IdentityProvider | None:
    """Return the provider of `server.oidc`, or None. Raises StartError if something is missing."""
    if services.server.oidc is None:
        return None
    if services.server.public_url is None and not services.server.is_loopback:
        raise StartError("server.oidc needs server.public_url, to which the provider redirects browsers")
    try:
        from bot.server.api.identity_provider import IdentityProvider
    except ImportError as error:
        raise StartError("server.oidc needs the package authlib: pip install 'roebot[oidc]'") from error
    return IdentityProvider(services.server.oidc, services.clock)


def _provider_of(request: Request) -> IdentityProvider:
    found: IdentityProvider | None = request.app.state.identity_provider
    if found is None:
        raise not_found("sign-on")
    return found


@router.get("", response_class=RedirectResponse, status_code=303)
@open_to(Role.BLOCKED)
async def start_sign_on(request: Request, services: Services) -> Response:
    """Redirect the browser to the identity provider of `server.oidc`. 404: none is configured; 502: it does
    not respond.
    """
    secret = create_secret()
    try:
        url = await _provider_of(request).start(secret, _redirect_uri(services))
    except SignOnError as error:
        return _page(str(error), 502)
    response = RedirectResponse(url, 303, {"cache-control": "no-store"})
    # Lax, since the provider's answer comes from another site.
    lasts, secure = int(CODE_LASTS), is_secure(request)
    response.set_cookie(
        PENDING, secret, lasts, path=router.prefix, httponly=True, samesite="lax", secure=secure
    )
    return response


@router.get("/callback", response_class=HTMLResponse)
@open_to(Role.BLOCKED)
async def complete_sign_on(request: Request, services: Services, known: Linked) -> Response:
    """Open a session with the answer of the identity provider. 400: it is not valid; 403: the person has no
    access; 404: no provider is configured.
    """
    provider, secret = _provider_of(request), request.cookies.get(PENDING, "")
    try:
        sender = await provider.finish(request.query_params, secret, _redirect_uri(services))
    except SignOnError as error:
        log.warning("sign_on_failed", problem=str(error), cause=str(error.__cause__ or ""))
        return _page(str(error), 400)
    key = await known.open_sign_on_session(sender)
    if key is None:
        return _page(NO_ACCESS.format(name=sender.name, person=sender.id), 403)
    response = _page("You are signed in.", 200, _DONE)
    return session_response(request, PERSON_COOKIE, key, SIGN_ON_LASTS, COOKIE, response)


def _redirect_uri(services: ApiServices) -> str:
    core = services.core
    return f"{core.console_url or core.address}{router.prefix}/callback"


def _page(text: str, status: int, head: str = "") -> Response:
    link = "Continue" if head else "Back to the sign-in page"
    page = _PAGE.format(head=head, text=escape(text), link=link)
    response = HTMLResponse(page, status, {"cache-control": "no-store"})
    response.delete_cookie(PENDING, path=router.prefix, httponly=True, samesite="lax")
    return response
