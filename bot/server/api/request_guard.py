"""Guard of the public port: known hosts, same origin, body sizes and types, authentication, unexpected
errors.

A web page in a person's browser can also reach loopback on this machine, but it must not reach the agent. The
Host check stops DNS rebinding, the Origin check stops foreign pages, and the content type check stops forms.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.shared.body_limits import BodyRule, FindRule
from agent.shared.http_guard import (
    LOOPBACK_NAMES,
    HostCheck,
    HttpGuard,
    RequestHeaders,
    RequestRefusal,
    attach_client,
    json_required,
    sent_tokens,
)
from bot.config.models import ServerConfig
from bot.config.server_limits import KILOBYTE, ServerLimits
from bot.errors import StoreError
from bot.server.api.api_tokens import PREFIX
from bot.server.api.auth import Principal, attach_principal
from bot.server.api.credential_attempts import CredentialAttempts, TooManyAttempts
from bot.server.api.errors import GENERIC, error_response
from bot.server.api.sessions import COOKIE, PERSON_COOKIE, WRONG_TOKEN, LinkSessions, TokenSessions
from bot.texts import find_language

log = structlog.get_logger(__name__)
SESSION_PATH = "/api/session"
SIGNED_FOLDERS = ("/webhooks/", "/events/")
"""Folders of the requests of platforms and event sources, which their own credentials authenticate."""
FORM_ENDS = ("/messages", "/uploads", "/skills/install", "/skills/check")
"""Ends of the paths that accept multipart forms."""
FILES_PER_FORM = 10
SIGN_IN_PATHS = ("/api/mcp/sign-in/start", "/api/mcp/sign-in/callback")
"""Pages that a person's browser opens to sign in to an MCP server; a secret in the query identifies them."""
SIGN_ON_PATHS = ("/api/session/oidc", "/api/session/oidc/callback")
OPEN_PATHS = frozenset(
    {"/", "/health", "/health/ready", "/api/session", "/favicon.ico", *SIGN_IN_PATHS, *SIGN_ON_PATHS}
)
STATIC_FOLDER = "/static/"
# Such a request also has its own content type.
OPEN_FOLDERS = (STATIC_FOLDER, *SIGNED_FOLDERS)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none';"
    " manifest-src 'self'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
NO_TOKEN = "A token is required in the header Authorization: Bearer or X-Api-Key. `roebot token` prints it."  # noqa: S105
SIGNED_OUT = "You are no longer signed in. To get a new link, send the command `page` to the bot."
NO_STORE = "The database is not responding; see the log for details."


def make_body_rules(limits: ServerLimits, file_bytes: int) -> FindRule:
    """Return a function that finds the body limit for a request's route.

    Sign-in and webhooks read a body to find out who sends it. All other routes know the caller before they
    read anything.
    """
    sign_in = BodyRule(limits.sign_in_kb * KILOBYTE, is_anonymous=True)
    webhook = BodyRule(limits.webhook_kb * KILOBYTE, is_anonymous=True)
    other = BodyRule(limits.body_kb * KILOBYTE)
    form = BodyRule(other.limit + FILES_PER_FORM * file_bytes)

    def find_rule(scope: Scope) -> BodyRule:
        path: str = scope["path"]
        if path == SESSION_PATH:
            return sign_in
        if path.startswith(SIGNED_FOLDERS):
            return webhook
        return form if path.endswith(FORM_ENDS) and _is_form(scope) else other

    return find_rule


def _is_form(scope: Scope) -> bool:
    return any(
        name == b"content-type" and value.lower().startswith(b"multipart/form-data")
        for name, value in scope["headers"]
    )


def guard_requests(
    app: ASGIApp,
    *,
    server: ServerConfig,
    port: int,
    sessions: TokenSessions,
    attempts: CredentialAttempts,
    links: LinkSessions | None = None,
) -> HttpGuard:
    """Wrap an application in a guard. It responds with 421 for an unknown Host, 403 for a foreign Origin, 401
    without a token or session, 429 after too many invalid tokens, and 415 for a body that is not JSON.

    The caller is attached to the request; the routes check what the caller may do.
    """
    public = urlsplit(server.public_url or "").hostname
    hosts = HostCheck(
        names={*server.allowed_hosts, *([public] if public else [])},
        own_names=LOOPBACK_NAMES | _listening_names(server.host),
        port=port,
        detail="Unknown host. To accept it, add it to server.allowed_hosts.",
    )
    body = json_required(
        form_suffixes=FORM_ENDS,
        open_prefixes=SIGNED_FOLDERS,
        detail="The body must be application/json.",
    )
    checks = (
        attach_client(server.trusted_proxies),
        hosts,
        _check_origin,
        CallerCheck(sessions, links, attempts),
        body,
    )
    return HttpGuard(app, checks, response_headers=HEADERS)


async def _check_origin(scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
    """Reject pages whose origin differs from the requested host.

    The frame that draws diagrams has an opaque origin and loads only static files, which are public.
    """
    origin = headers.get("origin")
    if origin == "null" and scope["path"].startswith(STATIC_FOLDER):
        return None
    if origin is None or origin.lower().partition("://")[2] == headers.get("host", "").lower():
        return None
    return RequestRefusal(403, "Requests from this origin are not allowed.")


class CallerCheck:
    """Authenticates the caller and attaches them to the request. Rejects unauthenticated requests to routes
    that require a caller.
    """

    def __init__(
        self, sessions: TokenSessions, links: LinkSessions | None, attempts: CredentialAttempts
    ) -> None:
        self._sessions = sessions
        self._attempts = attempts
        self._links = links

    async def __call__(self, scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
        path = scope["path"]
        attach_principal(scope, None)
        if path.startswith(OPEN_FOLDERS) or path == "/health":
            return None
        keys = session_cookies(headers.get("cookie", ""))
        try:
            caller = await self._find_caller(scope, headers, keys)
        except StoreError:
            return RequestRefusal(503, NO_STORE)
        except TooManyAttempts as error:
            return RequestRefusal(error.status_code, error.detail, error.seconds)
        if caller is not None:
            locale = find_language(headers.get("accept-language", ""))
            caller = replace(caller, sender=replace(caller.sender, locale=locale))
        attach_principal(scope, caller)
        if caller is not None or path in OPEN_PATHS:
            return None
        if PERSON_COOKIE in keys:
            return RequestRefusal(401, SIGNED_OUT)
        return RequestRefusal(401, WRONG_TOKEN if sent_tokens(headers) else NO_TOKEN)

    async def _find_caller(
        self, scope: Scope, headers: RequestHeaders, keys: Mapping[str, str]
    ) -> Principal | None:
        """Return the caller. A token takes precedence over cookies, and a personal session over an
        owner's.
        """
        if sent := sent_tokens(headers):
            named = [one for one in sent if one.startswith(PREFIX) and not self._sessions.is_token(one)]
            if named and self._links is not None:
                return await self._links.check_api_token(scope, named[0], self._attempts)
            is_known = await self._sessions.check_token(scope, sent, self._attempts)
            return self._sessions.owner if is_known else None
        if self._links is None:
            return None
        if PERSON_COOKIE in keys:
            return await self._links.load_caller(keys[PERSON_COOKIE])
        return await self._links.load_owner(keys[COOKIE]) if COOKIE in keys else None


def session_cookies(header: str) -> Mapping[str, str]:
    """Return the session cookies of a Cookie header, by name."""
    pairs = (pair.strip().partition("=") for pair in reversed(header.split(";")))
    return {name: value for name, _, value in pairs if name in (COOKIE, PERSON_COOKIE)}


def _listening_names(host: str) -> frozenset[str]:
    """Return the listening address in Host header format; a wildcard address is not a name."""
    bare = host.strip("[]").lower()
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return frozenset({bare})
    if address.is_unspecified:
        return frozenset()
    return frozenset({f"[{bare}]" if address.version == 6 else bare})


class UnexpectedErrorHandler:
    """Logs unexpected exceptions and responds with a generic 500."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            # Nobody waits for an answer.
            raise
        except Exception as error:
            if scope["type"] != "http":
                raise
            log.exception("request_failed", method=scope["method"], path=scope["path"])
            if started:
                raise ConnectionAbortedError("the response was cut off") from error
            await error_response(500, GENERIC)(scope, receive, send)
