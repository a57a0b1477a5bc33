"""The client of one configured MCP server: its tools and sessions, one per conversation or one for all.

A session can hold state such as a database or a signed-in browser, which a shared one would expose to other
chats; LangChain's adapters open one per call and lose that state. The session that listed the tools goes to
the first conversation that calls one.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib import import_module
from typing import Any

import structlog

from agent.config.extensions import McpOAuth, McpServer
from agent.core.run_context import RunContext
from agent.errors import McpCallFailed, McpUnavailable
from agent.mcp.call_watch import CallTimer
from agent.mcp.call_watch import Report as ReportProgress
from agent.mcp.http_client import CANT_REACH, OAuthTokenAuth
from agent.mcp.live_calls import CANCEL, Answer, LiveCalls, ServerQuestion
from agent.mcp.rounds import call_in_rounds
from agent.mcp.server_sign_in import ServerSignIn
from agent.mcp.session import McpSession, NotDelivered, Report, SessionTimeouts
from agent.mcp.sign_ins import SignIns
from agent.shared.process import TAIL_BYTES, OutputBuffer

log = structlog.get_logger(__name__)
MAX_SESSIONS = 16
"""Maximum number of open sessions of a server; a new one replaces the least recently used."""
FIRST_BACKOFF, MAX_BACKOFF = 1.0, 300.0
UNCLAIMED = None
Key = str | None
_PERSON = "\0"
"""Separates the conversation and the person in a key."""


class McpServerClient:
    """Starts the server when its tools are first requested. `version` increases whenever the tools change."""

    def __init__(
        self,
        name: str,
        config: McpServer,
        *,
        sign_ins: SignIns | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without `sign_ins` nobody can sign in to the server."""
        self.name, self.config, self._clock = name, config, clock
        self._sign_ins = sign_ins
        self._auth: OAuthTokenAuth | None = None
        self.sign_in: ServerSignIn | None = None
        if config.oauth is not None and config.oauth.grant_type == "authorization_code":
            self.sign_in = self._make_sign_in(config.oauth)
        elif config.oauth is not None:
            self._auth = OAuthTokenAuth(config.oauth, server=name, clock=clock)
        self._sessions: OrderedDict[Key, McpSession] = OrderedDict()
        self._closing: set[McpSession] = set()
        self._opening: dict[Key, asyncio.Lock] = {}
        self._module: Any = None
        self._era: Any = None
        self._failures = self._crashes = 0
        self._retry_at = 0.0
        self.problem = ""
        """Why the server can't be used now, or ""."""
        self._is_stale = False
        self._closed = False
        # A shared session does not reveal which call asks, and a question must not reach another chat.
        self.live_calls = LiveCalls(name) if config.scope == "thread" else None
        self.tools: tuple[Any, ...] | None = None
        self.left_out: dict[str, str] = {}
        """Reasons why tools are not offered to models, by the server's names of the tools."""
        self.version = 0
        self.listing_task: asyncio.Task[None] | None = None
        self.listing_started_at = 0.0

    @property
    def open_sessions(self) -> int:
        return sum(session.is_usable for session in self._sessions.values())

    def needs_listing(self) -> bool:
        """Return True if the tools are unknown or changed, and a start is allowed now."""
        is_due = self.tools is None or self._is_stale
        return is_due and self.listing_task is None and not self._closed and self._clock() >= self._retry_at

    async def list_tools(self) -> None:
        """Request the tools. A failure is logged and delays the next attempt."""
        try:
            self._is_stale = False
            session = next((one for one in self._sessions.values() if one.is_usable), None)
            if session is None:
                await self._get_session(UNCLAIMED)
            else:
                self._set_tools(await session.refresh_tools())
        except (McpUnavailable, NotDelivered, McpCallFailed) as error:
            log.warning("mcp_server_unavailable", server=self.name, detail=str(error))
            self._expect_sign_in(error)
            if self.sign_in is not None and self.tools is None:
                self._set_tools(())
        finally:
            self.listing_task = None

    def session_key(self, context: RunContext) -> str:
        """Return the key of the session that serves a run: of its conversation, and of who signed in."""
        thread_id = "" if self.config.scope == "shared" else context.thread_id or ""
        is_personal = self.sign_in is not None and not self.sign_in.is_shared
        return f"{thread_id}{_PERSON}{context.user_id or ''}" if is_personal else thread_id

    def _expect_sign_in(self, error: Exception) -> None:
        """Offer a sign-in if the server wants one and the configuration has nothing else for it."""
        config = self.config
        has_own = config.oauth is not None or any(name.lower() == "authorization" for name in config.headers)
        if self.sign_in is None and not has_own and "returned status 401" in str(error):
            self.sign_in = self._make_sign_in(McpOAuth(grant_type="authorization_code"))

    def _make_sign_in(self, oauth: McpOAuth) -> ServerSignIn | None:
        if self._sign_ins is None or self.config.url is None:
            return None
        return ServerSignIn(self.name, self.config.url, oauth, self._sign_ins, self._list_again)

    def _list_again(self) -> None:
        """Request the tools in the next run, whatever has failed before."""
        self._is_stale, self._retry_at = True, 0.0

    async def _find_auth(self, key: Key) -> Any:
        """Return the authorization of a session."""
        if self.sign_in is None:
            return self._auth
        if key is UNCLAIMED:
            return self.sign_in.auth_of(await self.sign_in.find_person())
        return self.sign_in.auth_of(key.partition(_PERSON)[2])

    async def call_tool(
        self, key: str, tool: str, arguments: dict[str, Any], timer: CallTimer, report: ReportProgress
    ) -> Any:
        """Call a tool in the session of `key` (see `session_key`). Raises McpUnavailable or McpCallFailed.

        `timer` controls the time limit, `report` gets the progress.
        """
        wire = await self._load_wire()

        async def attempt(retry: Any) -> Any:
            work = partial(
                wire.call_tool, tool=tool, arguments=arguments, timer=timer, report=report, retry=retry
            )
            result = await self._call_once(key, work, timer)
            # Servers with sessions may use the key `resultType` for anything.
            return result if self._era.is_stateless else {**result, "resultType": "complete"}

        return await call_in_rounds(self.name, attempt, partial(self.answer_question, key))

    async def _call_once(self, key: str, work: Callable[[Any], Awaitable[Any]], timer: CallTimer) -> Any:
        """Make a call; repeat it once in a new session if it never reached the server."""
        try:
            return await self._run_in_session(key, work, timer)
        except NotDelivered:
            self._drop_session(key)
        try:
            return await self._run_in_session(key, work, timer)
        except NotDelivered as error:
            self._drop_session(key)
            why = str(error) or CANT_REACH
            raise McpUnavailable(f"{why}. Try again later.", server=self.name) from None

    async def answer_question(self, key: Key, question: ServerQuestion) -> Answer:
        """Ask a person in the session of `key` and return the answer; cancel if none of its calls waits."""
        calls = self.live_calls
        thread_id = (key or "").partition(_PERSON)[0]
        asker = calls.find_asker(thread_id) if calls is not None and thread_id else None
        return await asker.ask(question) if asker is not None else CANCEL

    async def _run_in_session(self, key: Key, work: Callable[[Any], Awaitable[Any]], timer: CallTimer) -> Any:
        session = await self._get_session(key)
        try:
            result = await session.call(work, timer)
        except McpCallFailed as error:
            if not session.is_usable:
                self._record_crash(error)
            raise
        self._crashes = 0
        return result

    async def forget_person(self, person: str) -> None:
        """Forget a person's tokens and close their sessions."""
        if self.sign_in is None:
            return
        self.sign_in.auth_of(person).expire()
        for key, session in list(self._sessions.items()):
            if key is not UNCLAIMED and key.partition(_PERSON)[2] == person:
                self._drop_session(key)
                await session.close()

    async def close_idle(self, seconds: float) -> None:
        """Close sessions that were unused for `seconds`, and broken ones."""
        now = self._clock()
        for key, session in list(self._sessions.items()):
            is_idle = not session.active_calls and now - session.last_used >= seconds
            if not session.is_starting and (is_idle or not session.is_usable):
                self._drop_session(key)
                await session.close()

    async def close(self) -> None:
        """Close all sessions; running calls fail."""
        self._closed = True
        if self.live_calls is not None:
            self.live_calls.close()
        if self.sign_in is not None:
            self.sign_in.close()
        if self.listing_task is not None:
            self.listing_task.cancel()
            await asyncio.wait([self.listing_task])
        sessions, self._sessions = [*self._sessions.values(), *self._closing], OrderedDict()
        await asyncio.gather(*(session.close() for session in sessions))

    async def _get_session(self, key: Key) -> McpSession:
        async with self._opening.setdefault(key, asyncio.Lock()):
            self._claim_spare_session(key)
            session = self._sessions.get(key)
            if session is not None and session.is_usable:
                self._sessions.move_to_end(key)
                return session
            self._check_available()
            if session is not None:
                self._drop_session(key)
                await session.close()
            await self._make_room()
            return await self._start_session(key)

    def _claim_spare_session(self, key: Key) -> None:
        """Reuse the session that listed the tools for the first conversation that calls one."""
        spare = self._sessions.get(UNCLAIMED)
        if self.sign_in is not None and not self.sign_in.is_shared:
            # It may be another person's.
            return
        if key is not UNCLAIMED and key not in self._sessions and spare is not None and spare.is_usable:
            del self._sessions[UNCLAIMED]
            self._sessions[key] = spare

    def _key_of(self, session: McpSession) -> Key:
        """Return the conversation that the session serves."""
        return next((key for key, one in self._sessions.items() if one is session), UNCLAIMED)

    def _check_available(self) -> None:
        if self._closed:
            raise McpUnavailable("is switched off.", server=self.name)
        wait = self._retry_at - self._clock()
        if wait > 0:
            raise McpUnavailable(
                f"{self.problem} Next attempt in {wait:.0f} seconds.".strip(), server=self.name
            )

    async def _start_session(self, key: Key) -> McpSession:
        wire, tail = await self._load_wire(), OutputBuffer(TAIL_BYTES)
        known = self._era.is_stateless
        auth = await self._find_auth(key)

        async def answer(question: ServerQuestion) -> Answer:
            return await self.answer_question(self._key_of(session), question)

        def open_session(report: Report) -> AbstractAsyncContextManager[Any]:
            hooks = wire.SessionHooks(
                server=self.name,
                on_broken=report,
                on_changed=self._mark_stale,
                answer=answer if self.live_calls is not None else None,
                era=self._era,
            )
            opened: AbstractAsyncContextManager[Any] = wire.open_session(
                self.config, auth=auth, tail=tail, hooks=hooks
            )
            return opened

        session = McpSession(
            self.name,
            open_session,
            wire.list_tools,
            SessionTimeouts(self.config.start_seconds, self.config.timeout_seconds),
            stderr_line=lambda: tail.last_line,
            clock=self._clock,
        )
        self._sessions[key] = session
        try:
            self._set_tools(await session.start())
        except McpUnavailable as error:
            self._drop_session(key)
            if known is not False and self._era.is_stateless is False:
                return await self._start_session(key)
            self._era.is_stateless = None
            self._record_start_failure(error)
            raise
        self._failures, self._retry_at, self.problem = 0, 0.0, ""
        return session

    async def _make_room(self) -> None:
        while len(self._sessions) >= MAX_SESSIONS:
            idle = [
                key for key, one in self._sessions.items() if not one.active_calls and not one.is_starting
            ]
            if not idle:
                raise McpUnavailable(
                    "is in use by too many conversations. Try again later.", server=self.name
                )
            session = self._sessions.pop(idle[0])
            await session.close()

    async def _load_wire(self) -> Any:
        if self._module is not None:
            return self._module
        try:
            self._module = await asyncio.to_thread(import_module, "agent.mcp.wire")
            self._era = self._module.Era()
            return self._module
        except ModuleNotFoundError as error:
            package = (error.name or "mcp").partition(".")[0].replace("_", "-")
            message = f"needs the package {package}, which is not installed: pip install 'roebot[mcp]'"
            raise McpUnavailable(message, server=self.name) from error

    def _set_tools(self, tools: tuple[Any, ...]) -> None:
        if tools != self.tools:
            self.tools, self.left_out = tools, {}
            self.version += 1

    def _mark_stale(self) -> None:
        self._is_stale = True

    def _drop_session(self, key: Key) -> None:
        if (session := self._sessions.pop(key, None)) is not None:
            self._closing = {one for one in (*self._closing, session) if not one.is_closed}
        if (lock := self._opening.get(key)) is not None and not lock.locked():
            del self._opening[key]

    def _record_crash(self, error: McpCallFailed) -> None:
        """Allow the first restart at once, later ones after a backoff."""
        log.warning("mcp_server_broke", server=self.name, detail=str(error))
        if self._crashes:
            self._retry_at = self._clock() + _pause_after(self._crashes - 1)
            self.problem = "crashed several times."
        self._crashes += 1

    def _record_start_failure(self, error: McpUnavailable) -> None:
        self._retry_at = self._clock() + _pause_after(self._failures)
        self._failures += 1
        self.problem = str(error).partition('" ')[2]


def _pause_after(failures: int) -> float:
    """Return the pause before another attempt (s), twice as long after each of so many failures."""
    # A float can't hold more than 1,023 doublings.
    return min(FIRST_BACKOFF * 2.0 ** min(failures, 30), MAX_BACKOFF)
