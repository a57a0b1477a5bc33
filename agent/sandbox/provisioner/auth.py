"""Who may call the service: those with its token, and nobody with a browser."""

from __future__ import annotations

import hmac
from ipaddress import ip_address

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

OPEN = frozenset({"/health"})
LEAST_TOKEN = 16


class TokenMissing(Exception):
    """A service that others can reach needs a token."""


class Guard:
    """Lets nobody in without the token; None where everybody on this machine may come in."""

    def __init__(self, application: ASGIApp, token: str | None) -> None:
        self._application, self._token = application, token.encode() if token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        if scope["type"] == "http" and (refused := self._refused(scope)):
            status, detail = refused
            await JSONResponse({"detail": detail}, status)(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._application(scope, receive, send)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if b"origin" in headers:
            return 403, "No page of a browser may call this service."
        if self._token is None or scope["path"] in OPEN:
            return None
        kind, _, given = headers.get(b"authorization", b"").partition(b" ")
        if kind.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token):
            return None
        return 401, "The token is wrong or missing."


def check_token(host: str, token: str | None) -> None:
    """Raises TokenMissing where a service at `host` can be reached by others and has none, or a short one."""
    if token is None and not is_loopback(host):
        raise TokenMissing(f"A service at {host} needs a token in ROEBOT_SANDBOX_TOKEN.")
    if token is not None and len(token) < LEAST_TOKEN:
        raise TokenMissing(f"The token in ROEBOT_SANDBOX_TOKEN is too short; it needs {LEAST_TOKEN} signs.")


def is_loopback(host: str) -> bool:
    """Whether this machine alone reaches it."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
