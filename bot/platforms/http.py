"""The HTTP client of an account: one aiohttp session, bounded answers, two errors, nothing repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.proxy_and_tls import find_route

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
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


class HttpError(Exception):
    """A request got no answer; the text never holds its URL, which may contain a token."""


class RequestNotSent(HttpError):
    """The request did not leave the machine."""


class NoAnswer(HttpError):
    """The request may have arrived, and no complete answer came back."""


class AnswerTimeout(NoAnswer):
    """No answer came in time."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer; `response` has its headers, and can no longer be read from."""

    response: aiohttp.ClientResponse
    body: bytes

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status


class PlatformHttp:
    """Requests to one platform, through the proxy that the environment names. Redirects are not followed.

    `platform` is its name in error texts; `options` go to the aiohttp session.
    """

    def __init__(self, platform: str, base_url: str, *, connections: int = 64, **options: Any) -> None:
        self.proxy: str | None = None
        self._platform = platform
        self._base_url = base_url
        self._connections = connections
        self._options = options
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """The open session. Raises RequestNotSent where there is none."""
        if self._session is None or self._session.closed:
            raise RequestNotSent("the client is closed")
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
        self, method: str, url: str, *, seconds: float = ANSWER_SECONDS, **options: Any
    ) -> HttpAnswer:
        """Make a request and read its answer, which may take `seconds`. Raises HttpError."""
        timeout = aiohttp.ClientTimeout(
            total=CONNECT_SECONDS + seconds, connect=CONNECT_SECONDS, sock_read=seconds
        )
        with self._translate_errors():
            async with self.session.request(
                method, url, timeout=timeout, allow_redirects=False, **options
            ) as response:
                return HttpAnswer(response, await _read_bounded(response))

    @asynccontextmanager
    async def stream(self, url: str, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """Get a URL and yield the response, to be read in chunks. Raises HttpError."""
        timeout = aiohttp.ClientTimeout(connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        with self._translate_errors():
            async with self.session.get(url, timeout=timeout, allow_redirects=False, **options) as response:
                yield response

    async def close(self) -> None:
        """Cut every connection; one that does not close in time is left to the loop."""
        if self._session is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._session.close()
        except TimeoutError:
            pass

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except _UNSENT:
            raise RequestNotSent(f"cannot connect to {self._platform}") from None
        except TimeoutError:
            raise AnswerTimeout("no answer within the time allowed") from None
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswer(f"the connection broke off ({type(error).__name__})") from None
        except asyncio.CancelledError:
            # Closing cancels the futures of requests that wait for a connection, not their tasks.
            task = asyncio.current_task()
            if self._session is None or not self._session.closed or task is None or task.cancelling():
                raise
            raise RequestNotSent("the client is closed") from None


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > ANSWER_LIMIT:
            raise NoAnswer("the answer is too large")
        parts.append(part)
    return b"".join(parts)


async def limit_size(chunks: AsyncGenerator[bytes, None], limit: int) -> AsyncGenerator[bytes, None]:
    """Yield the chunks of a download. Raises DeliveryError where it exceeds `limit` bytes."""
    received = 0
    async with aclosing(chunks):
        async for chunk in chunks:
            received += len(chunk)
            if received > limit:
                megabytes = limit // 1024**2
                raise DeliveryError(DeliveryCategory.INVALID_PAYLOAD, f"the file is over {megabytes} MB")
            yield chunk


def build_form(fields: Mapping[str, str]) -> aiohttp.FormData:
    """Build a multipart form. Names are not quoted: Discord does not read `files[0]` otherwise."""
    form = aiohttp.FormData(quote_fields=False)
    for name, value in fields.items():
        form.add_field(name, value)
    return form


def printable_name(filename: str) -> str:
    """Replace the characters of a file name that must not appear in a header."""
    return "".join(sign if sign.isprintable() else "_" for sign in filename)
