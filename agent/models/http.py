"""One HTTP client for all models of a server: aiohttp under httpx.

httpx's own transport scans its whole connection pool whenever a request starts or ends; with a hundred
parallel answers that was an eighth of the agent's CPU time. An aiohttp session belongs to a loop and must be
closed in it, so only the owner of a loop opens one; elsewhere models use their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import HttpxAiohttpClient

from agent.models.errors import stop_long_retries

# What the openai package gives its own client (openai._constants).
LIMITS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


class _Client(HttpxAiohttpClient):
    """Maps failures to httpx's classes; httpx-aiohttp 0.2 reports a lost connection as a time-out."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        try:
            return await super().send(request, **options)
        except httpx.ConnectTimeout as error:
            cause = error.__cause__
            if isinstance(cause, TimeoutError):
                raise
            kind = httpx.ConnectError if isinstance(cause, aiohttp.ClientConnectorError) else httpx.ReadError
            raise kind(str(error), request=request) from cause


_open: list[httpx.AsyncClient] = []


@asynccontextmanager
async def shared_client() -> AsyncIterator[None]:
    """Build models with a shared HTTP client in this context, if they accept one."""
    made = await asyncio.to_thread(
        _Client, limits=LIMITS, follow_redirects=True, event_hooks={"response": [stop_long_retries]}
    )
    async with made as client:
        _open.append(client)
        try:
            yield
        finally:
            _open.remove(client)


def open_client() -> httpx.AsyncClient | None:
    """Return the shared client, if one is open."""
    return _open[-1] if _open else None
