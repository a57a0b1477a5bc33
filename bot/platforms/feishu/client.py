"""Calls of one app over HTTPS: the tenant access token, one connection pool, nothing repeated but a call that
an expired token was refused for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import orjson

from bot.clock import Clock
from bot.platforms.feishu.errors import BAD_SECRET, BAD_TOKEN, FeishuRefused, FeishuUnreached
from bot.platforms.proxy_and_tls import find_route

ROOTS = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}
CONNECTIONS = 64
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
UPLOAD_SECONDS = 120.0
IDLE_SECONDS = 10.0
CLOSE_SECONDS = 0.3
CHUNK = 64 * 1024
TOKEN_EARLY = 300.0
"""A token is renewed so many seconds before its end."""
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


@dataclass(frozen=True, slots=True)
class FeishuAnswer:
    """An answer of the API: the `data` object of its body, the whole `body`, and the server's time when it
    answered (epoch seconds, whole; 0.0 unknown)."""

    data: dict[str, Any]
    body: dict[str, Any]
    server_time: float = 0.0


class FeishuClient:
    """One app. Every call raises ApiRefused or Unreached; neither holds the secret or a token.

    `on_refused` is told when Feishu does not know the app's id or secret.
    """

    def __init__(
        self, app_id: str, app_secret: str, root: str, clock: Clock, on_refused: Callable[[str], None]
    ) -> None:
        self.root = root.rstrip("/")
        self._app_id = app_id
        self._secret = app_secret
        self._clock = clock
        self._on_refused = on_refused
        self._session: aiohttp.ClientSession | None = None
        self._token = ""
        self._token_until = 0.0
        self._renewing = asyncio.Lock()

    async def open(self) -> None:
        """Make ready for calls. Raises AccountRefused for a proxy that cannot be used."""
        route = await find_route(self.root)
        connector = aiohttp.TCPConnector(limit=CONNECTIONS, keepalive_timeout=IDLE_SECONDS, ssl=route.tls)
        self._session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), proxy=route.proxy
        )

    async def close(self) -> None:
        """Cut every connection."""
        session, self._session = self._session, None
        if session is not None:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await session.close()
            except TimeoutError:
                pass

    async def call(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> FeishuAnswer:
        """Call a method below /open-apis/ with a JSON body."""
        data = orjson.dumps(body) if body is not None else None
        return await self._with_token(
            lambda token: self._request(verb, f"/open-apis/{path}", data, token, query, seconds)
        )

    async def upload(
        self, path: str, fields: Mapping[str, str], part: str, name: str, data: bytes
    ) -> FeishuAnswer:
        """Post a form with one file."""

        def form() -> aiohttp.FormData:
            made = aiohttp.FormData(quote_fields=False)
            for key, value in fields.items():
                made.add_field(key, value)
            made.add_field(part, data, filename=name, content_type="application/octet-stream")
            return made

        return await self._with_token(
            lambda token: self._request("POST", f"/open-apis/{path}", form(), token, None, UPLOAD_SECONDS)
        )

    async def download(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """The content behind a method that answers with bytes, in chunks."""
        token = await self._fresh_token()
        timeout = aiohttp.ClientTimeout(connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        with self._translated():
            async with self._opened().get(
                f"{self.root}/open-apis/{path}",
                params=dict(query),
                headers={"Authorization": f"Bearer {token}"},
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                if response.status != 200 or response.content_type == "application/json":
                    _check_answer(response, await response.read())
                    return
                async for chunk in response.content.iter_chunked(CHUNK):
                    yield chunk

    async def endpoint(self) -> dict[str, Any]:
        """The `data` of the long connection's endpoint: URL and ClientConfig."""
        body = orjson.dumps({"AppID": self._app_id, "AppSecret": self._secret})
        answer = await self._request("POST", "/callback/ws/endpoint", body, "", None, ANSWER_SECONDS)
        return answer.data

    async def connect(self, url: str) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket. Raises aiohttp.WSServerHandshakeError, or Unreached."""
        timeout = aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS)
        with self._translated():
            async with asyncio.timeout(CONNECT_SECONDS):
                return await self._opened().ws_connect(url, timeout=timeout, max_msg_size=16 * 1024 * 1024)

    async def authorize(self) -> None:
        """Get a token, to know that the app's id and secret are good."""
        await self._fresh_token()

    async def _with_token(self, request: Callable[[str], Any]) -> FeishuAnswer:
        token = await self._fresh_token()
        try:
            answer: FeishuAnswer = await request(token)
        except FeishuRefused as error:
            if error.code not in BAD_TOKEN:
                raise
            if self._token == token:
                self._token = ""
            answer = await request(await self._fresh_token())
        return answer

    async def _fresh_token(self) -> str:
        async with self._renewing:
            if self._token and self._clock.now() < self._token_until:
                return self._token
            try:
                answer = await self._request(
                    "POST",
                    "/open-apis/auth/v3/tenant_access_token/internal",
                    orjson.dumps({"app_id": self._app_id, "app_secret": self._secret}),
                    "",
                    None,
                    ANSWER_SECONDS,
                )
            except FeishuRefused as error:
                if error.code in BAD_SECRET:
                    self._on_refused(str(error))
                raise
            token, expire = answer.body.get("tenant_access_token"), answer.body.get("expire")
            if not isinstance(token, str) or not isinstance(expire, int):
                raise FeishuUnreached("the answer holds no tenant access token", sent=True)
            self._token = token
            self._token_until = self._clock.now() + max(expire - TOKEN_EARLY, expire / 2)
            return token

    async def _request(
        self,
        verb: str,
        path: str,
        data: Any,
        token: str,
        query: Mapping[str, str] | None,
        seconds: float,
    ) -> FeishuAnswer:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if not isinstance(data, aiohttp.FormData):
            headers["Content-Type"] = "application/json; charset=utf-8"
        timeout = aiohttp.ClientTimeout(
            total=CONNECT_SECONDS + seconds, connect=CONNECT_SECONDS, sock_read=seconds
        )
        with self._translated():
            async with self._opened().request(
                verb,
                self.root + path,
                data=data,
                params=dict(query or {}),
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                return _check_answer(response, await response.read())

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise FeishuUnreached("the client is closed", sent=False)
        return self._session

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except _UNSENT:
            raise FeishuUnreached("cannot connect to Feishu", sent=False) from None
        except TimeoutError:
            raise FeishuUnreached("no answer within the time allowed", sent=True) from None
        except aiohttp.WSServerHandshakeError:
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise FeishuUnreached(f"the connection broke off ({type(error).__name__})", sent=True) from None


def _check_answer(response: aiohttp.ClientResponse, payload: bytes) -> FeishuAnswer:
    """The answer, if it is a success. Raises ApiRefused, or Unreached where it is none of the API's."""
    try:
        body = orjson.loads(payload)
    except orjson.JSONDecodeError:
        body = None
    code = body.get("code") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(code, int):
        if response.status >= 400:
            raise FeishuRefused(response.status, response.status, f"HTTP status {response.status}")
        raise FeishuUnreached("the answer is not one of the Feishu API", sent=True)
    if code != 0 or response.status >= 400:
        reset, limit = (_read_number(response, f"x-ogw-ratelimit-{name}") for name in ("reset", "limit"))
        msg = str(body.get("msg") or "")[:200]
        raise FeishuRefused(response.status, code, msg, reset=reset, limit=int(limit))
    data = body.get("data")
    return FeishuAnswer(data if isinstance(data, dict) else {}, body, _read_server_time(response))


def _read_number(response: aiohttp.ClientResponse, header: str) -> float:
    try:
        return max(0.0, min(float(response.headers.get(header, 0)), 86400.0))
    except ValueError:
        return 0.0


def _read_server_time(response: aiohttp.ClientResponse) -> float:
    try:
        return parsedate_to_datetime(response.headers.get("Date", "")).timestamp()
    except (TypeError, ValueError):
        return 0.0
