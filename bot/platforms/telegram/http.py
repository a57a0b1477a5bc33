"""Bot API calls through the SDK's bot, with our own HTTP client.

The SDK's default client, over httpx, costs several times the CPU (see `tests/benchmarks/telegram_calls.py`)
and does not tell whether a request has left. Calls use plain JSON: the SDK's objects cost more than a chat
service gains from them.
"""

from __future__ import annotations

import asyncio
import io
import mimetypes
from collections.abc import AsyncGenerator, Callable
from typing import Any

import aiohttp
import orjson
from aiohttp.abc import AbstractStreamWriter
from telegram import Bot, InputFile
from telegram._utils.types import ODVInput
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

from bot.platforms.http import (
    ANSWER_SECONDS,
    CHUNK,
    UPLOAD_SECONDS,
    AnswerTimeout,
    HttpError,
    PlatformHttp,
    RequestNotSent,
    build_form,
    printable_name,
)
from bot.platforms.telegram.errors import TelegramNotSent, TelegramRefused, check_status, parse_answer

PUBLIC_API = "https://api.telegram.org"
CONNECTIONS = 128
"""Simultaneous calls; more wait in line (64 chats that stream, their typing, commands)."""
POLL_CONNECTIONS = 2
POLL_GRACE = 10.0
"""Seconds that a long poll may be late before it counts as lost."""
_JSON = "application/json"
# The first guess of a type reads files of the system: do that now, not while the loop runs.
mimetypes.init()


class TelegramTransport(BaseRequest):
    """Requests over up to `connections` connections; aiohttp may retry a download once.

    `on_sent` is called whenever a request with JSON has left: the poll loop learns from it that a
    confirmation is on its way.
    """

    __slots__ = ("_http", "on_sent")

    def __init__(self, base_url: str, connections: int) -> None:
        self.on_sent: Callable[[], None] | None = None
        self._http = PlatformHttp(
            "Telegram",
            base_url,
            convert_error=_to_telegram_error,
            connections=connections,
            headers={"User-Agent": self.USER_AGENT},
            skip_auto_headers=("Accept", "Accept-Encoding"),
        )

    @property
    def read_timeout(self) -> float | None:
        return ANSWER_SECONDS

    async def initialize(self) -> None:
        await self._http.open()

    async def shutdown(self) -> None:
        await self._http.close()

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
        """Make a call. Raises TelegramRefused, TelegramNotSent, TimedOut or NetworkError."""
        body: aiohttp.BytesPayload | aiohttp.FormData
        if request_data is not None and request_data.contains_files:
            body, seconds = _upload_form(request_data), UPLOAD_SECONDS
        else:
            body, seconds = self._json_body(request_data), ANSWER_SECONDS
        if isinstance(read_timeout, int | float):
            seconds = float(read_timeout)
        answer = await self._http.call(method, url, data=body, seconds=seconds)
        return check_status(answer.status, answer.body)

    async def download(self, url: str) -> AsyncGenerator[bytes, None]:
        """Yield a URL's content. Raises the errors of `do_request`."""
        async with self._http.stream(url) as response:
            if response.status != 200:
                raise TelegramRefused(response.status, f"HTTP status {response.status}", {})
            async for chunk in response.content.iter_chunked(CHUNK):
                yield chunk

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        return parse_answer(payload)

    def _json_body(self, data: RequestData | None) -> aiohttp.BytesPayload:
        body = orjson.dumps(data.parameters) if data is not None else b"{}"
        if self.on_sent is None:
            return aiohttp.BytesPayload(body, content_type=_JSON)
        return _WatchedPayload(body, self.on_sent)


class _WatchedPayload(aiohttp.BytesPayload):
    """A body that calls `on_sent` once it has been written, together with the request's head."""

    def __init__(self, body: bytes, on_sent: Callable[[], None]) -> None:
        super().__init__(body, content_type=_JSON)
        self._on_sent = on_sent

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        await super().write_with_length(writer, content_length)
        await asyncio.sleep(0)  # uvloop writes at the end of a turn
        self._on_sent()


class _JsonBot(Bot):
    """Exposes the SDK's parameter conversion for calls in plain JSON."""

    __slots__ = ()

    async def call(self, method: str, parameters: dict[str, Any], seconds: float | None) -> Any:
        """Call any method of the Bot API; `seconds` None keeps the default timeout."""
        if seconds is None:
            return await self._post(method, parameters)
        return await self._post(method, parameters, read_timeout=seconds)


class TelegramClient:
    """API calls of a bot. Each raises TelegramRefused, TelegramNotSent, TimedOut or NetworkError.

    Nothing is retried here: the caller decides what an unknown outcome means.
    """

    def __init__(self, token: str, base_url: str | None = None) -> None:
        root = (base_url or PUBLIC_API).rstrip("/")
        self._polling = TelegramTransport(root, POLL_CONNECTIONS)
        self._calls = TelegramTransport(root, CONNECTIONS)
        self._bot = _JsonBot(
            token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=self._calls,
            get_updates_request=self._polling,
        )

    async def open(self) -> None:
        """Open the sessions in the running loop. Raises AccountRefused for an unusable proxy."""
        await self._polling.initialize()
        await self._calls.initialize()

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method and return the response's `result`."""
        return await self._bot.call(method, parameters, None)

    async def poll_updates(
        self, offset: int | None, seconds: int, kinds: list[str], on_sent: Callable[[], None]
    ) -> Any:
        """Call `getUpdates` for up to `seconds`; `on_sent` is called once the offset has been sent."""
        self._polling.on_sent = on_sent
        parameters = {"timeout": seconds, "allowed_updates": kinds, "offset": offset}
        return await self._bot.call("getUpdates", parameters, seconds + POLL_GRACE)

    def input_file(self, data: bytes, filename: str) -> Any:
        """Wrap bytes as a parameter to be uploaded as a file."""
        return InputFile(data, filename=filename)

    def download(self, path: str) -> AsyncGenerator[bytes, None]:
        """Yield the content of a file at a path from `getFile`."""
        return self._calls.download(f"{self._bot.base_file_url}/{path}")

    async def close(self) -> None:
        """Close all connections immediately."""
        await asyncio.gather(self._polling.shutdown(), self._calls.shutdown())


def _to_telegram_error(error: HttpError) -> NetworkError:
    if isinstance(error, RequestNotSent):
        return TelegramNotSent(str(error))
    return TimedOut(str(error)) if isinstance(error, AnswerTimeout) else NetworkError(str(error))


def _upload_form(data: RequestData) -> aiohttp.FormData:
    form = build_form(data.json_parameters)
    for name, (filename, content, mime) in data.multipart_data.items():
        whole = io.BytesIO(content) if isinstance(content, bytes) else content
        form.add_field(name, whole, filename=printable_name(filename), content_type=mime)
    return form
