"""HTTP client of an account, with the environment's proxy and a certificate store that works everywhere.

One aiohttp session, bounded answers, errors that tell whether a request has left; nothing is repeated.
"""

from __future__ import annotations

import asyncio
import ssl
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import certifi

from agent.shared.text import replace_unprintable
from bot.errors import AccountRefused, DeliveryCategory, DeliveryError

CONNECT_SECONDS = 10.0
"""For a free place among the connections and a connection, together."""
ANSWER_SECONDS = 30.0
UPLOAD_SECONDS = 120.0
IDLE_SECONDS = 10.0
"""Idle connections are not reused after this time: the server may be closing them at that moment."""
CLOSE_SECONDS = 0.5
ANSWER_LIMIT = 64 * 1024 * 1024
"""Bytes of an answer that is read as a whole."""
CHUNK = 64 * 1024
UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)
"""Errors of aiohttp that are raised before anything of a request has left."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class HttpError(Exception):
    """A request failed; the text never contains its URL, which may contain a token."""


class RequestNotSent(HttpError):
    """The request did not leave the machine."""


class NoAnswer(HttpError):
    """The request may have arrived, but no complete response was received."""


class AnswerTimeout(NoAnswer):
    """No response was received in time."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A complete response; the headers are in `response`, which can no longer be read from."""

    response: aiohttp.ClientResponse
    body: bytes

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status


class PlatformHttp:
    """Requests to a platform, through the environment's proxy. Redirects are not followed.

    `platform` is its name in error texts; `convert_error` makes the platform's own error of an HttpError;
    `options` go to the aiohttp session. `connections` 0 means any number.
    """

    def __init__(
        self,
        platform: str,
        base_url: str,
        *,
        convert_error: Callable[[HttpError], Exception] = lambda error: error,
        connections: int = 64,
        **options: Any,
    ) -> None:
        self.proxy: str | None = None
        self._platform = platform
        self._base_url = base_url
        self._convert_error = convert_error
        self._connections = connections
        self._options = options
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """The open session. Raises RequestNotSent, converted, if there is none."""
        if self._session is None or self._session.closed:
            raise self._convert_error(RequestNotSent("the client is closed"))
        return self._session

    async def open(self) -> None:
        """Open the session in the running loop. Raises AccountRefused for an unusable proxy."""
        if self._session is not None:
            return
        route = await find_route(self._base_url)
        self.proxy = route.proxy
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._connections, keepalive_timeout=IDLE_SECONDS, ssl=route.tls
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=route.proxy,
            **self._options,
        )

    async def call(
        self,
        method: str,
        url: str,
        *,
        seconds: float = ANSWER_SECONDS,
        limit_total: bool = True,
        read_body: bool = True,
        **options: Any,
    ) -> HttpAnswer:
        """Make a request and read its response. Raises HttpError, converted.

        `seconds` bounds the silence of the server, and unless `limit_total` is False the whole request. With
        `read_body` False the call ends with the headers of the answer, and its body counts as empty.
        """
        total = CONNECT_SECONDS + seconds if limit_total else None
        timeout = aiohttp.ClientTimeout(total=total, connect=CONNECT_SECONDS, sock_read=seconds)
        with self.translate_errors():
            async with self.session.request(
                method, url, timeout=timeout, allow_redirects=False, **options
            ) as response:
                return HttpAnswer(response, await _read_bounded(response) if read_body else b"")

    @asynccontextmanager
    async def stream(self, url: str, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """Get a URL and yield the response, for reading in chunks. Raises HttpError, converted."""
        timeout = aiohttp.ClientTimeout(connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        with self.translate_errors():
            async with self.session.get(url, timeout=timeout, allow_redirects=False, **options) as response:
                yield response

    async def close(self) -> None:
        """Close all connections; those that do not close in time are left to the event loop."""
        if self._session is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._session.close()
        except TimeoutError:
            pass

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Convert aiohttp errors, whose texts may contain a URL with a token."""
        try:
            yield
        except HttpError as error:
            raise self._convert_error(error) from None
        except UNSENT:
            raise self._convert_error(RequestNotSent(f"cannot connect to {self._platform}")) from None
        except TimeoutError:
            raise self._convert_error(AnswerTimeout("no answer within the time allowed")) from None
        except (aiohttp.ClientError, OSError) as error:
            reason = f"the connection broke off ({type(error).__name__})"
            raise self._convert_error(NoAnswer(reason)) from None
        except asyncio.CancelledError:
            # Closing cancels the futures of requests that wait for a connection, not their tasks.
            task = asyncio.current_task()
            if self._session is None or not self._session.closed or task is None or task.cancelling():
                raise
            raise self._convert_error(RequestNotSent("the client is closed")) from None


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > ANSWER_LIMIT:
            raise NoAnswer("the response is too large")
        parts.append(part)
    return b"".join(parts)


async def limit_size(chunks: AsyncGenerator[bytes, None], limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a download. Raises DeliveryError if it exceeds `limit` bytes."""
    received = 0
    async with aclosing(chunks):
        async for chunk in chunks:
            received += len(chunk)
            if received > limit:
                megabytes = limit // 1024**2
                raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, f"the file is over {megabytes} MB")
            yield chunk


def build_form(fields: Mapping[str, str]) -> aiohttp.FormData:
    """Build a multipart form. Names are not quoted, since not every server reads `files[0]` otherwise."""
    form = aiohttp.FormData(quote_fields=False)
    for name, value in fields.items():
        form.add_field(name, value)
    return form


def printable_name(filename: str) -> str:
    """Replace characters of a file name that are not allowed in a header."""
    return replace_unprintable(filename, "_")


@dataclass(frozen=True, slots=True)
class NetworkRoute:
    """`proxy` is a URL or None; `tls` True means aiohttp's default context (the system's store)."""

    proxy: str | None = None
    tls: ssl.SSLContext | bool = True


async def find_route(base_url: str) -> NetworkRoute:
    """Return the route to an address, resolved in a thread. Raises AccountRefused for an unusable proxy.

    The environment is read once: aiohttp's `trust_env` reads it, and a netrc file, for every request.
    """
    return await asyncio.to_thread(_resolve_route, base_url)


def _resolve_route(base_url: str) -> NetworkRoute:
    return NetworkRoute(proxy_for(base_url), _tls_context() if urlsplit(base_url).scheme == "https" else True)


def proxy_for(base_url: str) -> str | None:
    """Return the environment's proxy for an address; None for loopback. Raises AccountRefused."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if host in _LOOPBACK or not proxy or urllib.request.proxy_bypass(host):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    scheme = urlsplit(proxy).scheme
    if scheme not in ("http", "https"):
        raise AccountRefused(
            f"the environment sets a {scheme} proxy for {host}: only HTTP proxies are supported"
        )
    return proxy


@cache
def _tls_context() -> ssl.SSLContext | bool:
    paths = ssl.get_default_verify_paths()
    if paths.cafile or (paths.capath and any(Path(paths.capath).iterdir())):
        return True
    return ssl.create_default_context(cafile=certifi.where())
