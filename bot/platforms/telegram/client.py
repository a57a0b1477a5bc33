"""The SDK's bot, used at the level of JSON: its objects cost more than a chat service can use of them."""

from __future__ import annotations

import mimetypes
import ssl
import sys
from collections.abc import Callable
from typing import Any

from telegram import Bot, InputFile
from telegram.request import BaseRequest

from bot.platforms.telegram.request import ANSWER_SECONDS, UPLOAD_SECONDS, ViaHttpx, proxied, trust

PUBLIC_API = "https://api.telegram.org"
CONNECTIONS = 128
"""Calls at once; more wait in line (64 chats that stream, their typing, commands)."""
UPLOADS = 8
# The first guess of a type reads files of the system: now, not while the loop runs.
mimetypes.init()
POLL_GRACE = 10.0
"""Seconds that a long poll may be late before it counts as lost."""


class _JsonBot(Bot):
    """Opens the SDK's way from parameters to a request for calls in plain JSON."""

    __slots__ = ()

    async def call(self, method: str, parameters: dict[str, Any], seconds: float | None) -> Any:
        """Call any method of the Bot API; `seconds` None is the request's own time-out."""
        if seconds is None:
            return await self._post(method, parameters)
        return await self._post(method, parameters, read_timeout=seconds)


class Client:
    """Calls of one bot. Each raises ApiRefused, NeverSent, TimedOut or NetworkError, none with the token.

    Nothing is repeated here: what an unknown outcome means is for others to decide.
    """

    def __init__(self, token: str, base_url: str | None = None) -> None:
        root = (base_url or PUBLIC_API).rstrip("/")
        self.verify = trust(root)
        """What proves the server, for downloads too."""
        self._polling, calls = _requests(root, self.verify)
        self._bot = _JsonBot(
            token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=calls,
            get_updates_request=self._polling,
        )
        self.trust_environment = proxied(root)

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method; the result is the `result` of the answer."""
        return await self._bot.call(method, parameters, None)

    async def poll(
        self, offset: int | None, seconds: int, kinds: list[str], on_sent: Callable[[], None]
    ) -> Any:
        """`getUpdates` for up to `seconds`; `on_sent` is called when the request with its offset has left."""
        if hasattr(self._polling, "on_sent"):
            self._polling.on_sent = on_sent
        parameters = {"timeout": seconds, "allowed_updates": kinds, "offset": offset}
        return await self._bot.call("getUpdates", parameters, seconds + POLL_GRACE)

    def file(self, data: bytes, filename: str) -> Any:
        """A parameter that is uploaded as a file."""
        return InputFile(data, filename=filename)

    def file_url(self, path: str) -> str:
        """Where a file is fetched; holds the token: never log it."""
        return f"{self._bot.base_file_url}/{path}"

    async def close(self) -> None:
        """Cut every connection."""
        for request in (self._polling, self._bot.request):
            await request.shutdown()


def _requests(root: str, verify: ssl.SSLContext | bool) -> tuple[BaseRequest, BaseRequest]:
    if proxied(root) or sys.platform == "win32":
        sizes = (2, CONNECTIONS)
        poll, call = (ViaHttpx(root, size, ANSWER_SECONDS, verify) for size in sizes)
        return poll, call
    from bot.platforms.telegram.direct import Direct

    uploads = ViaHttpx(root, UPLOADS, UPLOAD_SECONDS, verify)
    tls = verify if isinstance(verify, ssl.SSLContext) else None
    polling = Direct(root, 2, ANSWER_SECONDS, tls, uploads)
    return polling, Direct(root, CONNECTIONS, ANSWER_SECONDS, tls, uploads)
