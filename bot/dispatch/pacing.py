"""Pacing of calls to a platform.

A call that must happen (a post, a final, a command's answer) waits for its chat and then for the account. A
call that may be skipped (a frame, typing) is granted only if nothing waits and enough is left; otherwise the
caller gets the time of the next try and shows the newest frame then. A penalty blocks its own chat only,
unless the platform says that it applies to the whole account.

Finals should follow the last word within 0.1 s in a private chat and 0.3 s in a group, so frames and typing
leave them room, and nothing waits for a typing call in progress. A final waits only if its own budget is
used up: by a reply of several messages, or by the frames in a small window (to reserve one call of five would
make them a quarter rarer). A platform that does not guarantee that messages in a burst are shown has none.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from agent.shared.metrics import counter, histogram
from bot.clock import Clock
from bot.core.rate_limits import BurstBucket, FixedWindow, RateLimit, SlidingWindow
from bot.dispatch.alarms import Alarm, Alarms
from bot.domain import ReplyAddress
from bot.errors import DeliveryError, RateLimited, RuntimeUnreachable
from bot.platforms.base import Adapter
from bot.platforms.capabilities import Capabilities, find_capabilities
from bot.platforms.manifest import Budget, Manifest, Operation, Scope

log = structlog.get_logger(__name__)
_rate_waits = histogram(
    "roebot_rate_wait_seconds",
    "Time in seconds for which calls waited for rate limits, behind earlier calls of their chat",
    ["account", "operation"],
    buckets=(0.01, 0.1, 0.5, 1, 2.5, 5, 15, 60, 300),
)
_rate_limit_hits = counter(
    "roebot_rate_limit_hits", "Calls that a platform refused for its rate limit", ["account"]
)

# Seconds between attempts, and the total wait for the runtime, or for a file from a platform.
DELAYS = (0.05, 0.1, 0.2, 0.5, 1.0)
RUNTIME_PATIENCE = 120.0
FETCH_PATIENCE = 20.0


class Backoff:
    """Waits between retries, and gives up after `patience` seconds without a success."""

    def __init__(self, clock: Clock, patience: float = RUNTIME_PATIENCE) -> None:
        self._clock = clock
        self._patience = patience
        self._count = 0
        self._since: float | None = None

    def reset(self) -> None:
        """Reset after a success."""
        self._count, self._since = 0, None

    async def pause(self, problem: RuntimeUnreachable | DeliveryError) -> None:
        """Wait before the next attempt, at least as long as the platform requires. Raises `problem` if that
        exceeds `patience`.
        """
        now = self._clock.now()
        self._since = now if self._since is None else self._since
        delay = DELAYS[min(self._count, len(DELAYS) - 1)]
        if isinstance(problem, RateLimited):
            delay = max(delay, problem.retry_after)
        if now + delay - self._since > self._patience:
            raise problem
        self._count += 1
        await self._clock.sleep(delay)


IDLE_BUCKETS = 512
SIGNS = frozenset({Operation.TYPING, Operation.REACTION})
"""Calls that show no text: no frame is moved away by them, and nothing waits for them."""


@dataclass(slots=True, eq=False)
class Applicant:
    """A task that waits to make an optional call. `close` cancels this wait and all later ones."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    at_once: bool = False
    closed: bool = False

    def close(self) -> None:
        self.closed = True
        self.event.set()


@dataclass(slots=True)
class _Gate:
    """The limits of a chat or of the account: windows, penalty and the queue of waiting calls."""

    windows: list[tuple[Budget, RateLimit]]
    blocked_until: float = 0.0
    line: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    resting: dict[Applicant, Operation] = field(default_factory=dict)
    """Who waits until nothing is `waiting`, and for which call."""

    @asynccontextmanager
    async def in_line(self) -> AsyncIterator[None]:
        """Wait until all earlier calls have completed. Applicants with optional calls resume after the last
        one, text before typing and reactions, so that a typing call does not delay a frame.
        """
        self.waiting += 1
        try:
            async with self.line:
                yield
        finally:
            self.waiting -= 1
            if not self.waiting:
                for applicant in sorted(self.resting, key=lambda one: self.resting[one] in SIGNS):
                    applicant.event.set()

    def ready_at(self, operation: Operation, now: float) -> float:
        """Return the time at which a required call may start."""
        return max([now, self.blocked_until, *(one.ready_at(now) for one in self._windows_of(operation))])

    def optional_at(self, operation: Operation, now: float, *, at_once: bool) -> float:
        """Return the time at which an optional call may start."""
        found = (one.optional_at(now, at_once=at_once) for one in self._windows_of(operation))
        return max([now, self.blocked_until, *found])

    def optional_spacing(self, operation: Operation) -> float:
        """Return the seconds between optional calls."""
        return max((one.optional_spacing for one in self._windows_of(operation)), default=0.0)

    def count_start(self, operation: Operation, now: float) -> None:
        for window in self._windows_of(operation):
            window.count_start(now, paced=operation not in SIGNS)

    def count_end(self, operation: Operation, began: float, now: float) -> None:
        for window in self._windows_of(operation):
            window.count_end(began, now)

    def _windows_of(self, operation: Operation) -> Iterator[RateLimit]:
        return (window for budget, window in self.windows if operation in budget.operations)

    def is_idle(self, now: float) -> bool:
        return (
            self.waiting == 0
            and self.blocked_until <= now
            and all(window.is_idle(now) for _, window in self.windows)
        )


class RateGovernor:
    """Grants an account's calls within the platform's published limits.

    `account` is its name for metrics. `scale` multiplies every period (for an emulator, or an account with
    raised limits).
    """

    def __init__(
        self, budgets: Sequence[Budget], clock: Clock, account: str = "", *, scale: float = 1.0
    ) -> None:
        self._budgets = tuple(budgets)
        self._clock = clock
        self._name = account
        _rate_limit_hits.labels(account)  # exposes 0, so that the first hit counts as an increase
        self._scale = scale
        self._account = _Gate(self._make_windows(Scope.ACCOUNT, None))
        self._chats: dict[str, _Gate] = {}
        self.alarms = Alarms(clock)
        """The timer of all who wait for this account."""
        self._queues: dict[Operation, dict[Applicant, None]] = {one: {} for one in Operation}
        self._chosen: Applicant | None = None
        self._alarm: Alarm | None = None

    @asynccontextmanager
    async def required_call(self, address: ReplyAddress, operation: Operation) -> AsyncIterator[None]:
        """Wait until a required call may start; the caller makes it within the context. Calls to the same
        chat are serialized.
        """
        gate, asked = self._chat_gate(address), self._clock.now()
        async with gate.in_line():
            await self._wait_for_gate(gate, operation)
            try:
                async with self._account.in_line():
                    await self._wait_for_gate(self._account, operation)
                    started = self._count_start(gate, operation)
            finally:
                self._choose_next()
            _rate_waits.labels(self._name, operation.value).observe(max(0.0, started - asked))
            try:
                yield
            finally:
                self._count_end(gate, operation, started)

    @asynccontextmanager
    async def optional_call(
        self, address: ReplyAddress, operation: Operation, *, at_once: bool = False
    ) -> AsyncIterator[float]:
        """Try an optional call: yield 0.0 if granted, or the seconds until the next attempt. `at_once`
        ignores the spacing of optional calls, but not the limits. Other calls do not wait for a typing or
        reaction call in flight.
        """
        gate = self._chat_gate(address)
        if wait := self.optional_wait(address, operation, at_once=at_once):
            yield wait
            return
        async with nullcontext() if operation in SIGNS else gate.in_line():
            started = self._count_start(gate, operation)
            try:
                yield 0.0
            finally:
                self._count_end(gate, operation, started)

    async def wait_for_chance(
        self, applicant: Applicant, address: ReplyAddress, operation: Operation, *, at_once: bool = False
    ) -> bool:
        """Wait until an optional call would be granted, so that the caller can prepare and try it. Return
        False once the applicant is closed.

        Chats that wait for the account take turns. The wait costs no task.
        """
        while not applicant.closed:
            applicant.event.clear()
            gate, wait = self._chat_gate(address), self.chat_wait(address, operation, at_once=at_once)
            if gate.waiting:
                await self._rest(gate, applicant, operation)
            elif wait:
                await self.alarms.wait_first(applicant.event, wait)
            else:
                applicant.at_once = at_once
                if await self._is_chosen(applicant, operation):
                    return not applicant.closed
        return False

    def chat_wait(self, address: ReplyAddress, operation: Operation, *, at_once: bool = False) -> float:
        """Return the seconds until an optional call is within the limits of its chat."""
        now = self._clock.now()
        return self._chat_gate(address).optional_at(operation, now, at_once=at_once) - now

    def optional_wait(self, address: ReplyAddress, operation: Operation, *, at_once: bool = False) -> float:
        """Return the seconds until an optional call may be tried; 0.0 if it would be granted now."""
        gate, now = self._chat_gate(address), self._clock.now()
        if gate.waiting or self._account.waiting:
            return 0.05 * self._scale or 0.001
        own = gate.optional_at(operation, now, at_once=at_once)
        return max(own, self._account.optional_at(operation, now, at_once=at_once)) - now

    def optional_spacing(self, address: ReplyAddress, operation: Operation) -> float:
        """Return the seconds between optional calls to a chat."""
        return max(
            self._chat_gate(address).optional_spacing(operation), self._account.optional_spacing(operation)
        )

    def add_penalty(self, address: ReplyAddress, seconds: float, *, account_wide: bool = False) -> None:
        """Block calls for `seconds`, as requested by the platform."""
        _rate_limit_hits.labels(self._name).inc()
        gate = self._account if account_wide else self._chat_gate(address)
        gate.blocked_until = max(gate.blocked_until, self._clock.now() + seconds)

    def blocked_for(self, address: ReplyAddress) -> float:
        """Return the seconds for which a penalty still blocks calls to a chat."""
        until = max(self._chat_gate(address).blocked_until, self._account.blocked_until)
        return max(0.0, until - self._clock.now())

    def limited_for(self) -> float:
        """Return the longest remaining penalty of the account's chats, in seconds."""
        now = self._clock.now()
        gates = [self._account, *self._chats.values()]
        return max(0.0, max(gate.blocked_until for gate in gates) - now)

    @property
    def waiting_count(self) -> int:
        """Number of waiting calls."""
        return sum(gate.waiting for gate in self._chats.values())

    async def _rest(self, gate: _Gate, applicant: Applicant, operation: Operation) -> None:
        """Wait until a chat has no call waiting or in progress."""
        gate.resting[applicant] = operation
        try:
            await applicant.event.wait()
        finally:
            gate.resting.pop(applicant, None)

    async def _is_chosen(self, applicant: Applicant, operation: Operation) -> bool:
        """Wait for this applicant's turn among the account's chats. Return False after any other wake-up."""
        queue = self._queues[operation]
        queue[applicant] = None
        self._choose_next()
        try:
            await applicant.event.wait()
            return self._chosen is applicant
        finally:
            queue.pop(applicant, None)
            if self._chosen is applicant:
                self._chosen = None
                # The next one is chosen when this one has made its call.
                asyncio.get_running_loop().call_soon(self._choose_next)

    def _choose_next(self) -> None:
        """Wake the first applicant that the account's limits allow, or set an alarm for it."""
        if self._chosen is not None or self._account.waiting:
            return
        now, next_at = self._clock.now(), math.inf
        for operation, queue in self._queues.items():
            for applicant in queue:
                at = self._account.optional_at(operation, now, at_once=applicant.at_once)
                if at <= now:
                    del queue[applicant]
                    self._chosen = applicant
                    applicant.event.set()
                    return
                next_at = min(next_at, at)
                break
        if self._alarm is not None and self._alarm.at != next_at:
            self.alarms.drop(self._alarm)
            self._alarm = None
        if self._alarm is None and next_at < math.inf:
            self._alarm = self.alarms.set(next_at, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._choose_next()

    async def _wait_for_gate(self, gate: _Gate, operation: Operation) -> None:
        while True:
            now = self._clock.now()
            at = gate.ready_at(operation, now)
            if at <= now:
                return
            await self._clock.sleep(at - now)

    def _count_start(self, gate: _Gate, operation: Operation) -> float:
        now = self._clock.now()
        gate.count_start(operation, now)
        self._account.count_start(operation, now)
        return now

    def _count_end(self, gate: _Gate, operation: Operation, started: float) -> None:
        now = self._clock.now()
        gate.count_end(operation, started, now)
        self._account.count_end(operation, started, now)

    def _chat_gate(self, address: ReplyAddress) -> _Gate:
        gate = self._chats.get(address.chat)
        if gate is None:
            if len(self._chats) >= IDLE_BUCKETS:
                self._drop_idle_gates()
            gate = self._chats[address.chat] = _Gate(self._make_windows(Scope.CHAT, address))
        return gate

    def _drop_idle_gates(self) -> None:
        now = self._clock.now()
        for chat in [chat for chat, gate in self._chats.items() if gate.is_idle(now)]:
            del self._chats[chat]

    def _make_windows(self, scope: Scope, address: ReplyAddress | None) -> list[tuple[Budget, RateLimit]]:
        return [
            (budget, self._make_limit(budget))
            for budget in self._budgets
            if budget.scope is scope and (address is None or address.chat_kind in budget.kinds)
        ]

    def _make_limit(self, budget: Budget) -> RateLimit:
        if budget.burst:
            return BurstBucket(budget.period, budget.burst, scale=self._scale)
        if budget.fixed:
            return FixedWindow(budget.count, budget.period, scale=self._scale)
        return SlidingWindow(budget.count, budget.period, reserve=budget.reserve, scale=self._scale)


@dataclass(slots=True)
class AccountChannel:
    """An account. `ready` is set after its first connection; `connected_at` is the time of the latest
    connection (s since the epoch), or None while disconnected. `assistant` is the account's assistant ("":
    the service's default).
    """

    account: str
    adapter: Adapter
    manifest: Manifest
    governor: RateGovernor
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    connected_at: float | None = None
    assistant: str = ""
    _found: tuple[Adapter, Capabilities] | None = field(default=None, init=False, repr=False)

    @property
    def capabilities(self) -> Capabilities:
        """The current adapter's capabilities; reloading the configuration may replace the adapter."""
        if self._found is None or self._found[0] is not self.adapter:
            self._found = self.adapter, find_capabilities(self.adapter)
        return self._found[1]


class ChannelRegistry(Protocol):
    """The accounts of the service."""

    def get(self, account: str) -> AccountChannel | None:
        """Return a running account by name, or None if the configuration does not contain it."""
        ...


# Seconds after which typing is shown again, before the platform lets it fade, after 5 s at the earliest.
TYPING_EVERY = 4.5


@asynccontextmanager
async def typing_shown(channel: AccountChannel, address: ReplyAddress, clock: Clock) -> AsyncIterator[None]:
    """Show typing for the duration of the context, within the rate limits."""

    async def keep_typing() -> None:
        applicant = Applicant()
        while await channel.governor.wait_for_chance(applicant, address, Operation.TYPING):
            if not await show_typing(channel, address):
                await clock.sleep(TYPING_EVERY)

    typing = asyncio.ensure_future(keep_typing())
    try:
        yield
    finally:
        typing.cancel()
        await asyncio.gather(typing, return_exceptions=True)


async def show_typing(channel: AccountChannel, address: ReplyAddress) -> float:
    """Show typing if the rate limits allow it. Return 0.0, or the seconds until the next attempt."""
    adapter = channel.capabilities.shows_typing
    if adapter is None:
        return 0.0
    async with channel.governor.optional_call(address, Operation.TYPING) as wait:
        if wait:
            return wait
        try:
            await adapter.typing(address)
        except RateLimited as error:
            log.warning("rate_limited", account=channel.account, retry_after=error.retry_after)
            channel.governor.add_penalty(address, error.retry_after, account_wide=error.account_wide)
        except DeliveryError as error:
            log.debug("typing_failed", account=channel.account, category=error.category.value)
    return 0.0
