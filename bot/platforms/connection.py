"""Life cycle of a connected account: start and stop, health reports, reconnection with backoff."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Generic, NoReturn, Protocol, TypeVar

from bot.account_state import AccountState, Live
from bot.clock import Clock
from bot.errors import AccountError, AccountLost, AccountRefused, DeliveryCategory, DeliveryError
from bot.platforms.base import AdapterContext

REPORT_INTERVAL = 1.0
"""Seconds between two reports that only renew `last_event`."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Bounds of the pause before another connection attempt (s)."""
LOST_AFTER = 120.0
"""Seconds without a connection after which the account is started again from scratch."""
STOP_SECONDS = 1.2
"""Seconds that `stop` gives a session to store what it has received."""
_NOT_LISTENING = frozenset({Live.DEAF, Live.FAILED, Live.STOPPED})


class AccountHealth:
    """Reports every change of an account's live state, and `last_event` at most once a second."""

    def __init__(self, title: str, report: Callable[[AccountState], None], clock: Clock) -> None:
        self.identity = ""
        self.last_event_at = clock.now()
        self._title = title
        self._report = report
        self._clock = clock
        self._state = AccountState(Live.CONNECTING)
        self._note = ""
        self._limit = ""
        self._limited_until = 0.0

    def mark_connecting(self, reason: str = "") -> None:
        """Report that the account is not connected yet."""
        self._change(Live.CONNECTING, reason)

    def mark_live(self, note: str = "") -> None:
        """Record an event of the platform: the account is live unless a limit still applies.

        A `note` replaces the text shown while the account is live.
        """
        self.last_event_at = now = self._clock.now()
        self._note = note or self._note
        limited = now < self._limited_until
        live, reason = (Live.LIMITED, self._limit) if limited else (Live.LIVE, self._note)
        unchanged = (live, reason) == (self._state.live, self._state.reason)
        if unchanged and now - self._state.last_event < REPORT_INTERVAL:
            return
        self._change(live, reason, last_event=now)

    def add_note(self, note: str) -> None:
        """Add a sentence, once, to the text displayed while the account is live."""
        if note not in self._note:
            self._note = "; ".join(filter(None, [self._note, note]))

    def record_accepted_call(self) -> None:
        """Clear an expired limit, since the platform accepted a call."""
        if self._state.live is Live.LIMITED and self._clock.now() >= self._limited_until:
            has_events = self._state.last_event > 0.0
            self._change(Live.LIVE if has_events else Live.CONNECTING, self._note if has_events else "")

    def mark_limited(self, seconds: float) -> None:
        """Report a rate limit of the platform; an account that receives nothing keeps its state."""
        self._limited_until = max(self._limited_until, self._clock.now() + seconds)
        self._limit = f"{self._title} asks to wait {seconds:g} s"
        if self._state.live not in _NOT_LISTENING:
            self._change(Live.LIMITED, self._limit)

    def mark_deaf(self, reason: str) -> None:
        """Report that nothing is received, or has been received for longer than expected."""
        self._change(Live.DEAF, reason)

    def mark_failed(self, reason: str) -> None:
        """Report that the account cannot continue."""
        self._change(Live.FAILED, reason)

    def mark_stopped(self) -> None:
        """Report a stop on request."""
        self._change(Live.STOPPED)

    def _change(self, live: Live, reason: str = "", last_event: float | None = None) -> None:
        same = live is self._state.live
        since = self._state.since if same and self._state.since else self._clock.now()
        event_at = self._state.last_event if last_event is None else last_event
        state = AccountState(live, reason, since, self.identity, event_at)
        if state != self._state:
            self._state = state
            self._report(state)


class ReconnectBackoff:
    """Spaces out connection attempts, and gives up after two minutes without a connection."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pause = FIRST_PAUSE
        self._connected_at = clock.now()

    @property
    def silent(self) -> float:
        """Seconds since the connection was last known to work."""
        return self._clock.now() - self._connected_at

    def mark_connected(self) -> None:
        """Record that the connection works now."""
        self._pause, self._connected_at = FIRST_PAUSE, self._clock.now()

    def give_up_if_lost(self, complaint: str, reason: str) -> None:
        """Raise AccountLost once the connection has been lost for LOST_AFTER seconds."""
        if self.silent >= LOST_AFTER:
            raise AccountLost(f"{complaint} for {self.silent:.0f} s: {reason}")

    async def pause(self) -> None:
        """Wait before the next attempt, doubling the pause after each failure."""
        seconds, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        await self._clock.sleep(seconds)


class Session(Protocol):
    """A connected account."""

    async def run(self) -> None:
        """Receive until cancelled. Raises AccountRefused and AccountLost."""
        ...

    async def finish(self) -> None:
        """Stop receiving and return once all received data is stored."""
        ...


SessionT = TypeVar("SessionT", bound=Session)


class ConnectedAdapter(ABC, Generic[SessionT]):
    """An adapter whose capabilities need a connection; implements `start` and `stop` of `Adapter`."""

    title: str
    """The platform's name in texts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._session: SessionT | None = None
        self._work: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._stopping = False
        self._closing = False

    @abstractmethod
    def connect(
        self, context: AdapterContext, health: AccountHealth
    ) -> AbstractAsyncContextManager[SessionT]:
        """Return a context that signs in, yields the session and closes every connection.

        Entering it raises AccountRefused and AccountLost.
        """

    @property
    def session(self) -> SessionT:
        """The live session. Raises DeliveryError while the account is not connected."""
        if self._session is None:
            raise DeliveryError(DeliveryCategory.TRANSIENT, f"account {self.name} is not connected")
        return self._session

    async def start(self, context: AdapterContext) -> None:
        health = AccountHealth(self.title, context.report, context.clock)
        health.mark_connecting()
        self._stopping = self._closing = False
        self._ended.clear()
        self._work = work = asyncio.create_task(self._live(context, health), name=f"adapter:{self.name}")
        try:
            await asyncio.wait({work})
        finally:
            # It is still at work only where the caller cancels.
            self._cancel(work)
            try:
                await asyncio.gather(work, return_exceptions=True)
            finally:
                # The caller may cancel just as the work has ended by itself, and then waits in `stop`.
                self._work = None
                self._ended.set()
        try:
            if not work.cancelled():
                work.result()
        except AccountError as error:
            health.mark_failed(str(error))
            raise
        health.mark_stopped()

    async def stop(self) -> None:
        work = self._work
        if work is None:
            return
        if not self._stopping:
            self._stopping = True
            if self._session is not None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(STOP_SECONDS):
                        await self._session.finish()
            self._cancel(work)
        await self._ended.wait()

    def _cancel(self, work: asyncio.Task[None]) -> None:
        """Cancel the work once, and never while it closes its connections."""
        if not self._closing:
            self._closing = True
            work.cancel()

    async def _live(self, context: AdapterContext, health: AccountHealth) -> None:
        async with self.connect(context, health) as session:
            self._session = session
            try:
                await session.run()
            finally:
                self._session, self._closing = None, True


class CredentialWatch:
    """Stops an account after a call found its credentials refused; `describe` builds the error from a
    reason.
    """

    def __init__(self, describe: Callable[[str], AccountRefused]) -> None:
        self._describe = describe
        self._reason: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def report(self, reason: str = "") -> None:
        """Record that the platform refused the credentials."""
        if not self._reason.done():
            self._reason.set_result(reason)

    async def run(self) -> NoReturn:
        """Wait for a report, and raise AccountRefused."""
        raise self._describe(await self._reason)


@asynccontextmanager
async def open_task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Open a task group that raises a single plain error, preferring an account's own.

    No `except*`: until Python 3.11.4 what it raises is put into a group again.
    """
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as problems:
        _raise_first(problems)


def _raise_first(problems: BaseExceptionGroup[BaseException]) -> NoReturn:
    found: list[BaseException] = []
    waiting: list[BaseException] = [problems]
    while waiting:
        problem = waiting.pop(0)
        if isinstance(problem, BaseExceptionGroup):
            waiting.extend(problem.exceptions)
        else:
            found.append(problem)
    raise next((problem for problem in found if isinstance(problem, AccountError)), found[0]) from None
