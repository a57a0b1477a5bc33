"""The SDK's client on our own session, without retries."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.platforms.http import ANSWER_SECONDS, CONNECT_SECONDS, UPLOAD_SECONDS, PlatformHttp

PUBLIC_API = "https://slack.com/api/"
HEARTBEAT = 10.0
"""Seconds between pings on the socket; one without an answer within half of it ends the connection."""
FRAME_LIMIT = 4 * 1024 * 1024
"""Bytes of a message on the socket."""


class SlackClient:
    """Calls of one app. `web` raises SlackApiError and the errors of aiohttp (`errors.CALL_ERRORS`)."""

    def __init__(self, token: str, app_token: str, base_url: str | None = None) -> None:
        self._root = base_url or PUBLIC_API
        self._token = token
        self._app_token = app_token
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._http = PlatformHttp("Slack", self._root, timeout=timeout)
        self.web = AsyncWebClient(token, base_url=self._root, proxy="unset", retry_handlers=[])

    async def open(self) -> None:
        """Open the session in the running loop. Raises AccountRefused for an unusable proxy."""
        await self._http.open()
        self.web.proxy = self._http.proxy
        self.web.session = self._http.session

    async def socket_address(self) -> str:
        """Ask for a fresh address for Socket Mode."""
        answer = await self.web.apps_connections_open(app_token=self._app_token)
        return str(answer.get("url") or "")

    def socket(self, address: str) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """Return a context with a WebSocket that is pinged, and cut at its end."""
        timeout = aiohttp.ClientWSTimeout(ws_close=0.2)
        return self._http.session.ws_connect(
            address, heartbeat=HEARTBEAT, timeout=timeout, max_msg_size=FRAME_LIMIT
        )

    def download(self, address: str) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Return a context with a private file, for which the token is sent: check `trusted` before."""
        return self._http.stream(address, headers={"Authorization": f"Bearer {self._token}"})

    async def respond(self, address: str, body: dict[str, Any]) -> int:
        """Post to a response URL, without the token; return the HTTP status."""
        return (await self._http.call("POST", address, json=body)).status

    async def upload(self, address: str, data: bytes) -> int:
        """Post a file's bytes to an upload address, which is the permission; return the HTTP status."""
        answer = await self._http.call("POST", address, data=data, seconds=UPLOAD_SECONDS, limit_total=False)
        return answer.status

    def trusted(self, address: str) -> bool:
        """Return True for addresses of Slack and of the configured server: others never get the token."""
        parts, own = urlsplit(address), urlsplit(self._root)
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            return True
        host = parts.hostname or ""
        return parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))

    async def close(self) -> None:
        """Cut every connection."""
        await self._http.close()
