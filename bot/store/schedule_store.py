"""Schedules as methods: one method, one transaction."""

from __future__ import annotations

from bot.domain import ChatKind, ReplyAddress
from bot.store import schedules
from bot.store.audit import Actor
from bot.store.database import Database
from bot.store.read_models import NEWEST
from bot.store.schedule_rows import Closed, Fire, Firing, Opened, Retry, Schedule


class ScheduleStore:
    """The schedules of a database; each method is the function of that name in `bot.store.schedules`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, one: Schedule, actor: Actor | None, now: float) -> int:
        """Write a schedule down (its `id` is not looked at); the id that it got."""
        return await self._database.run(schedules.add, one, actor, now)

    async def get(self, schedule: int) -> Schedule | None:
        """One schedule."""
        return await self._database.run(schedules.get, schedule)

    async def listed(self, before: int = NEWEST, limit: int = 50, person: str = "") -> list[Schedule]:
        """Schedules, newest first: of all, or of one person."""
        return await self._database.run(schedules.listed, before, limit, person)

    async def of_chat(self, account: str, chat: str) -> list[Schedule]:
        """The schedules of a chat."""
        return await self._database.run(schedules.of_chat, account, chat)

    async def count_in_chat(self, account: str, chat: str) -> int:
        """How many schedules of a chat are active or paused."""
        return await self._database.run(schedules.count_in_chat, account, chat)

    async def change(self, was: Schedule, now_is: Schedule, actor: Actor, now: float) -> bool:
        """Put a schedule in place of what it was; False where its state has changed meanwhile."""
        return await self._database.run(schedules.change, was, now_is, actor, now)

    async def delete(self, schedule: int, actor: Actor, now: float) -> bool:
        """Delete a schedule with its firings; whether there was one."""
        return await self._database.run(schedules.delete, schedule, actor, now)

    async def due(self, now: float) -> list[Schedule]:
        """Schedules that are due."""
        return await self._database.run(schedules.due, now)

    async def next_at(self) -> float:
        """When the next firing or retry is due, 0.0 for never."""
        return await self._database.run(schedules.next_at)

    async def any_open(self) -> bool:
        """Whether a firing's turn is still to be judged."""
        return await self._database.run(schedules.any_open)

    async def fire(self, one: Fire, now: float) -> list[Opened] | None:
        """Advance a schedule and open the turn of its firing; None where that has been done."""
        return await self._database.run(schedules.fire, one, now)

    async def trigger(self, one: Fire, actor: Actor, now: float) -> list[Opened] | None:
        """Fire a schedule now; None where it still works on an earlier firing."""
        return await self._database.run(schedules.trigger, one, actor, now)

    async def closed(self) -> list[Closed]:
        """Firings whose turns have ended and that nobody has judged."""
        return await self._database.run(schedules.closed)

    async def judge(self, one: Closed, retry_at: float, alert: str, now: float) -> Opened | None:
        """Write down how a firing went; the turn that tells of it, if any."""
        return await self._database.run(schedules.judge, one, retry_at, alert, now)

    async def retries(self, now: float) -> list[Retry]:
        """Firings that are to be tried again now."""
        return await self._database.run(schedules.retries, now)

    async def retry(self, one: Retry, again: Fire | None, now: float) -> Opened | None:
        """Open another turn for a firing, or give it up."""
        return await self._database.run(schedules.retry, one, again, now)

    async def firings(self, schedule: int, before: int = NEWEST, limit: int = 50) -> list[Firing]:
        """The firings of a schedule, newest first."""
        return await self._database.run(schedules.firings, schedule, before, limit)

    async def between(self, begin: float, end: float, limit: int, person: str = "") -> list[Firing]:
        """Firings that were due from `begin` until before `end`, by time: of all schedules, or of one
        person's.
        """
        return await self._database.run(schedules.between, begin, end, limit, person)

    async def forget(self, drafts: float, old: float) -> None:
        """Drop drafts and firings from before those instants."""
        await self._database.run(schedules.forget, drafts, old)

    async def address(self, conversation: int) -> ReplyAddress | None:
        """Where a conversation was answered last."""
        return await self._database.run(schedules.address, conversation)

    async def chat_kind(self, account: str, chat: str) -> ChatKind | None:
        """What kind of chat that is; None where nobody has talked with the bot in it."""
        return await self._database.run(schedules.chat_kind, account, chat)

    async def zone(self, account: str, chat: str) -> str:
        """The time zone of a chat, "" where none was chosen."""
        return await self._database.run(schedules.zone, account, chat)

    async def set_zone(self, account: str, chat: str, name: str) -> None:
        """The time zone of a chat."""
        await self._database.run(schedules.set_zone, account, chat, name)
