"""The pool of a server's process, opened and closed with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.mcp.pool import McpPool

_open: list[tuple[asyncio.AbstractEventLoop, McpPool]] = []


@asynccontextmanager
async def open_shared_pool() -> AsyncIterator[None]:
    """While this is open, lead agents of this loop that were given no pool use one that they share."""
    entry = (asyncio.get_running_loop(), McpPool())
    _open.append(entry)
    try:
        yield
    finally:
        _open.remove(entry)
        await entry[1].aclose()


def current_pool() -> McpPool | None:
    """The shared pool of the running loop, if one is open."""
    loop = asyncio.get_running_loop()
    return next((pool for owner, pool in reversed(_open) if owner is loop), None)
