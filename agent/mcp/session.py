"""An MCP session, opened, owned and closed by a single task; any task may call it.

One task, because the one that enters a transport's cancel scope must also leave it. A call is repeated only
if it never reached the server (closed pipe, no connection, expired session); other failures may have had an
effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
import httpx
import structlog

from agent.errors import McpCallFailed, McpError, McpUnavailable, redact_line
from agent.mcp.call_watch import CallTimer
from agent.mcp.http_client import CANT_REACH, REJECTED

log = structlog.get_logger(__name__)
PONG_SECONDS = 5.0
CLOSE_SECONDS = 10.0
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError)
_LOST, _TERMINATED = -32000, 32600
T = TypeVar("T")
Report = Callable[[str], None]
OpenSession = Callable[[Report], AbstractAsyncContextManager[Any]]
"""Opens a session. The report is called with the reason when the connection can no longer be used."""
ListTools = Callable[[Any], Awaitable[tuple[Any, ...]]]


_NEVER_DELIVERED = frozenset({CANT_REACH, REJECTED})


class NotDelivered(Exception):
    """Raised for a call that never reached the server, so that another session may retry it. The message is
    the reason.
    """


@dataclass(frozen=True, slots=True)
class SessionTimeouts:
    """Seconds to start, to finish a call, and to answer a ping after a call timed out."""

    start: float
    call: float
    pong: float = PONG_SECONDS


class McpSession:
    """`clock` returns seconds; `last_used` is a time by it; `active_calls` is the number of running calls."""

    def __init__(
        self,
        name: str,
        open_session: OpenSession,
        list_tools: ListTools,
        limits: SessionTimeouts,
        *,
        stderr_line: Callable[[], str],
        clock: Callable[[], float],
    ) -> None:
        self._name, self._open, self._list, self._limits = name, open_session, list_tools, limits
        self._stderr_line, self._clock = stderr_line, clock
        self._session: Any = None
        self._ended = asyncio.Event()
        self._end_reason = ""
        self._owner: asyncio.Task[None] | None = None
        self._tools: tuple[Any, ...] = ()
        self.last_used = clock()
        self.active_calls = 0

    @property
    def is_usable(self) -> bool:
        """Return True if the session is open and not known to be broken."""
        return self._session is not None and not self._ended.is_set()

    @property
    def is_starting(self) -> bool:
        """Return True if the session is opening."""
        return self._session is None and not self._ended.is_set()

    @property
    def is_closed(self) -> bool:
        """Return whether its task has finished."""
        return self._owner is None or self._owner.done()

    async def start(self) -> tuple[Any, ...]:
        """Open the session and return the server's tools. Raises McpUnavailable."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(lambda future: future.cancelled() or future.exception())
        self._owner = asyncio.create_task(self._hold_open(ready), name=f"mcp-{self._name}")
        try:
            async with asyncio.timeout(self._limits.start):
                await asyncio.shield(ready)
        except TimeoutError:
            self.mark_broken("did not start")
            self._owner.cancel()
            seconds = f"{self._limits.start:g}"
            raise self._unavailable_error(f"did not start within {seconds} seconds") from None
        except asyncio.CancelledError:
            self._owner.cancel()
            raise
        return self._tools

    async def refresh_tools(self) -> tuple[Any, ...]:
        """Request the tools again. Raises McpUnavailable."""
        try:
            self._tools = await self._run_bounded(self._list(self._session), self._limits.start)
        except TimeoutError:
            raise self._unavailable_error("did not list its tools in time") from None
        return self._tools

    async def call(self, work: Callable[[Any], Awaitable[T]], timer: CallTimer | None = None) -> T:
        """Run `work` with the session; `timer` controls its time. Raises McpCallFailed or NotDelivered."""
        if not self.is_usable:
            raise NotDelivered
        self.active_calls += 1
        try:
            return await self._run_bounded(work(self._session), self._limits.call, timer)
        except TimeoutError:
            await self._check_alive()
            message = (
                f"did not respond within {self._limits.call:g} seconds; the call may have had an effect."
            )
            raise McpCallFailed(message, server=self._name) from None
        except _GONE as error:
            self.mark_broken("ended")
            raise NotDelivered from error
        finally:
            self.active_calls -= 1
            self.last_used = self._clock()

    def mark_broken(self, why: str) -> None:
        """Mark the session as unusable: running calls fail, and its task closes it."""
        self._end_reason = self._end_reason or why
        self._ended.set()

    async def close(self) -> None:
        """Close the session, waiting at most twice `CLOSE_SECONDS`."""
        self.mark_broken("was closed")
        if self._owner is None:
            return
        _, pending = await asyncio.wait([self._owner], timeout=CLOSE_SECONDS)
        if pending:
            self._owner.cancel()
            await asyncio.wait([self._owner], timeout=CLOSE_SECONDS)

    async def _hold_open(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._open(self.mark_broken) as session:
                await self._run_bounded(session.initialize(), self._limits.start)
                self._tools = await self._run_bounded(self._list(session), self._limits.start)
                self._session = session
                if not ready.done():
                    ready.set_result(None)
                await self._ended.wait()
        except BaseException as error:
            self.mark_broken("ended")
            if not ready.done():
                ready.set_exception(self._unavailable_error(self._start_failure_reason(error)))
            elif not isinstance(error, asyncio.CancelledError):
                log.info("mcp_session_ended", server=self._name, error=type(_first_exception(error)).__name__)
            if isinstance(error, asyncio.CancelledError | KeyboardInterrupt | SystemExit):
                raise
        finally:
            self._session = None
            self.mark_broken("ended")
            if not ready.done():
                ready.set_exception(self._unavailable_error("did not start"))

    async def _run_bounded(self, work: Awaitable[T], seconds: float, timer: CallTimer | None = None) -> T:
        """Return the result of `work`.

        Raises TimeoutError after `seconds`, or an error if the connection breaks first.
        """
        task = asyncio.ensure_future(work)
        over = asyncio.ensure_future(self._ended.wait())
        try:
            async with asyncio.timeout(seconds) as limit:
                with (timer or CallTimer()).attached(limit, seconds):
                    await asyncio.wait([task, over], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise self._connection_error()
            return self._unwrap_result(task)
        finally:
            over.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    def _unwrap_result(self, task: asyncio.Future[T]) -> T:
        """Return the task's result. Errors that close the session mark it as broken."""
        try:
            return task.result()
        except Exception as error:
            code = getattr(getattr(error, "error", None), "code", None)
            if code == _TERMINATED:
                self.mark_broken("ended the session")
                raise NotDelivered from error
            if code == _LOST or isinstance(error, anyio.EndOfStream):
                self.mark_broken("ended")
                raise self._connection_error() from error
            raise

    def _connection_error(self) -> Exception:
        why = self._end_reason or "ended"
        # With several calls, the origin of the request is unknown.
        if why in _NEVER_DELIVERED and self.active_calls <= 1:
            return NotDelivered(why)
        words = self._stderr_line()
        said = f" (stderr: {redact_line(words)})" if words else ""
        return McpCallFailed(
            f"{why} during the call{said}; the call may have had an effect.", server=self._name
        )

    async def _check_alive(self) -> None:
        """Ping the server after a timeout; without an answer the session is abandoned."""
        if not self.is_usable:
            return
        try:
            await self._run_bounded(self._session.send_ping(), self._limits.pong)
        except (TimeoutError, McpError, NotDelivered, *_GONE):
            self.mark_broken("stopped responding")

    def _unavailable_error(self, what: str) -> McpUnavailable:
        return McpUnavailable(f"{what}.", server=self._name)

    def _start_failure_reason(self, error: BaseException) -> str:
        """Describe why the server did not start."""
        first = _first_exception(error)
        if known := _known_reason(first):
            return known
        if self._end_reason and self._end_reason != "ended":
            is_whole = self._end_reason.startswith("can't")
            return self._end_reason if is_whole else f"can't be used: it {self._end_reason}"
        if words := self._stderr_line():
            return f"ended while starting: {redact_line(words)}"
        # A program may end before or while it is asked.
        if isinstance(first, (McpCallFailed, NotDelivered, BrokenPipeError, ConnectionResetError, *_GONE)):
            return "ended before it listed its tools"
        return f"can't be started ({type(first).__name__})"


def _known_reason(error: BaseException) -> str:
    """Describe a failure that explains itself, or return ""."""
    if isinstance(error, McpUnavailable):
        return str(error).partition('" ')[2].rstrip(".")
    if isinstance(error, FileNotFoundError | PermissionError):
        return "can't be started: its command is not installed, or is not on PATH"
    if isinstance(error, httpx.HTTPStatusError):
        return f"can't be used: it returned status {error.response.status_code}"
    return "can't be reached" if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) else ""


def _first_exception(error: BaseException) -> BaseException:
    """Return the first exception of nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
