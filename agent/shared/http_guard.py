"""ASGI guard in front of an HTTP API: checks host, origin, token and body type before any route.

Any web page in a local browser can send requests to loopback ports. The host check stops DNS rebinding, the
origin check stops scripts of other pages, and the body check stops plain HTML forms.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import structlog
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.shared.client_address import CLIENT_KEY, ClientAddresses, client_of
from agent.shared.failure_limit import FailureLimiter
from agent.shared.live_token import LiveToken

log = structlog.get_logger(__name__)
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
TOO_MANY_TOKENS: Final = "Too many wrong tokens from your address. Try again later."
WRITE_METHODS: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
UNTYPED: Final = frozenset({"", "text/plain"})
"""Media types of a body whose sender has set none: that of the header's absence, and that of a browser."""

RequestHeaders = Mapping[str, str]
"""Request headers by lower-case name; the last one wins, unless only one is allowed."""

SINGLE_VALUED: Final = frozenset(
    {"authorization", "content-length", "content-type", "host", "idempotency-key", "origin", "x-api-key"}
)
"""Headers that a request may contain only once (RFC 9110): of two, a proxy may check one and the server use
the other.
"""
SINGLE_PREFIXES: Final = ("x-lark-", "x-roebot-", "x-slack-", "x-telegram-")
"""Prefixes of the headers with platforms' and our own signatures."""


class RequestRefusal(NamedTuple):
    """Status code and `detail` of a response, and the seconds until a retry makes sense (0: unspecified)."""

    status: int
    detail: str
    retry_after: int = 0
    headers: Mapping[str, str] = MappingProxyType({})


GuardCheck = Callable[[Scope, RequestHeaders], Awaitable[RequestRefusal | None]]
"""Returns the reason to refuse a request, or None if the check passes. Called for HTTP requests only."""


class HttpGuard:
    """Serves requests that pass all checks, in order; refuses WebSockets with code 1008.

    `response_headers` are added to every response, refusals included, unless the response has set them.
    """

    def __init__(
        self, app: ASGIApp, checks: Sequence[GuardCheck], *, response_headers: Mapping[str, str] | None = None
    ) -> None:
        self._app = app
        self._checks = tuple(checks)
        self._response_headers = response_headers or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._response_headers:
            send = self._with_headers(send)
        refusal = await self._find_refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            retry = {"retry-after": str(refusal.retry_after)} if refusal.retry_after else {}
            answer = JSONResponse({"detail": refusal.detail}, refusal.status, {**refusal.headers, **retry})
            await answer(scope, receive, send)

    async def _find_refusal(self, scope: Scope) -> RequestRefusal | None:
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1")
            if key in headers and (key in SINGLE_VALUED or key.startswith(SINGLE_PREFIXES)):
                return RequestRefusal(400, f"The header {key} is allowed only once.")
            headers[key] = value.decode("latin-1")
        for check in self._checks:
            if (refusal := await check(scope, headers)) is not None:
                return refusal
        return None

    def _with_headers(self, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in self._response_headers.items():
                    headers.setdefault(name, value)
            await send(message)

        return send_with_headers


@dataclass(frozen=True, slots=True)
class HostCheck:
    """Refuse requests for another host (421).

    `names` are served on any port (`*`: every name), `own_names` only on the port the server listens on:
    `port`, or the one of the connection if it is 0.
    """

    names: Collection[str]
    own_names: Collection[str] = ()
    port: int = 0
    detail: str = "This host is not allowed"

    async def __call__(self, scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
        return None if self.is_served(headers.get("host", ""), scope) else RequestRefusal(421, self.detail)

    def is_served(self, host: str, scope: Scope) -> bool:
        """Return whether `host`, written as in a Host header, is one of this server's."""
        if "*" in self.names:
            return True
        name, port = split_host(host.lower())
        if name in self.names:
            return True
        listening = self.port or (scope.get("server") or ("", 0))[1]
        return name in self.own_names and port == str(listening)


def attach_client(trusted_proxies: Iterable[str] = ()) -> GuardCheck:
    """Create a check that refuses nothing and attaches the client's address, for `client_of`."""
    addresses = ClientAddresses(trusted_proxies)

    async def attach(scope: Scope, _headers: RequestHeaders) -> RequestRefusal | None:
        scope[CLIENT_KEY] = addresses.find_client(scope)
        return None

    return attach


def origin_from(
    hosts: HostCheck,
    *,
    is_allowed: Callable[[str], bool] = lambda _origin: False,
    detail: str = "This origin is not allowed",
) -> GuardCheck:
    """Create a check that refuses requests from pages of hosts other than `hosts`, unless their origin
    `is_allowed` (403).
    """

    async def check_origin(scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
        origin = headers.get("origin")
        if origin is None or hosts.is_served(origin.partition("://")[2], scope) or is_allowed(origin):
            return None
        return RequestRefusal(403, detail)

    return check_origin


def no_origin(detail: str = "This service can't be called from a web page.") -> GuardCheck:
    """Create a check that refuses every request with an Origin header (403), and thus all browser scripts."""

    async def check_origin(_scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
        return RequestRefusal(403, detail) if "origin" in headers else None

    return check_origin


def token_required(
    token: LiveToken,
    failures: FailureLimiter,
    *,
    open_paths: Collection[str] = (),
    detail: str = "The token is missing or wrong. Send it in the header Authorization: Bearer or X-Api-Key.",
) -> GuardCheck:
    """Create a constant-time check of the token in `Authorization: Bearer` or `X-Api-Key` (401).

    An address that sent too many wrong tokens has to wait, even with the right one (429). Requests from this
    machine may still use a strong token, because other users of the machine have the same address.
    """

    async def check_token(scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
        if scope["path"] in open_paths:
            return None
        sent = sent_tokens(headers)
        if not sent:
            return RequestRefusal(401, detail)
        if accepts_token(token, failures, scope, sent):
            return None
        host = client_of(scope).host
        if wait := failures.retry_after(host):
            return RequestRefusal(429, TOO_MANY_TOKENS, wait)
        failure = failures.record_failure(host)
        if failure.is_first or failure.locks:
            log.warning("token_wrong", address=failure.address, limited=failure.locks)
        return RequestRefusal(401, detail)

    return check_token


def accepts_token(token: LiveToken, failures: FailureLimiter, scope: Scope, sent: Sequence[bytes]) -> bool:
    """Return whether one is the token, and the client does not have to wait (see `token_required`)."""
    client = client_of(scope)
    wait = failures.retry_after(client.host)
    is_checked = not wait or (client.is_local and not token.is_weak)
    return is_checked and any(map(token.matches, sent))


def json_required(
    *,
    form_suffixes: Iterable[str] = (),
    open_prefixes: Iterable[str] = (),
    reads_plain_text: bool = False,
    detail: str = "The body must be application/json",
) -> GuardCheck:
    """Create a check that refuses bodies that are not JSON (415).

    Paths that end in one of `form_suffixes` accept multipart forms too; paths that start with one of
    `open_prefixes` accept any type. With `reads_plain_text`, a body without a type or with text/plain is read
    as JSON if the request has a token in a header, which a form of a web page can't send.
    """
    suffixes, prefixes = tuple(form_suffixes), tuple(open_prefixes)

    async def check_body(scope: Scope, headers: RequestHeaders) -> RequestRefusal | None:
        path: str = scope["path"]
        if scope["method"] not in WRITE_METHODS or path.startswith(prefixes):
            return None
        if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
            return None
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type == "application/json" or (
            media_type == "multipart/form-data" and path.endswith(suffixes)
        ):
            return None
        if reads_plain_text and media_type in UNTYPED and sent_tokens(headers):
            others = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
            scope["headers"] = [*others, (b"content-type", b"application/json")]
            return None
        return RequestRefusal(415, detail)

    return check_body


def sent_tokens(headers: RequestHeaders) -> list[bytes]:
    """Return the tokens in a request's `Authorization: Bearer` and `X-Api-Key` headers.

    Both may be there: LangGraph's SDKs send a key from their environment in addition to the caller's headers.
    """
    scheme, _, value = headers.get("authorization", "").partition(" ")
    bearer = value.strip() if scheme.lower() == "bearer" else ""
    found = [token for token in (bearer, headers.get("x-api-key", "").strip()) if token]
    return [token.encode("latin-1") for token in found]


def split_host(host: str) -> tuple[str, str]:
    """Split a Host header into name and port; the default port is 80."""
    if host.endswith("]") or ":" not in host:
        return host, "80"
    name, _, port = host.rpartition(":")
    return name, port
