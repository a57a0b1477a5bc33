"""Delete expired texts, abandoned threads on the agent runtime, and the data of people who ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import structlog

from agent.shared.aio import wait_first
from bot.clock import Clock
from bot.domain import ReplyAddress
from bot.errors import RuntimeProblem
from bot.faults import ErasureStep, reach
from bot.privacy.languages import Languages
from bot.privacy.person_erasure import ErasureReport, PersonErasure, TurnControl
from bot.runtime.interface import AgentRuntime
from bot.store import Database
from bot.store.audit import Actor
from bot.store.erasures import record_erasure
from bot.store.leaving_threads import drop_abandoned_thread, has_abandoned_threads, list_abandoned_threads
from bot.store.person_data import PersonKey
from bot.store.retention import erase_old_texts

log = structlog.get_logger(__name__)

DAY = 24 * 3600.0
LOOK_EVERY = 3600.0
# Retry interval (s) while threads wait to be deleted: a run may use them, or the runtime be unavailable.
AGAIN_AFTER = 30.0
ERASE_AGAIN_AFTER = 5.0
"""Retry interval (s) while the erasure of a person is not finished."""


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
        home: Path | None = None,
    ) -> None:
        self._db = db
        self._runtime = runtime
        self._clock = clock
        self._days = days
        self._new_id = new_id
        self._erasing = PersonErasure(db, runtime, clock, new_id, home)
        self._forget: Callable[[PersonKey], None] = lambda _person: None
        self._poked = asyncio.Event()

    async def run(self) -> None:
        """Delete expired data until cancelled."""
        while True:
            self._poked.clear()
            try:
                await self.delete_expired()
                nap = LOOK_EVERY if await self.delete_threads() else AGAIN_AFTER
                if not await self.resume_erasures():
                    nap = ERASE_AGAIN_AFTER
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
                more = (await self._db.transact(erase_old_texts, account, before, now, self._new_id)).more

    async def delete_threads(self) -> bool:
        """Delete abandoned threads; return whether none is left."""
        for thread in await self._db.transact(list_abandoned_threads):
            try:
                await self._runtime.delete_thread(thread)
            except RuntimeProblem as problem:
                log.warning("thread_not_deleted", thread=thread, problem=str(problem))
                return False
            await self._db.transact(drop_abandoned_thread, thread)
        return not await self._db.transact(has_abandoned_threads)

    async def resume_erasures(self) -> bool:
        """Continue the erasures that are not finished; return whether none is left."""
        return await self._erasing.resume()

    async def list_copies(self) -> list[tuple[str, float]]:
        """Return path and time (s since the epoch) of each existing backup, which no erasure changes."""
        return await self._erasing.list_copies()

    def connect_turns(self, turns: TurnControl, describe: Callable[[ReplyAddress], str]) -> None:
        """Set the control of the turns in progress, and the function that returns the notice for a chat whose
        agent threads were replaced ("" for none).
        """
        self._erasing.turns = turns
        self._erasing.describe = describe

    def connect_languages(self, languages: Languages) -> None:
        """Set what holds the languages of people in memory."""
        self._erasing.languages = languages

    def connect_accounts(self, forget: Callable[[PersonKey], None]) -> None:
        """Set the function that lets the accounts forget what a person said."""
        self._forget = forget

    async def erase_person(self, person: PersonKey, scopes: Sequence[str], actor: Actor) -> ErasureReport:
        """Erase the stored data of a person, with the agent's memory in these scopes, and record it in the
        audit log. What can't be erased now is erased later, also after a restart.
        """
        now = self._clock.now()
        self._forget(person)
        number = await self._db.transact(record_erasure, person, scopes, actor, now)
        reach(ErasureStep.ERASURE_RECORDED)
        report = await self._erasing.work(number)
        if not report.done:
            self._poked.set()
        return report
