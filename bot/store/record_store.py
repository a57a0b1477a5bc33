"""The chat record as methods: one method, one transaction."""

from __future__ import annotations

from bot.domain import Turn
from bot.store import record
from bot.store.audit import Actor
from bot.store.database import Database
from bot.store.record import RecordedChat, Said


class RecordStore:
    """The chat record of a database; each method is the function of that name in `bot.store.record`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def said(
        self,
        account: str,
        chat: str,
        since: float,
        until: float,
        limit: int = 500,
        *,
        topic: str | None = None,
    ) -> list[Said]:
        """The newest messages of a chat in that time, oldest first; `topic` None: of all its topics."""
        return await self._database.run(record.said, account, chat, since, until, limit, topic)

    async def count(self, account: str, chat: str, since: float = 0.0) -> int:
        """How many messages a chat's record holds."""
        return await self._database.run(record.count, account, chat, since)

    async def chats(self) -> list[RecordedChat]:
        """Every chat that keeps a record."""
        return await self._database.run(record.chats)

    async def switch(self, account: str, chat: str, days: int, actor: Actor, now: float) -> None:
        """Keep a record of a chat for so many days; 0 ends it, and deletes what was kept."""
        await self._database.run(record.switch, account, chat, days, actor, now)

    async def heard_before(self, turn: Turn, back: float, limit: int) -> list[Said]:
        """What others wrote where a turn is, since the turn before it, at most `back` seconds ago."""
        return await self._database.run(record.heard_before, turn, back, limit)

    async def is_first(self, turn: Turn) -> bool:
        """Whether nothing was answered in a turn's conversation before it."""
        return await self._database.run(record.is_first, turn)

    async def forget(self, now: float) -> None:
        """Drop what is older than its chat keeps."""
        await self._database.run(record.forget, now)
