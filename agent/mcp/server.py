"""A configured server: its tools, and its sessions, one for each conversation or one for all."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Any

import structlog

from agent.config.extensions import McpServer
from agent.errors import McpCallFailed, McpUnavailable
from agent.mcp.oauth import TokenAuth
from agent.mcp.session import Limits, NotDelivered, Report, Session
from agent.shared.process import TAIL_BYTES, OutputBuffer

log = structlog.get_logger(__name__)
SESSIONS = 16
"""Of one server at the same time; the one that was unused for longest gives way."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds before a server that did not start is started again: doubled each time."""
UNCLAIMED = None
Key = str | None


class Server:
    """Starts when its tools are first asked for. `version` rises whenever they change."""

    def __init__(self, name: str, config: McpServer, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self.config, self._clock = name, config, clock
        self._auth = TokenAuth(config.oauth, server=name, clock=clock) if config.oauth else None
        self._sessions: OrderedDict[Key, Session] = OrderedDict()
        self._leaving: set[Session] = set()
        self._opening: dict[Key, asyncio.Lock] = {}
        self._module: Any = None
        self._failures = self._crashes = 0
        self._not_before = 0.0
        self._why = ""
        self._is_stale = False
        self._closed = False
        self.tools: tuple[Any, ...] | None = None
        self.version = 0
        self.listing: asyncio.Task[None] | None = None
        self.listing_since = 0.0

    @property
    def trouble(self) -> str:
        """Why it can't be used now; empty if it can, as far as is known."""
        return self._why

    @property
    def open_sessions(self) -> int:
        """How many sessions are open."""
        return sum(session.usable for session in self._sessions.values())

    def wants_listing(self) -> bool:
        """Whether its tools should be asked for: none are known yet, or they changed, and it may be tried."""
        is_due = self.tools is None or self._is_stale
        return is_due and self.listing is None and not self._closed and self._clock() >= self._not_before

    async def list_tools(self) -> None:
        """Ask for its tools; a failure is remembered and told in the log."""
        try:
            self._is_stale = False
            session = next((one for one in self._sessions.values() if one.usable), None)
            if session is None:
                await self._session(UNCLAIMED)
            else:
                self._know(await session.list_again())
        except (McpUnavailable, NotDelivered, McpCallFailed) as error:
            log.warning("mcp_server_unavailable", server=self.name, detail=str(error))
        finally:
            self.listing = None

    async def call(self, key: str, tool: str, arguments: dict[str, Any]) -> Any:
        """The result of a call of the conversation `key`. Raises McpUnavailable or McpCallFailed."""
        key = "" if self.config.scope == "shared" else key
        wire = await self._wire()

        def work(session: Any) -> Awaitable[Any]:
            return wire.called(session, tool, arguments)  # type: ignore[no-any-return]

        try:
            return await self._done(key, work)
        except NotDelivered:
            self._drop(key)
        try:
            return await self._done(key, work)
        except NotDelivered:
            self._drop(key)
            raise McpUnavailable("can't be reached. Try again later.", server=self.name) from None

    async def _done(self, key: Key, work: Callable[[Any], Awaitable[Any]]) -> Any:
        session = await self._session(key)
        try:
            result = await session.call(work)
        except McpCallFailed as error:
            if not session.usable:
                self._crashed(error)
            raise
        self._crashes = 0
        return result

    async def close_idle(self, seconds: float) -> None:
        """Close the sessions that were not used for so long, and those that are over."""
        now = self._clock()
        for key, session in list(self._sessions.items()):
            is_idle = not session.busy and now - session.last_used >= seconds
            if not session.is_starting and (is_idle or not session.usable):
                self._drop(key)
                await session.close()

    async def close(self) -> None:
        """Close everything; calls under way fail."""
        self._closed = True
        if self.listing is not None:
            self.listing.cancel()
            await asyncio.wait([self.listing])
        sessions, self._sessions = [*self._sessions.values(), *self._leaving], OrderedDict()
        await asyncio.gather(*(session.close() for session in sessions))

    async def _session(self, key: Key) -> Session:
        async with self._opening.setdefault(key, asyncio.Lock()):
            self._claim(key)
            session = self._sessions.get(key)
            if session is not None and session.usable:
                self._sessions.move_to_end(key)
                return session
            self._check()
            if session is not None:
                self._drop(key)
                await session.close()
            await self._make_room()
            return await self._started(key)

    def _claim(self, key: Key) -> None:
        """The session that listed the tools goes to the first conversation that calls one."""
        spare = self._sessions.get(UNCLAIMED)
        if key is not UNCLAIMED and key not in self._sessions and spare is not None and spare.usable:
            del self._sessions[UNCLAIMED]
            self._sessions[key] = spare

    def _check(self) -> None:
        if self._closed:
            raise McpUnavailable("is switched off.", server=self.name)
        wait = self._not_before - self._clock()
        if wait > 0:
            raise McpUnavailable(
                f"{self._why} It is tried again in {wait:.0f} seconds.".strip(), server=self.name
            )

    async def _started(self, key: Key) -> Session:
        wire, tail = await self._wire(), OutputBuffer(TAIL_BYTES)

        def open_session(report: Report) -> AbstractAsyncContextManager[Any]:
            opened: AbstractAsyncContextManager[Any] = wire.opened(
                self.config, auth=self._auth, tail=tail, report=report, on_changed=self._changed
            )
            return opened

        session = Session(
            self.name,
            open_session,
            wire.listed,
            Limits(self.config.start_seconds, self.config.timeout_seconds),
            last_words=lambda: tail.last_line,
            clock=self._clock,
        )
        self._sessions[key] = session
        try:
            self._know(await session.start())
        except McpUnavailable as error:
            self._failed(error)
            self._drop(key)
            raise
        self._failures, self._not_before, self._why = 0, 0.0, ""
        return session

    async def _make_room(self) -> None:
        while len(self._sessions) >= SESSIONS:
            idle = [key for key, one in self._sessions.items() if not one.busy and not one.is_starting]
            if not idle:
                raise McpUnavailable("is busy in too many conversations. Try again later.", server=self.name)
            session = self._sessions.pop(idle[0])
            await session.close()

    async def _wire(self) -> Any:
        if self._module is not None:
            return self._module
        try:
            self._module = await asyncio.to_thread(import_module, "agent.mcp.wire")
            return self._module
        except ModuleNotFoundError as error:
            package = (error.name or "mcp").partition(".")[0].replace("_", "-")
            message = f"needs the package {package}, which is not installed: pip install 'roebot[mcp]'"
            raise McpUnavailable(message, server=self.name) from error

    def _know(self, tools: tuple[Any, ...]) -> None:
        if tools != self.tools:
            self.tools = tools
            self.version += 1

    def _changed(self) -> None:
        self._is_stale = True

    def _drop(self, key: Key) -> None:
        if (session := self._sessions.pop(key, None)) is not None:
            self._leaving = {one for one in (*self._leaving, session) if not one.is_closed}
        if (lock := self._opening.get(key)) is not None and not lock.locked():
            del self._opening[key]

    def _crashed(self, error: McpCallFailed) -> None:
        """It is started again at once the first time, then after a pause."""
        log.warning("mcp_server_broke", server=self.name, detail=str(error))
        if self._crashes:
            pause = min(FIRST_PAUSE * 2 ** (self._crashes - 1), LONGEST_PAUSE)
            self._not_before, self._why = self._clock() + pause, "broke several times."
        self._crashes += 1

    def _failed(self, error: McpUnavailable) -> None:
        pause = min(FIRST_PAUSE * 2**self._failures, LONGEST_PAUSE)
        self._failures += 1
        self._not_before = self._clock() + pause
        self._why = str(error).partition('" ')[2]
