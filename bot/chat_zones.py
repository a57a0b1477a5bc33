"""Time zones and names of chats."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.core.recent_values import RecentValues
from bot.domain import ReplyAddress
from bot.store import Database
from bot.store.chats import load_person_zone, load_time_zone, set_chat_title

_loaded: dict[str, ZoneInfo] = {}


def load_zone(name: str) -> ZoneInfo | None:
    """Return the time zone with this IANA name, or None if it is missing on this machine. Reads files."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


async def find_zone(name: str) -> ZoneInfo | None:
    """Return the time zone with this IANA name without blocking the event loop, or None if it is missing."""
    if name not in _loaded and (zone := await asyncio.to_thread(load_zone, name)):
        _loaded[name] = zone
    return _loaded.get(name)


class ChatZones:
    """Time zones of chats. `default` returns the name of the configured one."""

    def __init__(self, db: Database, default: Callable[[], str]) -> None:
        self._db = db
        self._default = default

    async def find_name(self, account: str, chat: str, person: str = "") -> str:
        """Return the time zone of a chat, or else of a person's private chat, or else the default."""
        zone = await self._db.transact(load_time_zone, account, chat)
        if not zone and person:
            zone = await self._db.transact(load_person_zone, account, person)
        return zone or self._default()

    async def find_reader_zone(self, address: ReplyAddress, person: str) -> str:
        """Return the time zone of a person, or else of the chat where they read, or else the default."""
        zone = await self._db.transact(load_person_zone, address.account, person)
        return zone or await self.find_name(address.account, address.chat)

    async def find_zone_at(self, address: ReplyAddress) -> tzinfo:
        """Return the time zone of a chat, or UTC if it is missing on this machine."""
        return await find_zone(await self.find_name(address.account, address.chat)) or UTC


MAX_TITLES = 4096


class ChatTitles:
    """Names of groups, stored when they are first seen after a start and when they change."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._stored: RecentValues[str] = RecentValues(MAX_TITLES)

    async def note_title(self, account: str, chat: str, title: str) -> None:
        """Store the name of a chat unless it is known or empty."""
        key = f"{account}:{chat}"
        if title and self._stored.get(key) != title:
            await self._db.transact(set_chat_title, account, chat, title)
            self._stored.put(key, title)
