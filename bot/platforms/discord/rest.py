"""The SDK's `HTTPClient` with an own address, own limits and own errors.

The SDK's client keeps the address on a class, for all clients of the process; it sleeps inside a call until a
limit is over, and retries calls. Here the address belongs to the client, nothing sleeps and nothing is
retried: the error tells the caller how long to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import orjson
from yarl import URL

from bot.platforms.discord.buckets import Buckets
from bot.platforms.discord.errors import DiscordLimited, DiscordNoAnswer, DiscordNotSent
from bot.platforms.discord.sdk import discord

Route = discord.http.Route
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
UPLOAD_SECONDS = 120.0
IDLE_SECONDS = 10.0
"""A connection that rested longer is not used again: the server may be closing it at this moment."""
CLOSE_SECONDS = 0.3
ANSWER_LIMIT = 16 * 1024 * 1024
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)
_CLOUDFLARE_PAUSE = 60.0
"""A 429 that is not of Discord's API names no time."""


class DiscordRest(discord.http.HTTPClient):
    """Calls below `base_url` (None: Discord's own). The gateway's address is asked from there."""

    def __init__(self, base_url: str | None, proxy: str | None, now: Callable[[], float]) -> None:
        super().__init__(asyncio.get_running_loop(), proxy=proxy)
        self.on_unauthorized: Callable[[], None] = lambda: None
        self._base = (base_url or Route.BASE).rstrip("/")
        self._own_gateway = base_url is not None
        self._limits = Buckets(now)
        self._session: aiohttp.ClientSession | None = None

    async def static_login(self, token: str) -> Any:
        self.open()
        self.token = token
        try:
            return await self.request(Route("GET", "/users/@me"))
        except discord.HTTPException as error:
            if error.status == 401:
                raise discord.LoginFailure("Improper token has been passed.") from None
            raise

    def open(self) -> None:
        """Make the session; nothing is sent yet."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
                ws_response_class=discord.gateway.DiscordClientWebSocketResponse,
                cookie_jar=aiohttp.DummyCookieJar(),
            )

    async def request(
        self,
        route: discord.http.Route,
        *,
        files: Any = None,
        form: Iterable[dict[str, Any]] | None = None,
        **options: Any,
    ) -> Any:
        """See HTTPClient. Raises Limited, Unsent, Unanswered, or the SDK's error for a refusal."""
        key, major = route.key, route.major_parameters
        wait, everywhere = self._limits.wait(key, major)
        if wait > 0:
            raise DiscordLimited(wait, everywhere=everywhere)
        options.pop("reason", None)
        headers = {"User-Agent": self.user_agent, "Authorization": f"Bot {self.token}"}
        if "json" in options:
            options["data"] = aiohttp.BytesPayload(
                orjson.dumps(options.pop("json")), content_type="application/json"
            )
        seconds = ANSWER_SECONDS
        if form:
            options["data"], seconds = _form(form), UPLOAD_SECONDS
        with self._translated():
            async with self._live().request(
                route.method,
                self._base + route.url.removeprefix(Route.BASE),
                headers=headers,
                proxy=self.proxy,
                timeout=_timeout(seconds),
                allow_redirects=False,
                **options,
            ) as response:
                data = await _read(response)
                self._limits.learn(key, major, response.headers)
                return self._checked(response, data, key, major)

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """See HTTPClient. The address that the SDK takes for granted gives way to the account's own."""
        address = URL(url)
        if self._own_gateway and address.host == discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY.host:
            found = await self.request(Route("GET", "/gateway"))
            address = URL(str(found["url"])).with_query(address.query)
        return await self._live().ws_connect(
            address,
            proxy=self.proxy,
            max_msg_size=0,
            timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS),
            autoclose=False,
            headers={"User-Agent": self.user_agent},
            compress=compress,
        )

    async def download(self, url: str, chunk: int) -> AsyncGenerator[bytes, None]:
        """The content behind an attachment's address, without our token. Raises as `request`."""
        with self._translated():
            async with self._live().get(
                url, proxy=self.proxy, timeout=_timeout(ANSWER_SECONDS), allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise _refusal(response, {})
                async for part in response.content.iter_chunked(chunk):
                    yield part

    async def close(self) -> None:
        """See HTTPClient. Cuts every connection."""
        if self._session is not None:
            await self._session.close()

    def _checked(self, response: aiohttp.ClientResponse, data: Any, key: str, major: str) -> Any:
        if 200 <= response.status < 300:
            return data
        if response.status == 429:
            told = data if isinstance(data, dict) else {}
            seconds = told.get("retry_after")
            everywhere = bool(told.get("global")) or not isinstance(seconds, int | float)
            wait = float(seconds) if isinstance(seconds, int | float) else _CLOUDFLARE_PAUSE
            self._limits.refused(key, major, wait, everywhere=everywhere)
            raise DiscordLimited(wait, everywhere=everywhere)
        if response.status == 401 and "Invalid Webhook Token" not in str(data):
            self.on_unauthorized()
        raise _refusal(response, data)

    def _live(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            raise DiscordNotSent("the client is closed")
        return self._session

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The errors of aiohttp, whose texts may hold an interaction's token, as our own."""
        try:
            yield
        except _UNSENT:
            raise DiscordNotSent("cannot connect to Discord") from None
        except TimeoutError:
            raise DiscordNoAnswer("no answer within the time allowed") from None
        except (aiohttp.ClientError, OSError) as error:
            raise DiscordNoAnswer(f"the connection broke off ({type(error).__name__})") from None


def _refusal(response: aiohttp.ClientResponse, data: Any) -> discord.HTTPException:
    told = data if isinstance(data, dict | str) else ""
    if response.status == 403:
        return discord.Forbidden(response, told)
    if response.status == 404:
        return discord.NotFound(response, told)
    if response.status >= 500:
        return discord.DiscordServerError(response, told)
    return discord.HTTPException(response, told)


def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=CONNECT_SECONDS + seconds, connect=CONNECT_SECONDS, sock_read=seconds)


def _form(fields: Iterable[dict[str, Any]]) -> aiohttp.FormData:
    # Discord does not read names that are quoted: files[0].
    form = aiohttp.FormData(quote_fields=False)
    for field in fields:
        form.add_field(**field)
    return form


async def _read(response: aiohttp.ClientResponse) -> Any:
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > ANSWER_LIMIT:
            raise DiscordNoAnswer("the answer is too large")
        parts.append(part)
    body = b"".join(parts)
    if response.content_type != "application/json":
        return body.decode(errors="replace")[:200] if body else None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise DiscordNoAnswer("the answer is not JSON") from None
