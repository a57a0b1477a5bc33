"""Which chats keep a record: read from the store once, then known."""

from __future__ import annotations

from bot.store.audit import Actor
from bot.store.record import RecordedChat
from bot.store.record_store import RecordStore


class RecordedChats:
    """Asked for every message, so it is in memory. `load` comes first."""

    def __init__(self, store: RecordStore) -> None:
        self.store = store
        self._chats: dict[tuple[str, str], RecordedChat] = {}

    async def load(self) -> None:
        """Read them anew."""
        self._chats = {(one.account, one.chat): one for one in await self.store.chats()}

    def get(self, account: str, chat: str) -> RecordedChat | None:
        """The chat as it keeps its record, None where it keeps none."""
        return self._chats.get((account, chat))

    async def switch(self, account: str, chat: str, days: int, actor: Actor, now: float) -> None:
        """Have a chat keep its record for so many days; 0 ends it, and deletes what was kept."""
        await self.store.switch(account, chat, days, actor, now)
        await self.load()
