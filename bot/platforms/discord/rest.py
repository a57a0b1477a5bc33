"""API calls through the SDK's `HTTPClient`, with our own HTTP client, limits and errors.

The SDK's client keeps the address on a class, for all clients of the process; it sleeps inside a call until a
limit is over, and retries calls. Here the address belongs to the client, nothing sleeps and nothing is
retried: the error tells the caller how long to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from yarl import URL

from bot.platforms.discord.errors import DiscordLimited, DiscordNoAnswer, DiscordNotSent
from bot.platforms.discord.sdk import discord
from bot.platforms.http import (
    ANSWER_SECONDS,
    CHUNK,
    UPLOAD_SECONDS,
    HttpAnswer,
    HttpError,
    PlatformHttp,
    RequestNotSent,
    build_form,
)

Route = discord.http.Route
MOST = 1024
"""Number of remembered buckets; beyond it, expired ones are dropped."""
SOCKET_CLOSE_SECONDS = 0.3
_CLOUDFLARE_PAUSE = 60.0
"""Seconds to wait after a 429 that is not of Discord's API and names no time."""
_INTERACTION_PATHS = ("/interactions/", "/webhooks/{webhook_id}/{webhook_token}")
"""Paths of answers to interactions, which the limit on all calls of a bot does not cover
(docs.discord.com/developers/topics/rate-limits#global-rate-limit)."""


@dataclass(slots=True)
class _Bucket:
    remaining: int
    resets_at: float


class Buckets:
    """Tracks the remaining calls of each bucket
    (docs.discord.com/developers/topics/rate-limits#header-format).

    A bucket is named by the header X-RateLimit-Bucket, and by the channel, server or webhook of the call.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._names: dict[str, str] = {}
        self._buckets: dict[str, _Bucket] = {}
        self._everywhere = self._banned = 0.0

    def reserve_call(self, route: str, major: str) -> tuple[float, bool]:
        """Return the seconds until a call may be made, and whether all calls must wait. 0.0 counts the
        call.
        """
        now = self._now()
        until = self._banned if _answers_interaction(route) else max(self._banned, self._everywhere)
        if until > now:
            return until - now, True
        bucket = self._buckets.get(self._key(route, major))
        if bucket is None or bucket.resets_at <= now:
            return 0.0, False
        if bucket.remaining <= 0:
            return bucket.resets_at - now, False
        bucket.remaining -= 1
        return 0.0, False

    def read_headers(self, route: str, major: str, headers: Mapping[str, str]) -> None:
        """Read the limits in a response's headers."""
        name = headers.get("X-RateLimit-Bucket")
        remaining, reset = headers.get("X-RateLimit-Remaining"), headers.get("X-RateLimit-Reset-After")
        if name is None or remaining is None or reset is None:
            return
        try:
            left, resets_at = int(remaining), self._now() + float(reset)
        except ValueError:
            return
        self._names[route] = name
        key = self._key(route, major)
        known = self._buckets.get(key)
        if known is not None and known.resets_at > self._now():
            left = min(left, known.remaining)
        self._buckets[key] = _Bucket(left, resets_at)
        if len(self._buckets) > MOST:
            self._sweep()

    def record_refusal(
        self, route: str, major: str, seconds: float, *, everywhere: bool, banned: bool = False
    ) -> None:
        """Record the pause required by a 429; `banned`: Cloudflare refuses all calls from this address."""
        until = self._now() + seconds
        if banned:
            self._banned = max(self._banned, until)
        elif everywhere and not _answers_interaction(route):
            self._everywhere = max(self._everywhere, until)
        else:
            self._buckets[self._key(route, major)] = _Bucket(0, until)

    def _key(self, route: str, major: str) -> str:
        return f"{self._names.get(route, route)}:{major}"

    def _sweep(self) -> None:
        now = self._now()
        for key in [key for key, bucket in self._buckets.items() if bucket.resets_at <= now]:
            del self._buckets[key]


class DiscordRest(discord.http.HTTPClient):
    """API calls of a bot. `base_url` None is Discord itself; another server also provides its own gateway."""

    def __init__(self, base_url: str | None, now: Callable[[], float]) -> None:
        super().__init__(asyncio.get_running_loop())
        self.on_unauthorized: Callable[[], None] = lambda: None
        self._base = (base_url or Route.BASE).rstrip("/")
        self._own_gateway = base_url is not None
        self._limits = Buckets(now)
        self._http = PlatformHttp(
            "Discord",
            self._base,
            convert_error=_to_discord_error,
            connections=0,
            ws_response_class=discord.gateway.DiscordClientWebSocketResponse,
        )

    @property
    def site(self) -> str:
        """The server's browser address, without a path."""
        return str(URL(self._base).origin())

    async def static_login(self, token: str) -> Any:
        await self._http.open()
        self.token = token
        try:
            return await self.request(Route("GET", "/users/@me"))
        except discord.HTTPException as error:
            if error.status == 401:
                raise discord.LoginFailure("Improper token has been passed.") from None
            raise

    async def request(
        self,
        route: discord.http.Route,
        *,
        files: Any = None,
        form: Iterable[dict[str, Any]] | None = None,
        **options: Any,
    ) -> Any:
        """Make a call. Raises DiscordLimited, DiscordNotSent, DiscordNoAnswer, or the SDK's error for a
        refusal.
        """
        key, major = route.key, route.major_parameters
        wait, everywhere = self._limits.reserve_call(key, major)
        if wait > 0:
            raise DiscordLimited(wait, everywhere=everywhere)
        options.pop("reason", None)
        if "json" in options:
            options["data"] = aiohttp.BytesPayload(
                orjson.dumps(options.pop("json")), content_type="application/json"
            )
        seconds = ANSWER_SECONDS
        if form:
            options["data"], seconds = build_form({}), UPLOAD_SECONDS
            for field in form:
                options["data"].add_field(**field)
        answer = await self._http.call(
            route.method,
            self._base + route.url.removeprefix(Route.BASE),
            headers={"User-Agent": self.user_agent, "Authorization": f"Bot {self.token}"},
            seconds=seconds,
            **options,
        )
        data = _parse_answer(answer)
        self._limits.read_headers(key, major, answer.response.headers)
        return self._check_answer(answer.response, data, key, major)

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """Connect to the gateway, at the account's own server if configured. Raises aiohttp's ClientError and
        the SDK's error for a refusal.
        """
        address = URL(url)
        if self._own_gateway and address.host == discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY.host:
            address = (await self._find_gateway()).with_query(address.query)
        return await self._http.session.ws_connect(
            address,
            max_msg_size=0,
            timeout=aiohttp.ClientWSTimeout(ws_close=SOCKET_CLOSE_SECONDS),
            autoclose=False,
            headers={"User-Agent": self.user_agent},
            compress=compress,
        )

    async def _find_gateway(self) -> URL:
        try:
            found = await self.request(Route("GET", "/gateway"))
            return URL(str(found["url"]))
        except (DiscordLimited, DiscordNotSent, DiscordNoAnswer) as error:
            raise aiohttp.ClientConnectionError(str(error)) from None
        except (KeyError, TypeError, ValueError):
            raise aiohttp.ClientPayloadError("the server's response contains no gateway URL") from None

    async def download(self, url: str) -> AsyncGenerator[bytes, None]:
        """Yield an attachment's content; the request contains no token. Raises the errors of `request`."""
        async with self._http.stream(url) as response:
            if response.status != 200:
                raise _refusal(response, {})
            async for chunk in response.content.iter_chunked(CHUNK):
                yield chunk

    async def close(self) -> None:
        """Close all connections immediately."""
        await self._http.close()

    def _check_answer(self, response: aiohttp.ClientResponse, data: Any, key: str, major: str) -> Any:
        if 200 <= response.status < 300:
            return data
        if response.status == 429:
            answer = data if isinstance(data, dict) else {}
            seconds = answer.get("retry_after")
            banned = not isinstance(seconds, int | float)
            everywhere = banned or (bool(answer.get("global")) and not _answers_interaction(key))
            wait = float(seconds) if isinstance(seconds, int | float) else _CLOUDFLARE_PAUSE
            self._limits.record_refusal(key, major, wait, everywhere=everywhere, banned=banned)
            raise DiscordLimited(wait, everywhere=everywhere)
        if response.status == 401 and "Invalid Webhook Token" not in str(data):
            self.on_unauthorized()
        raise _refusal(response, data)


def _answers_interaction(route: str) -> bool:
    """Return whether a route, as method and path, answers an interaction."""
    return route.partition(" ")[2].startswith(_INTERACTION_PATHS)


def _to_discord_error(error: HttpError) -> discord.DiscordException:
    unsent = isinstance(error, RequestNotSent)
    return DiscordNotSent(str(error)) if unsent else DiscordNoAnswer(str(error))


def _refusal(response: aiohttp.ClientResponse, data: Any) -> discord.HTTPException:
    text = data if isinstance(data, dict | str) else ""
    if response.status == 403:
        return discord.Forbidden(response, text)
    if response.status == 404:
        return discord.NotFound(response, text)
    if response.status >= 500:
        return discord.DiscordServerError(response, text)
    return discord.HTTPException(response, text)


def _parse_answer(answer: HttpAnswer) -> Any:
    if answer.response.content_type != "application/json":
        return answer.body.decode(errors="replace")[:200] if answer.body else None
    try:
        return orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        raise DiscordNoAnswer("the response is not JSON") from None
