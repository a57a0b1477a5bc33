"""Settings of chats with a record, read from the store once."""

from __future__ import annotations

from bot.store import Database
from bot.store.audit import Actor
from bot.store.record import RecordedChat, list_recorded_chats, set_recording


class RecordSettings:
    """Chats with a record; held in memory because every message needs them. Call `load_settings` first."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._chats: dict[tuple[str, str], RecordedChat] = {}

    async def load_settings(self) -> None:
        """Reload the settings from the store."""
        self._chats = {(one.account, one.chat): one for one in await self._db.run(list_recorded_chats)}

    def get(self, account: str, chat: str) -> RecordedChat | None:
        """Return the settings of a chat's record, None without a record."""
        return self._chats.get((account, chat))

    async def set_retention(self, account: str, chat: str, days: int, actor: Actor, now: float) -> None:
        """Set the retention of a chat's record in days; 0 turns it off and deletes it."""
        await self._db.run(set_recording, account, chat, days, actor, now)
        await self.load_settings()
