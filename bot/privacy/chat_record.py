"""Which chats keep a record: read from the store once, then known."""

from __future__ import annotations

from bot.store import Database
from bot.store.audit import Actor
from bot.store.record import RecordedChat, list_recorded_chats, set_recording


class RecordSettings:
    """Asked for every message, so it is in memory. `load` comes first."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._chats: dict[tuple[str, str], RecordedChat] = {}

    async def load_settings(self) -> None:
        """Read them anew."""
        self._chats = {(one.account, one.chat): one for one in await self._db.run(list_recorded_chats)}

    def get(self, account: str, chat: str) -> RecordedChat | None:
        """The chat as it keeps its record, None where it keeps none."""
        return self._chats.get((account, chat))

    async def set_retention(self, account: str, chat: str, days: int, actor: Actor, now: float) -> None:
        """Have a chat keep its record for so many days; 0 ends it, and deletes what was kept."""
        await self._db.run(set_recording, account, chat, days, actor, now)
        await self.load_settings()
