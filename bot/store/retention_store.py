"""Forgetting as methods: one method, one transaction, but for what goes through all messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from bot.store import retention
from bot.store.database import Database
from bot.store.retention import STEP, Erased, Person, Step, Written


class ForgettingStore:
    """What a database forgets. `new_id` makes thread ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget_before(self, account: str, before: float, now: float, new_id: Callable[[], str]) -> Step:
        """Delete the texts of the next turns of an account from before then; see `bot.store.retention`."""
        return await self._database.run(retention.forget_before, account, before, now, new_id)

    async def leaving(self, limit: int = 50) -> list[str]:
        """Threads to delete on the runtime, in which nothing is worked on."""
        return await self._database.run(retention.leaving, limit)

    async def any_leaving(self) -> bool:
        """Whether threads are still to be deleted."""
        return await self._database.run(retention.any_leaving)

    async def left(self, thread: str) -> None:
        """The runtime has deleted a thread."""
        await self._database.run(retention.left, thread)

    async def written(self, person: Person) -> AsyncIterator[Sequence[Written]]:
        """Somebody's messages with the answers to them, oldest first, some at a time."""
        for after in range(0, await self._newest(), STEP):
            yield await self._database.run(retention.written, person, after)

    async def erase(
        self, person: Person, spent_before: float, now: float, new_id: Callable[[], str]
    ) -> tuple[Erased, int]:
        """Erase what is kept about somebody; with it how many messages of theirs are being worked on. Cut off
        in the middle, it can be done again.
        """
        erased = Erased()
        for after in range(0, await self._newest(), STEP):
            erased += await self._database.run(retention.erase, person, after, now, new_id)
        return erased, await self._database.run(retention.settle, person, spent_before)

    async def recorded(self, person: Person) -> Sequence[Any]:
        """What the chat record has of somebody."""
        return await self._database.run(retention.recorded, person)

    async def role_of(self, person: Person) -> Sequence[Any]:
        """The role that somebody was given."""
        return await self._database.run(retention.role_of, person)

    async def schedules_of(self, person: Person) -> Sequence[Any]:
        """What somebody scheduled."""
        return await self._database.run(retention.schedules_of, person)

    async def _newest(self) -> int:
        return await self._database.run(retention.newest_message)
