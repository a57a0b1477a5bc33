"""The SDK's client on our own session, without retries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import AccountLost
from bot.platforms.proxy_and_tls import proxy_for

PUBLIC_API = "https://slack.com/api/"
CONNECTIONS = 64
ANSWER_SECONDS = 30.0
CONNECT_SECONDS = 10.0
UPLOAD_SECONDS = 120.0
HEARTBEAT = 10.0
"""Seconds between pings on the socket; one without an answer within half of it ends the connection."""
ANSWER_LIMIT = 4 * 1024 * 1024


class SlackClient:
    """Calls of one app. `web` raises SlackApiError and the errors of aiohttp (`failures.CALL_ERRORS`)."""

    def __init__(self, token: str, app_token: str, base_url: str | None = None) -> None:
        self.root = base_url or PUBLIC_API
        self._token = token
        self._app_token = app_token
        self._session: aiohttp.ClientSession | None = None
        self._proxy: str | None = None
        self.web = AsyncWebClient(token, base_url=self.root, proxy="unset", retry_handlers=[])

    async def open(self) -> None:
        """Make ready for calls, in the loop that runs. Raises AccountRefused for a proxy of a wrong kind."""
        self._proxy = await asyncio.to_thread(proxy_for, self.root)
        self.web.proxy = self._proxy
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS, connect=CONNECT_SECONDS)
        connector = aiohttp.TCPConnector(limit=CONNECTIONS)
        self._session = aiohttp.ClientSession(connector=connector, timeout=timeout)
        self.web.session = self._session

    async def socket_address(self) -> str:
        """A fresh address for Socket Mode."""
        answer = await self.web.apps_connections_open(app_token=self._app_token)
        return str(answer.get("url") or "")

    @asynccontextmanager
    async def socket(self, address: str) -> AsyncGenerator[aiohttp.ClientWebSocketResponse, None]:
        """A WebSocket at `address`, pinged, and cut when the block ends."""
        timeout = aiohttp.ClientWSTimeout(ws_close=0.2)
        async with self._open().ws_connect(
            address, heartbeat=HEARTBEAT, proxy=self._proxy, timeout=timeout, max_msg_size=ANSWER_LIMIT
        ) as socket:
            yield socket

    @asynccontextmanager
    async def download(self, address: str) -> AsyncGenerator[aiohttp.ClientResponse, None]:
        """A private file, asked for with the token: only for addresses that `trusted` knows."""
        headers = {"Authorization": f"Bearer {self._token}"}
        timeout = aiohttp.ClientTimeout(connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        async with self._open().get(
            address, headers=headers, timeout=timeout, proxy=self._proxy, allow_redirects=False
        ) as response:
            yield response

    async def respond(self, address: str, body: dict[str, Any]) -> int:
        """Post to a response URL; the HTTP status. No token goes there."""
        async with self._open().post(
            address, json=body, proxy=self._proxy, allow_redirects=False
        ) as response:
            return response.status

    async def upload(self, address: str, data: bytes) -> int:
        """Bring a file's bytes to an upload address; the HTTP status. The address is the permission."""
        timeout = aiohttp.ClientTimeout(connect=CONNECT_SECONDS, sock_read=UPLOAD_SECONDS)
        async with self._open().post(
            address, data=data, timeout=timeout, proxy=self._proxy, allow_redirects=False
        ) as response:
            return response.status

    def trusted(self, address: str) -> bool:
        """Return True for Slack's own addresses, and those of the configured server: others never get the
        token.
        """
        parts, own = urlsplit(address), urlsplit(self.root)
        if (parts.scheme, parts.netloc) == (own.scheme, own.netloc):
            return True
        host = parts.hostname or ""
        return parts.scheme == "https" and (host == "slack.com" or host.endswith(".slack.com"))

    async def close(self) -> None:
        """Cut every connection."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            raise AccountLost("the client is closed")
        return self._session
