"""How the SDK reaches Telegram: its `BaseRequest` over aiohttp.

The SDK's own one, over httpx, costs several times the CPU (see `tests/benchmarks/telegram_calls.py`) and does
not tell whether a request has left.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import orjson
from aiohttp.abc import AbstractStreamWriter
from telegram._utils.types import ODVInput
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

from bot.platforms.proxy_and_tls import find_route
from bot.platforms.telegram.request import TelegramRefused, TelegramNotSent, check_status, parse_answer

CONNECT_SECONDS = 10.0
"""For a free place among the connections and a connection, together."""
ANSWER_SECONDS = 30.0
UPLOAD_SECONDS = 120.0
IDLE_SECONDS = 10.0
"""A connection that rested longer is not used again: the server may be closing it at this moment."""
CLOSE_SECONDS = 0.5
ANSWER_LIMIT = 64 * 1024 * 1024
_JSON = "application/json"
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError)


class TelegramTransport(BaseRequest):
    """Requests over up to `connections` connections. Nothing is repeated but, by aiohttp, a download once.

    `on_sent` is called whenever a request with JSON is on its way (the poll loop learns so that a
    confirmation left).
    """

    __slots__ = ("_base_url", "_connections", "_session", "on_sent")

    def __init__(self, base_url: str, connections: int) -> None:
        self.on_sent: Callable[[], None] | None = None
        self._base_url = base_url
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float | None:
        """See BaseRequest."""
        return ANSWER_SECONDS

    async def initialize(self) -> None:
        """See BaseRequest. Raises AccountRefused for a proxy that cannot be used."""
        if self._session is not None:
            return
        route = await find_route(self._base_url)
        connector = aiohttp.TCPConnector(
            limit=self._connections, keepalive_timeout=IDLE_SECONDS, ssl=route.tls
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self.USER_AGENT},
            skip_auto_headers=("Accept", "Accept-Encoding"),
            proxy=route.proxy,
        )

    async def shutdown(self) -> None:
        """See BaseRequest. Cuts every connection; one that will not close is left to the loop."""
        if self._session is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._session.close()
        except TimeoutError:
            pass

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: ODVInput[float] = BaseRequest.DEFAULT_NONE,
        write_timeout: ODVInput[float] = BaseRequest.DEFAULT_NONE,
        connect_timeout: ODVInput[float] = BaseRequest.DEFAULT_NONE,
        pool_timeout: ODVInput[float] = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """See BaseRequest. Raises ApiRefused, NeverSent, TimedOut or NetworkError."""
        body: aiohttp.BytesPayload | aiohttp.FormData
        if request_data is not None and request_data.contains_files:
            body, seconds = _form(request_data), UPLOAD_SECONDS
        else:
            body, seconds = self._json(request_data), ANSWER_SECONDS
        if isinstance(read_timeout, int | float):
            seconds = float(read_timeout)
        timeout = aiohttp.ClientTimeout(
            total=CONNECT_SECONDS + seconds, connect=CONNECT_SECONDS, sock_read=seconds
        )
        session = self._open()
        with self._translated():
            async with session.request(
                method, url, data=body, timeout=timeout, allow_redirects=False
            ) as response:
                return check_status(response.status, await _read(response))

    async def download(self, url: str, chunk: int) -> AsyncGenerator[bytes, None]:
        """The content behind a URL. Raises as `do_request`."""
        timeout = aiohttp.ClientTimeout(connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        session = self._open()
        with self._translated():
            async with session.get(url, timeout=timeout, allow_redirects=False) as response:
                if response.status != 200:
                    raise TelegramRefused(response.status, f"HTTP status {response.status}", {})
                async for part in response.content.iter_chunked(chunk):
                    yield part

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """See BaseRequest."""
        return parse_answer(payload)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            raise TelegramNotSent("the client is closed")
        return self._session

    def _json(self, data: RequestData | None) -> aiohttp.BytesPayload:
        body = orjson.dumps(data.parameters) if data is not None else b"{}"
        if self.on_sent is None:
            return aiohttp.BytesPayload(body, content_type=_JSON)
        return _Watched(body, self.on_sent)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The errors of aiohttp, whose texts hold the URL and so the token, as the SDK's."""
        try:
            yield
        except _UNSENT:
            raise TelegramNotSent("cannot connect to Telegram") from None
        except TimeoutError:
            raise TimedOut("no answer within the time allowed") from None
        except (aiohttp.ClientError, OSError) as error:
            raise NetworkError(f"the connection broke off ({type(error).__name__})") from None
        except asyncio.CancelledError:
            # Closing cancels the futures of those that wait in line or for an address, not their tasks.
            task = asyncio.current_task()
            if self._session is None or not self._session.closed or task is None or task.cancelling():
                raise
            raise TelegramNotSent("the client is closed") from None


class _Watched(aiohttp.BytesPayload):
    """A body that tells when it was written, together with the head of the request."""

    def __init__(self, body: bytes, on_sent: Callable[[], None]) -> None:
        super().__init__(body, content_type=_JSON)
        self._on_sent = on_sent

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """See Payload."""
        await super().write_with_length(writer, content_length)
        await asyncio.sleep(0)  # uvloop writes at the end of a turn
        self._on_sent()


def _form(data: RequestData) -> aiohttp.FormData:
    form = aiohttp.FormData(quote_fields=False)
    for name, value in data.json_parameters.items():
        form.add_field(name, value)
    for name, (filename, content, mime) in data.multipart_data.items():
        shown = "".join(sign if sign.isprintable() else "_" for sign in filename)
        whole = io.BytesIO(content) if isinstance(content, bytes) else content
        form.add_field(name, whole, filename=shown, content_type=mime)
    return form


async def _read(response: aiohttp.ClientResponse) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > ANSWER_LIMIT:
            raise NetworkError("the answer is too large")
        parts.append(part)
    return b"".join(parts)
