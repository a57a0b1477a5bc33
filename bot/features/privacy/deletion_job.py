"""Delete expired texts, abandoned threads on the agent runtime, and the data of people who ask for it."""

from __future__ import annotations

import asyncio

import structlog

from agent.shared.aio import wait_first
from bot.errors import RuntimeProblem
from bot.faults import ErasureStep, reach
from bot.features.privacy.data_export import memory_scopes
from bot.features.privacy.erasures import record_erasure
from bot.features.privacy.expired_texts import delete_conversation, erase_old_texts, purge_message_history
from bot.features.privacy.leaving_threads import (
    drop_abandoned_thread,
    has_abandoned_threads,
    list_abandoned_threads,
)
from bot.features.privacy.person_erasure import ErasureReport, PersonErasure
from bot.store.audit import Actor
from bot.store.conversations import ConversationView
from bot.store.person_data import PersonKey
from bot.wiring import Core

log = structlog.get_logger(__name__)

DAY = 24 * 3600.0
LOOK_EVERY, PURGE_EVERY = 3600.0, 6 * 3600.0
# Retry interval (s) while threads wait to be deleted: a run may use them, or the runtime be unavailable.
AGAIN_AFTER = 30.0
ERASE_AGAIN_AFTER = 5.0
"""Retry interval (s) while the erasure of a person is not finished."""


class DeletionJob:
    """Deletes expired data. `run` and `run_purge` work until cancelled."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._db = core.db
        self._runtime = core.runtime
        self._clock = core.clock
        self._erasing = PersonErasure(core)
        self._poked = asyncio.Event()

    async def run(self) -> None:
        """Delete expired data until cancelled."""
        while True:
            self._poked.clear()
            await self.delete_expired()
            nap = LOOK_EVERY if await self.delete_threads() else AGAIN_AFTER
            if not await self.resume_erasures():
                nap = ERASE_AGAIN_AFTER
            await wait_first(self._poked, self._clock.sleep, nap)

    async def run_purge(self) -> None:
        """Delete every few hours what has its own time limit, until cancelled."""
        while True:
            now = self._clock.now()
            await purge_message_history(self._db, now)
            for one in self._core.person_data:
                await self._db.transact(one.purge, now)
            await self._clock.sleep(PURGE_EVERY)

    async def delete_expired(self) -> None:
        """Delete the texts that are older than their account's retention."""
        now, core = self._clock.now(), self._core
        for account in core.config.channels:
            days = core.config.kept_days(account)
            more = days > 0
            while more:
                before = now - days * DAY
                step = await self._db.transact(
                    erase_old_texts, account, before, now, core.new_id, core.person_data
                )
                more = step.more

    async def delete_conversation(self, view: ConversationView, actor: Actor) -> bool:
        """Delete a conversation and soon its threads. Return False if a turn is in progress."""
        core = self._core
        done = await self._db.transact(
            delete_conversation, view, actor, self._clock.now(), core.new_id, core.person_data
        )
        self._poked.set()
        return done

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

    async def erase_person(self, person: PersonKey, actor: Actor) -> ErasureReport:
        """Erase the stored data of a person, with the agent's memory of them, and record it in the audit
        log. What can't be erased now is erased later, also after a restart.
        """
        now, scopes = self._clock.now(), memory_scopes(self._core, person)
        self._core.accounts.forget_person(person)
        number = await self._db.transact(record_erasure, person, scopes, actor, now)
        reach(ErasureStep.ERASURE_RECORDED)
        report = await self._erasing.work(number)
        if not report.done:
            self._poked.set()
        return report
