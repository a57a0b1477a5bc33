"""Limit how many turns start at a time; a turn that has to wait shows typing first.

Starting a turn occupies the event loop for milliseconds. If all turns of a burst started at once, nobody
would see a reaction for a while, and commands would have to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from agent.shared.aio import wait_first
from bot.clock import Clock
from bot.dispatch.account_channel import AccountChannel, ChannelRegistry
from bot.domain import ReplyAddress, TurnKind
from bot.errors import DeliveryError, RateLimited
from bot.platforms.base import Operation, ShowsTyping
from bot.store.admission_types import Accepted

log = structlog.get_logger(__name__)

# Seconds between typing calls, shorter than the time after which a platform hides typing (Telegram: 5 s).
TYPING_EVERY = 4.5


async def show_typing(outlet: AccountChannel, address: ReplyAddress) -> float:
    """Show typing if the rate limits allow it. Return 0.0, else the seconds until the next attempt."""
    adapter = outlet.adapter
    if not isinstance(adapter, ShowsTyping):
        return 0.0
    async with outlet.governor.optional_call(address, Operation.TYPING) as wait:
        if wait:
            return wait
        try:
            await adapter.typing(address)
        except RateLimited as error:
            log.warning("rate_limited", account=outlet.account, retry_after=error.retry_after)
            outlet.governor.add_penalty(address, error.retry_after, account_wide=error.account_wide)
        except DeliveryError as error:
            log.debug("typing_failed", account=outlet.account, category=error.category.value)
    return 0.0


# Concurrency limits: turns claimed from the store, runs created, typing calls of waiting turns.
CLAIMS, CREATIONS, TYPING_CALLS = 2, 4, 8
# Seconds that a turn with a slot waits for pending typing calls.
PATIENCE = 0.3


class StartLimiter:
    """Hands out the slots in which turns start. `run` owns the typing calls and ends when cancelled."""

    def __init__(self, accounts: ChannelRegistry, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._claims = asyncio.Semaphore(CLAIMS)
        self._creations = asyncio.Semaphore(CREATIONS)
        self._calls = asyncio.Semaphore(TYPING_CALLS)
        self._fresh: dict[int, ReplyAddress] = {}
        self._typing: set[int] = set()
        self._typed_at: dict[int, float] = {}
        self._no_typing = asyncio.Event()
        self._no_typing.set()
        self._group: asyncio.TaskGroup | None = None

    def on_accepted(self, accepted: Accepted) -> None:
        """Note a new turn, whose author should see a reaction soon."""
        if accepted.kind is TurnKind.CHAT:
            self._fresh[accepted.conversation] = accepted.address

    async def run(self) -> None:
        """Make typing calls until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None

    @asynccontextmanager
    async def claim_slot(self, conversation: int) -> AsyncIterator[None]:
        """Wait for a slot to claim the next turn of a conversation."""
        address = self._fresh.pop(conversation, None)
        if address is not None and self._group is not None and self._claims.locked():
            self._typing.add(conversation)
            self._no_typing.clear()
            self._group.create_task(self._type_once(conversation, address), name=f"typing:{conversation}")
        try:
            async with self._take_slot(self._claims):
                # The turn shows typing itself from now on.
                self._end_typing(conversation)
                yield
        finally:
            self._end_typing(conversation)

    @asynccontextmanager
    async def creation_slot(self) -> AsyncIterator[None]:
        """Wait for a slot to create a run."""
        async with self._take_slot(self._creations):
            yield

    @asynccontextmanager
    async def _take_slot(self, slots: asyncio.Semaphore) -> AsyncIterator[None]:
        """Take a slot, then wait until no typing call is pending, at most PATIENCE seconds."""
        until = self._clock.now() + PATIENCE
        async with slots:
            await wait_first(self._no_typing, self._clock, until - self._clock.now())
            yield

    def pop_typed_at(self, conversation: int) -> float:
        """Return and clear the time at which typing was shown for a starting turn (0.0: never)."""
        return self._typed_at.pop(conversation, 0.0)

    async def _type_once(self, conversation: int, address: ReplyAddress) -> None:
        async with self._calls:
            outlet = self._accounts.get(address.account)
            if conversation in self._typing and outlet is not None and outlet.ready.is_set():
                self._typed_at[conversation] = self._clock.now()
                if await show_typing(outlet, address):
                    self._typed_at.pop(conversation, None)
        self._end_typing(conversation)

    def _end_typing(self, conversation: int) -> None:
        self._typing.discard(conversation)
        if not self._typing:
            self._no_typing.set()
