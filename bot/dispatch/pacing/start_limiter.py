"""How turns begin in a burst: a few at a time, and whoever has to wait for that sees typing first.

Beginning a turn costs the loop milliseconds. Were all of a burst to begin at once, nobody would see anything
for a while, and commands would wait behind all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.shared.aio import wait_first
from bot.clock import Clock
from bot.dispatch.account_channel import AccountRegistry
from bot.dispatch.pacing.typing_indicator import show_typing
from bot.domain import ReplyAddress, TurnKind
from bot.store.admission_types import Accepted

# At the same time: turns taken from the store, runs created, typing calls of turns that wait.
CLAIMS, CREATIONS, TYPING_CALLS = 2, 4, 8
# How long a turn that could begin lets typing calls go first (seconds).
PATIENCE = 0.3


class StartLimiter:
    """Hands out the slots in which turns begin. `run` owns the typing calls and ends when cancelled."""

    def __init__(self, accounts: AccountRegistry, clock: Clock) -> None:
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
        """A turn was just accepted: its author is there and watches."""
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
        """A place to take the next turn of a conversation from the store."""
        address = self._fresh.pop(conversation, None)
        if address is not None and self._group is not None and self._claims.locked():
            self._typing.add(conversation)
            self._no_typing.clear()
            self._group.create_task(self._type_once(conversation, address), name=f"typing:{conversation}")
        try:
            async with self._take_slot(self._claims):
                # From here on the turn shows typing itself.
                self._end_typing(conversation)
                yield
        finally:
            self._end_typing(conversation)

    @asynccontextmanager
    async def creation_slot(self) -> AsyncIterator[None]:
        """A place to create a run."""
        async with self._take_slot(self._creations):
            yield

    @asynccontextmanager
    async def _take_slot(self, slots: asyncio.Semaphore) -> AsyncIterator[None]:
        """One of the slots, once nobody waits to see typing or this one has waited long enough for it."""
        until = self._clock.now() + PATIENCE
        async with slots:
            await wait_first(self._no_typing, self._clock, until - self._clock.now())
            yield

    def pop_typed_at(self, conversation: int) -> float:
        """When typing was shown for the turn that now begins, 0.0 if it was not. Forgets it."""
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
