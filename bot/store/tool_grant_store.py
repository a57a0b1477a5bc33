"""Permissions as methods: one method, one transaction."""

from __future__ import annotations

from bot.store import tool_grants
from bot.store.audit import Actor
from bot.store.database import Database
from bot.store.read_models import NEWEST
from bot.store.tool_grants import Permission


class PermissionStore:
    """The permissions of a database; each method is the function of that name in `bot.store.tool_grants`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def listed(self, account: str, conversation: int) -> list[Permission]:
        """What holds in a conversation, oldest first."""
        return await self._database.run(tool_grants.listed, account, conversation)

    async def every(self, before: int = NEWEST, limit: int = 50) -> list[Permission]:
        """All of them, newest first."""
        return await self._database.run(tool_grants.every, before, limit)

    async def take(self, number: int, actor: Actor, now: float) -> bool:
        """Have the tool ask again; whether there was such a permission."""
        return await self._database.run(tool_grants.take, number, actor, now)
