"""Calls of one app over HTTPS with its tenant access token.

Nothing is repeated but a call that was refused because of an expired token.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import orjson

from bot.clock import Clock
from bot.platforms.feishu.errors import BAD_SECRET, BAD_TOKEN, FeishuRefused, FeishuUnreached
from bot.platforms.http import (
    ANSWER_SECONDS,
    CHUNK,
    CONNECT_SECONDS,
    UPLOAD_SECONDS,
    HttpError,
    PlatformHttp,
    RequestNotSent,
    build_form,
)

ROOTS = {"feishu": "https://open.feishu.cn", "lark": "https://open.larksuite.com"}
SOCKET_CLOSE_SECONDS = 0.3
TOKEN_EARLY = 300.0
"""Seconds before its end at which a token is renewed."""
_JSON = {"Content-Type": "application/json; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class FeishuAnswer:
    """An answer of the API: the `data` object of its `body`, and the server's time (whole epoch seconds; 0.0
    unknown).
    """

    data: dict[str, Any]
    body: dict[str, Any]
    server_time: float = 0.0


class FeishuClient:
    """The client of one app. Calls raise FeishuRefused or FeishuUnreached; neither text holds a secret.

    `on_refused` is called with the reason when Feishu does not know the app's id or secret.
    """

    def __init__(
        self, app_id: str, app_secret: str, root: str, clock: Clock, on_refused: Callable[[str], None]
    ) -> None:
        self._root = root.rstrip("/")
        self._app_id = app_id
        self._secret = app_secret
        self._clock = clock
        self._on_refused = on_refused
        self._http = PlatformHttp("Feishu", self._root, convert_error=_to_unreached)
        self._token = ""
        self._token_until = 0.0
        self._renewing = asyncio.Lock()

    async def open(self) -> None:
        """Open the session in the running loop. Raises AccountRefused for an unusable proxy."""
        await self._http.open()

    async def close(self) -> None:
        """Cut every connection."""
        await self._http.close()

    async def call(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> FeishuAnswer:
        """Call a method of /open-apis/ with a JSON body."""
        data = orjson.dumps(body) if body is not None else None
        options: dict[str, Any] = {"params": dict(query or {}), "seconds": seconds}
        return await self._call_with_token(
            lambda token: self._request(
                verb, f"/open-apis/{path}", data=data, headers=_JSON | _authorization(token), **options
            )
        )

    async def upload(
        self, path: str, fields: Mapping[str, str], part: str, name: str, data: bytes
    ) -> FeishuAnswer:
        """Post a form with one file."""

        def post(token: str) -> Awaitable[FeishuAnswer]:
            form = build_form(fields)
            form.add_field(part, data, filename=name, content_type="application/octet-stream")
            return self._request(
                "POST",
                f"/open-apis/{path}",
                data=form,
                headers=_authorization(token),
                seconds=UPLOAD_SECONDS,
            )

        return await self._call_with_token(post)

    async def download(self, path: str, query: Mapping[str, str]) -> AsyncGenerator[bytes, None]:
        """Yield the bytes that a method answers with, in chunks."""
        headers = _authorization(await self._fetch_token())
        url = f"{self._root}/open-apis/{path}"
        async with self._http.stream(url, params=dict(query), headers=headers) as response:
            if response.status != 200 or response.content_type == "application/json":
                _check_answer(response, await response.read())
                return
            async for chunk in response.content.iter_chunked(CHUNK):
                yield chunk

    async def find_endpoint(self) -> dict[str, Any]:
        """Return the `data` of the long connection's endpoint: URL and ClientConfig."""
        body = orjson.dumps({"AppID": self._app_id, "AppSecret": self._secret})
        answer = await self._request("POST", "/callback/ws/endpoint", data=body, headers=_JSON)
        return answer.data

    async def connect(self, url: str) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket. Raises aiohttp.WSServerHandshakeError or FeishuUnreached."""
        timeout = aiohttp.ClientWSTimeout(ws_close=SOCKET_CLOSE_SECONDS)
        with self._http.translate_errors():
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    return await self._http.session.ws_connect(
                        url, timeout=timeout, max_msg_size=16 * 1024 * 1024
                    )
            except aiohttp.WSServerHandshakeError as error:
                refused = error
        raise refused

    async def authorize(self) -> None:
        """Fetch a token, which proves the app's id and secret."""
        await self._fetch_token()

    async def _call_with_token(self, request: Callable[[str], Awaitable[FeishuAnswer]]) -> FeishuAnswer:
        token = await self._fetch_token()
        try:
            return await request(token)
        except FeishuRefused as error:
            if error.code not in BAD_TOKEN:
                raise
            if self._token == token:
                self._token = ""
            return await request(await self._fetch_token())

    async def _fetch_token(self) -> str:
        async with self._renewing:
            if self._token and self._clock.now() < self._token_until:
                return self._token
            body = orjson.dumps({"app_id": self._app_id, "app_secret": self._secret})
            path = "/open-apis/auth/v3/tenant_access_token/internal"
            try:
                answer = await self._request("POST", path, data=body, headers=_JSON)
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

    async def _request(self, verb: str, path: str, **options: Any) -> FeishuAnswer:
        answer = await self._http.call(verb, self._root + path, **options)
        return _check_answer(answer.response, answer.body)


def _to_unreached(error: HttpError) -> FeishuUnreached:
    return FeishuUnreached(str(error), sent=not isinstance(error, RequestNotSent))


def _authorization(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _check_answer(response: aiohttp.ClientResponse, payload: bytes) -> FeishuAnswer:
    """Return a successful answer. Raises FeishuRefused, or FeishuUnreached for one that is not the API's."""
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
