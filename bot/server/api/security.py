"""Guard the port: known hosts, same origin, JSON bodies, and authentication.

A web page in a person's browser runs on this machine too and can reach loopback; it must not reach the agent.
The Host check stops DNS rebinding, the Origin check foreign pages, the content type check forms.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.access import Role
from bot.config.models import ServerConfig
from bot.errors import StoreError
from bot.server.api import sign_in_links
from bot.server.api.auth import AuthMethod, Principal, attach_principal
from bot.server.api.sign_in import COOKIE, TokenSessions
from bot.server.api.sign_in_links import LinkSessions

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
OPEN_PATHS = frozenset({"/", "/health", "/health/ready", "/api/session", "/favicon.ico"})
OPEN_FOLDERS = ("/static/", "/webhooks/")
FORM_ENDS = ("/messages", "/uploads", "/skills/install")
WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
NO_TOKEN = "A token is required: the value of server.token, as Authorization: Bearer."  # noqa: S105
SIGNED_OUT = "You are no longer signed in. Send the bot the command page to get a new link."
NO_STORE = "The database is not responding; see the log for details."
WRONG_TOKEN = "Wrong token. Check server.token."  # noqa: S105
Refusal = tuple[int, str]


class RequestGuard:
    """Middleware that rejects unauthorized requests and sets the protective response headers.

    421: unknown Host; 403: foreign Origin; 401: no token or session; 415: not JSON. WebSockets are rejected:
    no route uses them. It attaches the caller to the request; the routes check what the caller may do.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        server: ServerConfig,
        port: int,
        sessions: TokenSessions,
        links: LinkSessions | None = None,
    ) -> None:
        self._app = app
        self._port = port
        self._sessions = sessions
        self._links = links
        public = urlsplit(server.public_url or "").hostname
        self._named = frozenset({*server.allowed_hosts, *([public] if public else [])})
        self._own = LOOPBACK | _listening_names(server.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = await self._check_request(scope)
        if refused is None:
            await self._app(scope, receive, protected)
        else:
            response = JSONResponse({"detail": refused[1]}, refused[0])
            await response(scope, receive, protected)

    async def _check_request(self, scope: Scope) -> Refusal | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "").lower()
        if not self._is_known_host(host, scope):
            return 421, "Unknown host. Add it to server.allowed_hosts to serve it."
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host:
            return 403, "This origin may not call the service."
        if unknown := await self._authenticate(scope, headers):
            return unknown
        # A platform's request has its own content type and is authenticated by its signature.
        is_signed = scope["path"].startswith("/webhooks/")
        if scope["method"] in WRITING and not is_signed and not _is_known_body(scope, headers):
            return 415, "The body must be application/json."
        return None

    def _is_known_host(self, host: str, scope: Scope) -> bool:
        name, port = _split_host(host)
        if name in self._named:
            return True
        listening = self._port or (scope.get("server") or ("", 0))[1]
        return name in self._own and port == str(listening)

    async def _authenticate(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        """Attach the caller to the request; return a refusal if the path requires one and there is none."""
        path = scope["path"]
        attach_principal(scope, None)
        if path.startswith(OPEN_FOLDERS) or path == "/health":
            return None
        keys = session_cookies(headers.get("cookie", ""))
        try:
            caller = await self._find_caller(headers, keys)
        except StoreError:
            return 503, NO_STORE
        attach_principal(scope, caller)
        if caller is not None or path in OPEN_PATHS:
            return None
        if sign_in_links.COOKIE in keys:
            return 401, SIGNED_OUT
        return 401, WRONG_TOKEN if headers.get("authorization") else NO_TOKEN

    async def _find_caller(self, headers: Mapping[str, str], keys: Mapping[str, str]) -> Principal | None:
        """Return the caller. A caller with a personal session stays that person, even on loopback or with
        an owner's cookie.
        """
        kind, _, token = headers.get("authorization", "").partition(" ")
        if self._sessions.is_required and kind.lower() == "bearer":
            return _owner_principal(AuthMethod.TOKEN) if self._sessions.is_token(token.strip()) else None
        if self._links is not None and sign_in_links.COOKIE in keys:
            return await self._links.load_caller(keys[sign_in_links.COOKIE])
        if not self._sessions.is_required:
            return _owner_principal(AuthMethod.LOOPBACK)
        return (
            _owner_principal(AuthMethod.TOKEN)
            if self._sessions.is_valid_cookie(keys.get(COOKIE, ""))
            else None
        )


def _owner_principal(how: AuthMethod) -> Principal:
    return Principal(Role.OWNER, how)


def session_cookies(header: str) -> Mapping[str, str]:
    """Return the session cookies of a Cookie header, by name."""
    pairs = (pair.strip().partition("=") for pair in reversed(header.split(";")))
    return {name: value for name, _, value in pairs if name in (COOKIE, sign_in_links.COOKIE)}


def _split_host(host: str) -> tuple[str, str]:
    """Split a Host header into name and port; the default port is 80."""
    if host.endswith("]") or ":" not in host:
        return host, "80"
    name, _, port = host.rpartition(":")
    return name, port


def _listening_names(host: str) -> frozenset[str]:
    """Return the listening address as a Host header writes it; a wildcard address is not a name."""
    bare = host.strip("[]").lower()
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return frozenset({bare})
    if address.is_unspecified:
        return frozenset()
    return frozenset({f"[{bare}]" if address.version == 6 else bare})


def _is_known_body(scope: Scope, headers: Mapping[str, str]) -> bool:
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return True
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return str(scope["path"]).endswith(FORM_ENDS)
    return kind == "application/json"
