"""HTTPS calls of an app with its tenant access token.

Nothing is repeated but a call that was refused because of an expired token.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from bot.clock import Clock
from bot.platforms.feishu import requests
from bot.platforms.feishu.errors import BAD_SECRET, BAD_TOKEN, FeishuRefused, FeishuUnreached
from bot.platforms.feishu.sdk import FEISHU_DOMAIN, LARK_DOMAIN, BaseRequest
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

ROOTS: Mapping[str, str] = {"feishu": FEISHU_DOMAIN, "lark": LARK_DOMAIN}
SOCKET_CLOSE_SECONDS = 0.3
TOKEN_EARLY = 300.0
"""Seconds before its end at which a token is renewed."""
_JSON = {"Content-Type": "application/json; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class FeishuAnswer:
    """A response of the API: the `data` object of its `body`, and the server's time (whole epoch seconds; 0.0
    unknown).
    """

    data: dict[str, Any]
    body: dict[str, Any]
    server_time: float = 0.0


class FeishuClient:
    """Client of an app. Calls raise FeishuRefused or FeishuUnreached, whose texts contain no secrets.

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
        """Close all connections immediately."""
        await self._http.close()

    async def send(self, request: BaseRequest, *, seconds: float = ANSWER_SECONDS) -> FeishuAnswer:
        """Make a request of `bot.platforms.feishu.requests` with a token."""
        return await self._call_with_token(
            lambda token: self._request_json(request, headers=_JSON | _authorization(token), seconds=seconds)
        )

    async def upload(self, request: BaseRequest, name: str) -> FeishuAnswer:
        """Post a request's body as a form; its bytes field is sent as a file with this name."""

        def post(token: str) -> Awaitable[FeishuAnswer]:
            fields = _list_fields(request.body)
            form = build_form({key: str(value) for key, value in fields.items() if not _is_file(value)})
            for key, value in fields.items():
                if _is_file(value):
                    form.add_field(key, value, filename=name, content_type="application/octet-stream")
            return self._request(request, data=form, headers=_authorization(token), seconds=UPLOAD_SECONDS)

        return await self._call_with_token(post)

    async def download(self, request: BaseRequest) -> AsyncGenerator[bytes, None]:
        """Yield the response's bytes in chunks."""
        headers = _authorization(await self._fetch_token())
        url = self._root + _fill_path(request)
        async with self._http.stream(url, params=request.queries, headers=headers) as response:
            if response.status != 200 or response.content_type == "application/json":
                _check_answer(response, await response.read())
                return
            async for chunk in response.content.iter_chunked(CHUNK):
                yield chunk

    async def find_endpoint(self) -> dict[str, Any]:
        """Return the `data` of the long connection's endpoint: URL and ClientConfig."""
        request = requests.find_endpoint(self._app_id, self._secret)
        return (await self._request_json(request, headers=_JSON)).data

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
        """Fetch a token, which verifies the app's id and secret."""
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
            request = requests.fetch_token(self._app_id, self._secret)
            try:
                answer = await self._request_json(request, headers=_JSON)
            except FeishuRefused as error:
                if error.code in BAD_SECRET:
                    self._on_refused(str(error))
                raise
            token, expire = answer.body.get("tenant_access_token"), answer.body.get("expire")
            if not isinstance(token, str) or not isinstance(expire, int):
                raise FeishuUnreached("the response contains no tenant access token", sent=True)
            self._token = token
            self._token_until = self._clock.now() + max(expire - TOKEN_EARLY, expire / 2)
            return token

    async def _request_json(self, request: BaseRequest, **options: Any) -> FeishuAnswer:
        body = orjson.dumps(request.body, default=_list_fields) if request.body is not None else None
        return await self._request(request, data=body, **options)

    async def _request(self, request: BaseRequest, **options: Any) -> FeishuAnswer:
        verb, url = request.http_method.name, self._root + _fill_path(request)
        answer = await self._http.call(verb, url, params=request.queries, **options)
        return _check_answer(answer.response, answer.body)


def _to_unreached(error: HttpError) -> FeishuUnreached:
    return FeishuUnreached(str(error), sent=not isinstance(error, RequestNotSent))


def _authorization(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _fill_path(request: BaseRequest) -> str:
    """Return a request's path with its parameters, each as one segment."""
    return re.sub(r":(\w+)", lambda key: quote(request.paths[key[1]], safe=""), request.uri)


def _list_fields(model: object) -> dict[str, Any]:
    """Return the set fields of an SDK model."""
    return {key: value for key, value in vars(model).items() if value is not None}


def _is_file(value: object) -> bool:
    return isinstance(value, bytes)


def _check_answer(response: aiohttp.ClientResponse, payload: bytes) -> FeishuAnswer:
    """Return a successful response. Raises FeishuRefused, or FeishuUnreached for a response that is not the
    API's.
    """
    try:
        body = orjson.loads(payload)
    except orjson.JSONDecodeError:
        body = None
    code = body.get("code") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(code, int):
        if response.status >= 400:
            raise FeishuRefused(response.status, response.status, f"HTTP status {response.status}")
        raise FeishuUnreached("the response does not match the Feishu API", sent=True)
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
