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
from bot.dispatch.account_channel import Accounts
from bot.dispatch.pacing.typing_indicator import show_typing
from bot.domain import ReplyAddress, TurnKind
from bot.store.admission_types import Accepted

# At the same time: turns taken from the store, runs created, typing calls of turns that wait.
CLAIMS, CREATIONS, GREETINGS = 2, 4, 8
# How long a turn that could begin lets typing calls go first (seconds).
PATIENCE = 0.3


class Starts:
    """Hands out the places in which turns begin. `run` owns the typing calls and ends when cancelled."""

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._claims = asyncio.Semaphore(CLAIMS)
        self._creations = asyncio.Semaphore(CREATIONS)
        self._calls = asyncio.Semaphore(GREETINGS)
        self._fresh: dict[int, ReplyAddress] = {}
        self._greeting: set[int] = set()
        self._greeted: dict[int, float] = {}
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._group: asyncio.TaskGroup | None = None

    def noticed(self, accepted: Accepted) -> None:
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
    async def claim(self, conversation: int) -> AsyncIterator[None]:
        """A place to take the next turn of a conversation from the store."""
        address = self._fresh.pop(conversation, None)
        if address is not None and self._group is not None and self._claims.locked():
            self._greeting.add(conversation)
            self._quiet.clear()
            self._group.create_task(self._greet(conversation, address), name=f"typing:{conversation}")
        try:
            async with self._place(self._claims):
                # From here on the turn shows typing itself.
                self._told(conversation)
                yield
        finally:
            self._told(conversation)

    @asynccontextmanager
    async def creation(self) -> AsyncIterator[None]:
        """A place to create a run."""
        async with self._place(self._creations):
            yield

    @asynccontextmanager
    async def _place(self, places: asyncio.Semaphore) -> AsyncIterator[None]:
        """One of the places, once nobody waits to see typing or this one has waited long enough for it."""
        until = self._clock.now() + PATIENCE
        async with places:
            await wait_first(self._quiet, self._clock, until - self._clock.now())
            yield

    def greeted(self, conversation: int) -> float:
        """When typing was shown for the turn that now begins, 0.0 if it was not. Forgets it."""
        return self._greeted.pop(conversation, 0.0)

    async def _greet(self, conversation: int, address: ReplyAddress) -> None:
        async with self._calls:
            outlet = self._accounts.get(address.account)
            if conversation in self._greeting and outlet is not None and outlet.ready.is_set():
                self._greeted[conversation] = self._clock.now()
                if await show_typing(outlet, address):
                    self._greeted.pop(conversation, None)
        self._told(conversation)

    def _told(self, conversation: int) -> None:
        self._greeting.discard(conversation)
        if not self._greeting:
            self._quiet.set()
