"""Web tools without configuration, offered while the internet is reachable.

Searching and reading are what people try first, and both only read public content. An agent in a closed
network should not learn of tools that can't work.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping

import structlog

from agent.config.harness import ToolEntry
from agent.config.models import WEB_GROUP

log = structlog.get_logger(__name__)
SEARCH, FETCH = "web_search", "web_fetch"
_COMMUNITY = "agent.tools.community"
DEFAULT_ENTRIES: Mapping[str, ToolEntry] = {
    name: ToolEntry(name=name, group=WEB_GROUP, use=f"{_COMMUNITY}.{use}")
    for name, use in ((SEARCH, "duckduckgo:web_search_tool"), (FETCH, "direct:web_fetch_tool"))
}
OFFLINE_VARIABLE = "ROEBOT_OFFLINE"
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_HOST, _PORT = "html.duckduckgo.com", 443
CONNECT_SECONDS = 1.5
WAIT_SECONDS = 0.3
"""Longest wait of a run for an attempt; the result of a slower one is used from the next run on."""
CHECK_SECONDS = 600.0

Connect = Callable[[], Awaitable[bool]]


async def connect_to_internet() -> bool:
    """Return whether the search service accepts a connection. Sends nothing."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(_HOST, _PORT)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


class WebReach:
    """Finds the default tools that work here, testing a connection at most every `CHECK_SECONDS`.

    Through a proxy, which is not tried, only searching works: pages are fetched by checked address.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        *,
        connect: Connect = connect_to_internet,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._environ, self._connect, self._clock = environ, connect, clock
        self._found: tuple[str, ...] = ()
        self._check_at = float("-inf")
        self._attempt: asyncio.Task[None] | None = None

    async def find_tools(self) -> tuple[str, ...]:
        """Return the names of the default tools that work."""
        now = self._clock()
        if now >= self._check_at:
            # Set before the attempt, so that simultaneous runs don't all wait for it.
            self._check_at = now + CHECK_SECONDS
            self._attempt = asyncio.create_task(self._update(), name="web_reach")
            await asyncio.wait({self._attempt}, timeout=WAIT_SECONDS)
        return self._found

    async def _update(self) -> None:
        found = await self._check()
        if found != self._found:
            log.info("web_tools_changed", offered=list(found))
            self._found = found

    async def _check(self) -> tuple[str, ...]:
        if self._environ.get(OFFLINE_VARIABLE, "") not in {"", "0", "false"}:
            return ()
        if await self._connect():
            return (SEARCH, FETCH)
        return (SEARCH,) if any(self._environ.get(name) for name in _PROXY_VARIABLES) else ()
