"""Who may talk to the runtime: a token, known hosts, JSON only."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from agent.errors import AgentError
from agent.runtime.http.responses import refusal

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]", "::1")
OPEN_PATHS: Final = frozenset({"/ok"})
_JSON_METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class Guard:
    """Refuses foreign hosts (421) and origins (403), calls without the token (401), no JSON (415)."""

    def __init__(
        self,
        application: Starlette,
        *,
        token: str | None,
        allowed_hosts: Iterable[str] = (),
        form_paths: Iterable[str] = (),
    ) -> None:
        """`allowed_hosts` adds to the loopback names (`*`: any); paths ending in `form_paths` take forms."""
        self.application = application
        self.failure: AgentError | None = None
        self._token = None if token is None else token.encode()
        self._hosts = frozenset(LOOPBACK) | frozenset(host.lower() for host in allowed_hosts)
        self._forms = tuple(form_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve as an ASGI application."""
        if scope["type"] == "http":
            refused = self._refused(scope)
            if refused is not None:
                await refusal(*refused)(scope, receive, send)
                return
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        await self.application(scope, receive, send)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        headers = dict(scope["headers"])
        if not self._knows_host(headers.get(b"host", b"").decode("latin-1")):
            return 421, "This host is not served here"
        origin = headers.get(b"origin")
        if origin is not None and not self._knows_host(origin.decode("latin-1").partition("://")[2]):
            return 403, "This origin may not call the runtime"
        if scope["path"] not in OPEN_PATHS and not self._has_token(headers):
            return 401, "A token is required"
        if not self._is_json(scope, headers):
            return 415, "The body must be application/json"
        return None

    def _knows_host(self, host: str) -> bool:
        if "*" in self._hosts:
            return True
        name = host.lower()
        if not name.endswith("]") and ":" in name:
            name = name.rpartition(":")[0]
        return name in self._hosts

    def _has_token(self, headers: dict[bytes, bytes]) -> bool:
        if self._token is None:
            return True
        given = headers.get(b"x-api-key", b"")
        kind, _, value = headers.get(b"authorization", b"").partition(b" ")
        if not given and kind.lower() == b"bearer":
            given = value.strip()
        return hmac.compare_digest(given, self._token)

    def _is_json(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        if scope["method"] not in _JSON_METHODS:
            return True
        if headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers:
            return True
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind == b"multipart/form-data":
            return bool(scope["path"].endswith(self._forms))
        return kind == b"application/json"
