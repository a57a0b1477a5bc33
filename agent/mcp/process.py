"""The pool of a server's process, opened and closed with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.mcp.pool import McpPool

_open: list[McpPool] = []


@asynccontextmanager
async def shared_pool() -> AsyncIterator[None]:
    """While this is open, lead agents that were given no pool use one that they share."""
    pool = McpPool()
    _open.append(pool)
    try:
        yield
    finally:
        _open.remove(pool)
        await pool.aclose()


def open_pool() -> McpPool | None:
    """The shared pool, if one is open."""
    return _open[-1] if _open else None
