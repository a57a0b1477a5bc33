"""The SDK's bot, used at the level of JSON: its objects cost more than a chat service can use of them."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import AsyncGenerator, Callable
from typing import Any

from telegram import Bot, InputFile

from bot.platforms.telegram.http import TelegramTransport

PUBLIC_API = "https://api.telegram.org"
CONNECTIONS = 128
"""Calls at once; more wait in line (64 chats that stream, their typing, commands)."""
POLL_CONNECTIONS = 2
CHUNK = 64 * 1024
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


class TelegramClient:
    """Calls of one bot. Each raises ApiRefused, NeverSent, TimedOut or NetworkError, none with the token.

    Nothing is repeated here: what an unknown outcome means is for others to decide.
    """

    def __init__(self, token: str, base_url: str | None = None) -> None:
        root = (base_url or PUBLIC_API).rstrip("/")
        self._polling, self._calls = TelegramTransport(root, POLL_CONNECTIONS), TelegramTransport(root, CONNECTIONS)
        self._bot = _JsonBot(
            token,
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            request=self._calls,
            get_updates_request=self._polling,
        )

    async def open(self) -> None:
        """Make ready for calls, in the loop that runs. Raises AccountRefused for a proxy of a wrong kind."""
        await self._polling.initialize()
        await self._calls.initialize()

    async def call(self, method: str, **parameters: Any) -> Any:
        """Call a method; the result is the `result` of the answer."""
        return await self._bot.call(method, parameters, None)

    async def poll_updates(
        self, offset: int | None, seconds: int, kinds: list[str], on_sent: Callable[[], None]
    ) -> Any:
        """`getUpdates` for up to `seconds`; `on_sent` is called when the request with its offset has left."""
        self._polling.on_sent = on_sent
        parameters = {"timeout": seconds, "allowed_updates": kinds, "offset": offset}
        return await self._bot.call("getUpdates", parameters, seconds + POLL_GRACE)

    def input_file(self, data: bytes, filename: str) -> Any:
        """A parameter that is uploaded as a file."""
        return InputFile(data, filename=filename)

    def download(self, path: str) -> AsyncGenerator[bytes, None]:
        """The content of a file that `getFile` named, in chunks."""
        return self._calls.download(f"{self._bot.base_file_url}/{path}", CHUNK)

    async def close(self) -> None:
        """Cut every connection."""
        await asyncio.gather(self._polling.shutdown(), self._calls.shutdown())
