"""HTTP to the bundled runtime: aiohttp below httpx, on its Unix socket.

httpx's own transport looks at every connection of its pool whenever a request begins or ends; with some
hundred open streams that was half of the bot's work.
"""

from __future__ import annotations

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

# Idle connections are closed after this time (seconds); uvicorn would close them after its own 5.
KEEP_ALIVE = 4.0


def unix_transport(socket: str) -> httpx.AsyncBaseTransport:
    """A transport of any number of connections to one Unix socket."""

    def session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(socket, limit=0, keepalive_timeout=KEEP_ALIVE),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    # The TLS settings are never used on a socket, and the default ones take milliseconds to make.
    return AiohttpTransport(client=session, verify=False)
