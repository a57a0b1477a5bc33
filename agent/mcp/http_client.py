"""HTTP for MCP servers: OAuth bearer tokens, and a client that reports failed requests immediately."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any

import httpx

from agent.config.extensions import McpOAuth
from agent.errors import McpError, McpUnavailable
from agent.shared.tls import tls_context

EXPIRY_MARGIN_SECONDS = 30.0
"""Seconds before its expiry at which a token is renewed, but not before half of its lifetime."""
REQUEST_SECONDS = 20.0
_CODE = re.compile(r"[a-z_]{1,40}")


class OAuthTokenAuth(httpx.Auth):
    """Adds `Authorization: Bearer …` to each request. After a 401 it gets a new token and retries once.

    Refresh tokens issued by the token server are kept in memory only. `clock` returns seconds. The request
    raises McpUnavailable if no token can be obtained.
    """

    def __init__(self, config: McpOAuth, *, server: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._config, self._server, self._clock = config, server, clock
        self._refresh = config.refresh_token.get_secret_value() if config.refresh_token else None
        self._token: str | None = None
        self._expires_at: float | None = None
        self._lock = asyncio.Lock()

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        token = await self.get_token()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401:
            request.headers["Authorization"] = f"Bearer {await self.get_token(rejected=token)}"
            yield request

    async def get_token(self, *, rejected: str | None = None) -> str:
        """Return a valid token other than the rejected one."""
        async with self._lock:
            is_over = self._expires_at is not None and self._clock() >= self._expires_at
            if self._token is None or is_over or self._token == rejected:
                self._token = None
                await self._request_token()
            assert self._token is not None
            return self._token

    async def _request_token(self) -> None:
        answer = await self._post_request()
        token, seconds = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise self._token_error("its token server returned no token")
        self._token = token
        if isinstance(seconds, str) and seconds.isdigit():
            seconds = int(seconds)
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0
        life = float(seconds) if is_number else None  # type: ignore[arg-type]
        self._expires_at = (
            None if life is None else self._clock() + life - min(EXPIRY_MARGIN_SECONDS, life / 2)
        )
        if isinstance(answer.get("refresh_token"), str):
            self._refresh = answer["refresh_token"]

    async def _post_request(self) -> dict[str, Any]:
        fields, basic = self._build_form()
        assert self._config.token_url is not None
        try:
            async with await asyncio.to_thread(_make_token_client) as http:
                response = await http.post(
                    self._config.token_url, data=fields, auth=basic or httpx.USE_CLIENT_DEFAULT
                )
            found = response.json() if response.content else {}
        except httpx.HTTPError as error:
            raise self._token_error(f"its token server can't be reached ({type(error).__name__})") from error
        except ValueError as error:
            raise self._token_error("its token server sent an unreadable response") from error
        if response.status_code != 200 or not isinstance(found, dict):
            code = found.get("error") if isinstance(found, dict) else None
            named = f": {code}" if isinstance(code, str) and _CODE.fullmatch(code) else ""
            raise self._token_error(f"its token server returned status {response.status_code}{named}")
        return found

    def _build_form(self) -> tuple[dict[str, str], httpx.BasicAuth | None]:
        config = self._config
        fields: dict[str, str] = {"grant_type": config.grant_type}
        if config.grant_type == "refresh_token":
            fields["refresh_token"] = self._refresh or ""
        fields |= {
            name: value for name in ("scope", "audience") if (value := getattr(config, name)) is not None
        }
        secret = config.client_secret.get_secret_value() if config.client_secret else ""
        if config.client_auth == "basic" and config.client_id is not None:
            return fields, httpx.BasicAuth(config.client_id, secret)
        if config.client_id is not None:
            fields["client_id"] = config.client_id
        if secret:
            fields["client_secret"] = secret
        return fields, None

    def _token_error(self, what: str) -> McpUnavailable:
        return McpUnavailable(
            f"can't be used because {what}. Check its `oauth` settings.", server=self._server
        )


def _make_token_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=REQUEST_SECONDS, follow_redirects=False, verify=tls_context())


Report = Callable[[str], None]
"""Called with the reason when the connection can no longer be used."""
CANT_REACH = "can't be reached"
REJECTED = "rejected the request with status 400"
"""Reported for a request of a session: many servers answer so when they don't know the session,
also those that follow the examples of the TypeScript SDK."""
LOST = "could not be reached again"
"""As CANT_REACH, for a request that follows a call that the server has got."""
_SESSION_EXPIRED = 404
_SESSION = "mcp-session-id"
_FOLLOW_UPS = ("notifications/", "tasks/")
_METHOD = "mcp-method"
"""Header of stateless requests (protocol version 2026-07-28)."""
_BACKGROUND = frozenset({"server/discover", "subscriptions/listen"})
"""Stateless requests that no call waits for."""


def make_client(
    report: Report, *, headers: Mapping[str, str], timeout: httpx.Timeout, auth: httpx.Auth | None
) -> httpx.AsyncClient:
    """Create the client. Blocking: it reads the system's certificates."""
    return _FailFastClient(
        report,
        headers=dict(headers),
        timeout=timeout,
        auth=auth,
        follow_redirects=True,
        verify=tls_context(),
    )


class _FailFastClient(httpx.AsyncClient):
    """Reports failed POST requests.

    The mcp package only logs them, and the caller would wait for the answer forever.
    """

    def __init__(self, report: Report, **options: Any) -> None:
        super().__init__(**options)
        self._report = report

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        try:
            response = await super().send(request, **options)
        except (httpx.TransportError, McpError) as error:
            if request.method == "POST" and request.headers.get(_METHOD) != "subscriptions/listen":
                why = _describe_failure(error)
                self._report(LOST if why == CANT_REACH and not _begins_call(request) else why)
            raise
        if _METHOD in request.headers:
            await self._check_stateless(request, response)
        elif request.method == "POST":
            if response.status_code >= 400 and response.status_code != _SESSION_EXPIRED:
                is_rejected = response.status_code == 400 and _SESSION in request.headers
                is_undelivered = is_rejected and _begins_call(request)
                self._report(REJECTED if is_undelivered else f"returned status {response.status_code}")
            elif isinstance(response.stream, httpx.AsyncByteStream):
                response.stream = _FailFastStream(response.stream, self._report)
        return response

    async def _check_stateless(self, request: httpx.Request, response: httpx.Response) -> None:
        """Report an error status without a JSON-RPC error; those belong to one request only."""
        if request.headers[_METHOD] in _BACKGROUND:
            return
        if response.status_code >= 400:
            if not isinstance(read_message(await response.aread()).get("error"), dict):
                self._report(f"returned status {response.status_code}")
        elif isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _FailFastStream(response.stream, self._report)


def read_message(text: str | bytes) -> dict[str, Any]:
    """Return a JSON-RPC message; {} if the text is not a JSON object."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _begins_call(request: httpx.Request) -> bool:
    """Return whether a failure of this request means that the call was not made.

    Answers to the server's questions, notifications, and questions about a task follow a call that the server
    has got; repeating it could do its work twice.
    """
    try:
        method = read_message(request.content).get("method")
    except httpx.RequestNotRead:
        return False
    return isinstance(method, str) and not method.startswith(_FOLLOW_UPS)


class _FailFastStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, report: Report) -> None:
        self._inner, self._report = inner, report

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield chunk
        except httpx.TransportError as error:
            self._report(_describe_failure(error))
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()


def _describe_failure(error: Exception) -> str:
    if isinstance(error, McpError):
        return str(error).partition('" ')[2].rstrip(".")
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return CANT_REACH
    return f"dropped the connection ({type(error).__name__})"
