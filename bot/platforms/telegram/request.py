"""How the SDK reaches Telegram through httpx (proxies, uploads), and the errors of every request."""

from __future__ import annotations

import ssl
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
from telegram.error import NetworkError, TelegramError
from telegram.request import HTTPXRequest

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
UPLOAD_SECONDS = 120.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TOO_MANY = 429


class ApiRefused(TelegramError):
    """Telegram answered with an error: `status`, its description, and what its `parameters` say."""

    def __init__(self, status: int, description: str, parameters: dict[str, Any]) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after = float(parameters.get("retry_after") or (1.0 if status == _TOO_MANY else 0.0))
        self.migrate_to = str(parameters.get("migrate_to_chat_id") or "")


class NeverSent(NetworkError):
    """The request did not leave the machine."""


def proxied(base_url: str) -> bool:
    """Whether the environment names a proxy for this address (never for loopback)."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    if host in _LOOPBACK or not (parts.scheme in proxies or "all" in proxies):
        return False
    return not urllib.request.proxy_bypass(host)


def trust(base_url: str) -> ssl.SSLContext | bool:
    """What proves the server: one context, to be shared (making one costs tens of milliseconds)."""
    return httpx.create_ssl_context() if urlsplit(base_url).scheme == "https" else False


class ViaHttpx(HTTPXRequest):
    """The SDK's own request, for proxies and uploads, with errors that keep their status."""

    def __init__(self, base_url: str, size: int, seconds: float, verify: ssl.SSLContext | bool) -> None:
        super().__init__(
            connection_pool_size=size,
            connect_timeout=CONNECT_SECONDS,
            read_timeout=seconds,
            write_timeout=seconds,
            pool_timeout=CONNECT_SECONDS,
            media_write_timeout=UPLOAD_SECONDS,
            httpx_kwargs={"trust_env": proxied(base_url), "verify": verify},
        )

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        """See BaseRequest. Raises ApiRefused, NeverSent, TimedOut or NetworkError."""
        try:
            status, body = await super().do_request(*args, **kwargs)
        except NetworkError as error:
            if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
                raise NeverSent("cannot connect to Telegram") from None
            raise
        return checked(status, body)

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, Any]:
        """See BaseRequest."""
        return parsed(payload)


def parsed(payload: bytes) -> dict[str, Any]:
    """An answer's JSON object. Raises NetworkError where it is none (a proxy's page, a cut-off body)."""
    try:
        loaded = orjson.loads(payload)
    except orjson.JSONDecodeError:
        raise NetworkError("the answer is not JSON") from None
    if not isinstance(loaded, dict) or "result" not in loaded:
        raise NetworkError("the answer is not one of the Bot API")
    return loaded


def checked(status: int, body: bytes) -> tuple[int, bytes]:
    """The answer, if it is a success. Raises ApiRefused otherwise."""
    if 200 <= status < 300:
        return status, body
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    parameters = answer.get("parameters")
    description = str(answer.get("description") or f"HTTP status {status}")
    raise ApiRefused(status, description, parameters if isinstance(parameters, dict) else {})
