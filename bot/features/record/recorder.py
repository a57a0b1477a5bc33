"""Recorder of chats and their messages."""

from __future__ import annotations

from bot.features.record.record_store import (
    RecordedChat,
    apply_change,
    change_quotations,
    has_recorded_start,
    list_arrived,
    list_recorded_chats,
    record_message,
    set_recording,
)
from bot.store.audit import Actor
from bot.store.chat_record import ChatRecord
from bot.wiring import Core


class ChatRecorder(ChatRecord):
    """Recorded chats, in memory because every message needs them."""

    record_message = staticmethod(record_message)
    apply_change = staticmethod(apply_change)
    change_quotations = staticmethod(change_quotations)
    has_recorded_start = staticmethod(has_recorded_start)
    list_arrived = staticmethod(list_arrived)

    def __init__(self, core: Core) -> None:
        self._core = core
        self._chats: dict[tuple[str, str], RecordedChat] = {}

    async def load_settings(self) -> None:
        """Reload the settings from the store."""
        found = await self._core.db.transact(list_recorded_chats)
        self._chats = {(one.account, one.chat): one for one in found}

    def get(self, account: str, chat: str) -> RecordedChat | None:
        """Return the settings of a chat's record, or None if there is none."""
        return self._chats.get((account, chat))

    def is_recorded(self, account: str, chat: str) -> bool:
        """Return whether a chat is recorded."""
        return (account, chat) in self._chats

    async def set_retention(self, account: str, chat: str, days: int, actor: Actor, now: float) -> None:
        """Set the retention of a chat's record in days; 0 turns recording off and deletes the record."""
        await self._core.db.transact(set_recording, account, chat, days, actor, now)
        await self.load_settings()
