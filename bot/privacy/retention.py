"""Deletes what is too old, and on the agent runtime the threads that nobody is on any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from agent.shared.aio import wait_first
from bot.clock import Clock
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.runtime.interface import AgentRuntime
from bot.store import Database
from bot.store.retention import (
    Erasure,
    Person,
    drop_abandoned_thread,
    erase_old_texts,
    erase_person,
    has_abandoned_threads,
    list_abandoned_threads,
)

log = structlog.get_logger(__name__)

DAY = 24 * 3600.0
LOOK_EVERY = 3600.0
# While threads wait to be deleted: a run may still be on in them, or the runtime be away (seconds).
AGAIN_AFTER = 30.0


@dataclass(frozen=True, slots=True)
class ErasureSummary:
    """What came of erasing: `open_` messages are being worked on and stay; `remembers`: the agent could not
    be asked to forget.
    """

    erased: Erasure
    open_: int
    remembers: bool


class RetentionJob:
    """`days` says for how many days an account keeps what was said (0: for ever). `run` works until
    cancelled.
    """

    def __init__(
        self,
        db: Database,
        runtime: AgentRuntime,
        clock: Clock,
        days: Callable[[], Mapping[str, int]],
        new_id: Callable[[], str],
    ) -> None:
        self._db = db
        self._runtime = runtime
        self._clock = clock
        self._days = days
        self._new_id = new_id
        self._poked = asyncio.Event()

    async def run(self) -> None:
        """Forget until cancelled."""
        while True:
            self._poked.clear()
            try:
                await self.delete_expired()
                nap = LOOK_EVERY if await self.delete_threads() else AGAIN_AFTER
            except Exception:  # this task's supervisor: a database that is away comes back
                log.exception("forgetting_failed")
                nap = AGAIN_AFTER
            await wait_first(self._poked, self._clock, nap)

    async def delete_expired(self) -> None:
        """Delete the texts that are older than their account keeps them."""
        now = self._clock.now()
        for account, days in self._days().items():
            more = days > 0
            while more:
                before = now - days * DAY
                more = (await self._db.run(erase_old_texts, account, before, now, self._new_id)).more

    async def delete_threads(self) -> bool:
        """Delete threads that are to leave; whether none is left."""
        for thread in await self._db.run(list_abandoned_threads):
            try:
                await self._runtime.delete_thread(thread)
            except RuntimeProblem as problem:
                log.warning("thread_not_deleted", thread=thread, problem=str(problem))
                return False
            await self._db.run(drop_abandoned_thread, thread)
        return not await self._db.run(has_abandoned_threads)

    async def erase_person(self, person: Person, scopes: Sequence[str]) -> ErasureSummary:
        """Erase what is kept about somebody, with what the agent remembers in these scopes."""
        now = self._clock.now()
        erased, open_ = await erase_person(self._db, person, now - now % DAY, now, self._new_id)
        self._poked.set()
        return ErasureSummary(erased, open_, remembers=not await self._delete_memory(scopes))

    async def _delete_memory(self, scopes: Sequence[str]) -> bool:
        for scope in scopes:
            try:
                await self._runtime.delete_memory(scope, "")
            except RuntimeRefused:
                continue  # a runtime without memory
            except RuntimeProblem as problem:
                log.warning("memory_not_forgotten", problem=str(problem))
                return False
        return True
