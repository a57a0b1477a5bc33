"""How the SDK reaches Telegram on the usual way: its `BaseRequest` on our own lean pool."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import orjson
from telegram._utils.types import ODVInput
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

from bot.platforms.telegram.connection import Broken, NotSent, Origin, Pool
from bot.platforms.telegram.request import CONNECT_SECONDS, NeverSent, checked, parsed


class Direct(BaseRequest):
    """Requests over our own pool; uploads go through `uploads`.

    `on_sent` is called whenever a request is on its way (the poll loop learns so that a confirmation left).
    """

    __slots__ = ("_head", "_pool", "_prefix", "_seconds", "on_sent", "uploads")

    def __init__(
        self, base_url: str, size: int, seconds: float, tls: ssl.SSLContext | None, uploads: BaseRequest
    ) -> None:
        parts = urlsplit(base_url)
        port = parts.port or (80 if tls is None else 443)
        self._pool = Pool(Origin(parts.hostname or "", port, tls), size)
        self._prefix = f"{parts.scheme}://{parts.netloc}"
        self._head = (
            f" HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: {self.USER_AGENT}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )
        self._seconds = seconds
        self.uploads = uploads
        self.on_sent: Callable[[], None] | None = None

    @property
    def read_timeout(self) -> float | None:
        """See BaseRequest."""
        return self._seconds

    async def initialize(self) -> None:
        """See BaseRequest."""
        await self.uploads.initialize()

    async def shutdown(self) -> None:
        """See BaseRequest."""
        self._pool.close()
        await self.uploads.shutdown()

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
        if request_data is not None and request_data.contains_files:
            return await self.uploads.do_request(url, method, request_data)
        body = orjson.dumps(request_data.parameters) if request_data is not None else b"{}"
        path = url.removeprefix(self._prefix)
        head = f"{method} {path}{self._head}{len(body)}\r\n\r\n"
        wait = read_timeout if isinstance(read_timeout, int | float) else self._seconds
        try:
            status, answer = await self._pool.request(
                head.encode("ascii") + body, connect=CONNECT_SECONDS, wait=wait, on_sent=self.on_sent
            )
        except NotSent as error:
            raise NeverSent(str(error)) from None
        except Broken as error:
            raise NetworkError(str(error)) from None
        except TimeoutError:
            raise TimedOut(f"no answer within {wait:g} s") from None
        return checked(status, answer)

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """See BaseRequest."""
        return parsed(payload)
