"""Delete expired texts, and abandoned threads on the agent runtime."""

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
    PersonKey,
    drop_abandoned_thread,
    erase_old_texts,
    erase_person,
    has_abandoned_threads,
    list_abandoned_threads,
)

log = structlog.get_logger(__name__)

DAY = 24 * 3600.0
LOOK_EVERY = 3600.0
# Retry interval (s) while threads wait to be deleted: a run may use them, or the runtime be unavailable.
AGAIN_AFTER = 30.0


@dataclass(frozen=True, slots=True)
class ErasureSummary:
    """Result of an erasure: `open_` is the number of messages in progress, which are not erased; `remembers`
    is true if the agent's memory could not be deleted.
    """

    erased: Erasure
    open_: int
    remembers: bool


class RetentionJob:
    """Deletes expired data; `days` returns the retention of each account in days (0: unlimited). `run`
    works until cancelled.
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
        """Delete expired data until cancelled."""
        while True:
            self._poked.clear()
            try:
                await self.delete_expired()
                nap = LOOK_EVERY if await self.delete_threads() else AGAIN_AFTER
            except Exception:  # this task's supervisor: an unavailable database recovers
                log.exception("forgetting_failed")
                nap = AGAIN_AFTER
            await wait_first(self._poked, self._clock, nap)

    async def delete_expired(self) -> None:
        """Delete the texts that are older than their account's retention."""
        now = self._clock.now()
        for account, days in self._days().items():
            more = days > 0
            while more:
                before = now - days * DAY
                more = (await self._db.run(erase_old_texts, account, before, now, self._new_id)).more

    async def delete_threads(self) -> bool:
        """Delete abandoned threads; return whether none is left."""
        for thread in await self._db.run(list_abandoned_threads):
            try:
                await self._runtime.delete_thread(thread)
            except RuntimeProblem as problem:
                log.warning("thread_not_deleted", thread=thread, problem=str(problem))
                return False
            await self._db.run(drop_abandoned_thread, thread)
        return not await self._db.run(has_abandoned_threads)

    async def erase_person(self, person: PersonKey, scopes: Sequence[str]) -> ErasureSummary:
        """Erase the stored data of a person, with the agent's memory in these scopes."""
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
