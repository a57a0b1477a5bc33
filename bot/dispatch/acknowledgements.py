"""Reactions on people's messages while they are being answered.

A reaction is only a hint: nothing waits for it, and a failed call loses nothing. Marks are kept in memory.
After a restart, the reactions of open turns are removed with their answers; a reaction whose turn was closed
just before the process ended remains.

They are off by default: typing, sessions and streams show most of it, and each costs two calls. A 429 leads
to at most two more attempts, and blocks no other call unless the platform says that it applies to all.
Where a reaction is removed only by the id that its call returned, those from before a restart all remain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from bot.clock import Clock
from bot.dispatch.pacing import AccountChannel, Applicant, ChannelRegistry
from bot.dispatch.side_tasks import SideTasks
from bot.domain import ReplyAddress
from bot.errors import DeliveryError, RateLimited, StoreError
from bot.platforms.base import Reacts
from bot.platforms.manifest import Operation
from bot.store import Database
from bot.store.admission_types import Accepted
from bot.store.turns import load_turn
from bot.turn import OPEN_STATES, Turn, TurnKind

log = structlog.get_logger(__name__)

MAX_MARKS = 1000
"""Marked messages of all accounts; further ones get no reaction."""
TRIES = 3
"""Maximum number of calls for one reaction if the platform rate-limits them."""
REMOVE_WITHIN = 60.0
"""Seconds after which a reaction is left in place if the rate limits leave no room to remove it."""


@dataclass(slots=True, eq=False)
class _Mark:
    """A message of a turn. `is_shown`: it may have the reaction."""

    turn: int
    address: ReplyAddress
    message_id: str
    is_shown: bool = False
    applicant: Applicant = field(default_factory=Applicant)
    showing: asyncio.Task[None] | None = None


class Acknowledgements:
    """Adds and removes reactions. `run` makes the calls and finishes when cancelled."""

    def __init__(self, accounts: ChannelRegistry, db: Database, clock: Clock) -> None:
        self._accounts = accounts
        self._db = db
        self._clock = clock
        self._marks: dict[int, list[_Mark]] = {}
        self._count = 0
        self._since = clock.now()
        self._tasks = SideTasks()

    async def run(self) -> None:
        """Make calls until cancelled."""
        await self._tasks.run()

    def on_accepted(self, accepted: Accepted) -> None:
        """Mark a message that the agent will answer."""
        if accepted.kind is TurnKind.CHAT and accepted.message_id:
            mark = self._add(accepted.conversation, accepted.turn, accepted.address, accepted.message_id)
            if mark is not None:
                mark.showing = self._tasks.start(self._show(mark), f"reaction:{mark.turn}")

    def adopt(self, turn: Turn) -> None:
        """Register a turn's messages from before a restart, because they may still have the reaction."""
        if turn.created_at >= self._since:
            return
        known = {mark.message_id for mark in self._marks.get(turn.conversation, ())}
        for message in turn.messages:
            if message.message_id and message.message_id not in known:
                mark = self._add(turn.conversation, turn.id, turn.address, message.message_id)
                if mark is not None:
                    mark.is_shown = True

    def on_answered(self, conversation: int) -> None:
        """Remove the reactions of a conversation's closed turns."""
        if conversation in self._marks:
            self._tasks.start(self._remove_closed(conversation), f"reactions:{conversation}")

    def _add(self, conversation: int, turn: int, address: ReplyAddress, message_id: str) -> _Mark | None:
        if self._find(address) is None or self._count >= MAX_MARKS:
            return None
        mark = _Mark(turn, address, message_id)
        self._marks.setdefault(conversation, []).append(mark)
        self._count += 1
        return mark

    def _find(self, address: ReplyAddress) -> tuple[AccountChannel, Reacts] | None:
        """Return an address's account and its adapter, if the adapter supports reactions there."""
        channel = self._accounts.get(address.account)
        adapter = channel.capabilities.reacts if channel is not None else None
        if channel is None or adapter is None or not adapter.reacts_in(address):
            return None
        return channel, adapter

    async def _show(self, mark: _Mark) -> None:
        found = self._find(mark.address)
        if found is not None and found[0].ready.is_set():
            channel, adapter = found
            mark.is_shown = await self._call(channel, mark.applicant, mark, adapter.react)

    async def _remove_closed(self, conversation: int) -> None:
        """Remove the reactions from closed turns, including turns that were merged into another."""
        for mark in list(self._marks.get(conversation, ())):
            try:
                stored = await self._db.transact(load_turn, mark.turn)
            except StoreError as error:
                log.warning("reactions_stay", conversation=conversation, problem=str(error))
                return
            if stored is None or stored.turn.state not in OPEN_STATES:
                await self._remove(conversation, mark)

    async def _remove(self, conversation: int, mark: _Mark) -> None:
        marks = self._marks.get(conversation, [])
        if mark not in marks:
            return
        marks.remove(mark)
        self._count -= 1
        if not marks:
            del self._marks[conversation]
        mark.applicant.close()
        if mark.showing is not None:
            await mark.showing
        found = self._find(mark.address)
        if mark.is_shown and found is not None:
            channel, adapter = found
            applicant = Applicant()
            alarm = channel.governor.alarms.set(self._clock.now() + REMOVE_WITHIN, applicant.close)
            await self._call(channel, applicant, mark, adapter.unreact)
            channel.governor.alarms.drop(alarm)

    async def _call(
        self,
        channel: AccountChannel,
        applicant: Applicant,
        mark: _Mark,
        call: Callable[[ReplyAddress, str], Awaitable[None]],
    ) -> bool:
        """Make a call when the rate limits allow it. Return whether it may have succeeded."""
        governor, address, tries = channel.governor, mark.address, TRIES
        while tries and await governor.wait_for_chance(applicant, address, Operation.REACTION):
            pause = 0.0
            async with governor.optional_call(address, Operation.REACTION) as wait:
                if wait:
                    continue
                try:
                    await call(address, mark.message_id)
                    return True
                except RateLimited as error:
                    # Platforms that count reactions separately still take answers: no penalty for the chat.
                    if error.account_wide:
                        governor.add_penalty(address, error.retry_after, account_wide=True)
                    pause, tries = error.retry_after, tries - 1
                except DeliveryError as error:
                    log.info("reaction_failed", account=channel.account, problem=str(error))
                    return error.unknown_outcome
            if pause and not applicant.closed:
                applicant.event.clear()
                await governor.alarms.wait_first(applicant.event, pause)
        return False
