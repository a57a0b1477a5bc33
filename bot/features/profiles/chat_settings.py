"""Stored settings of chats. Each change is a row, so that the latest one can be reverted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text

from bot.profiles import SETTINGS, PlacedSettings, ProvidesSettings, TurnPlace
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Connection, sql
from bot.store.person_data import PersonData, PersonKey
from bot.wiring import Core

ORIGIN: Final = "/channel"
CHANGED: Final = "chat settings"
"""Action of the audit events."""
CHAT_SETTINGS: Final = Table(
    "chat_settings",
    MetaData(),
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("account", String, nullable=False),
    Column("chat", String, nullable=False),
    Column("name", String, nullable=False),
    Column("value", Text, nullable=False),
    Column("changed_at", Float, nullable=False),
    Column("person", String, nullable=False),
    Index("chat_settings_chat", "account", "chat", "id"),
)
"""Changes of settings by chat, the oldest first. The value "" removes a setting; `person` is `platform:id`.
"""
LIST_CHANGES = sql("SELECT account, chat, name, value FROM chat_settings ORDER BY id")
ADD_CHANGE = sql(
    """INSERT INTO chat_settings (account, chat, name, value, changed_at, person)
    VALUES (:account, :chat, :name, :value, :now, :person)"""
)
UNDO_CHANGE = sql(
    """DELETE FROM chat_settings WHERE id = (SELECT MAX(id) FROM chat_settings WHERE account = :account
    AND chat = :chat) RETURNING name"""
)
DETACH_CHANGES = sql("UPDATE chat_settings SET person = '' WHERE person = :person")
MOVE_CHAT = sql("UPDATE chat_settings SET chat = :new WHERE account = :account AND chat = :old")
EXPORT_CHANGES = sql(
    "SELECT account, chat, name, value FROM chat_settings WHERE person = :person ORDER BY id LIMIT 10000"
)


class ChatSettings(ProvidesSettings):
    """The settings of chats, cached in memory."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._values: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}

    async def load_settings(self) -> None:
        """Reload the settings from the store."""
        values: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        for account, chat, name, value in await self._core.db.transact(_list_changes):
            here = values.setdefault((account, chat), {})
            here.pop(name, None)
            if value and name in SETTINGS:
                with suppress(ValueError):  # a value of another version
                    here[name] = SETTINGS[name].parse(value)
        self._values = values

    def get(self, account: str, chat: str) -> Mapping[str, tuple[str, ...]]:
        """Return the settings of a chat by name."""
        return self._values.get((account, chat), {})

    def list_settings(self, place: TurnPlace) -> Sequence[PlacedSettings]:
        values = self.get(place.account, place.chat)
        at = TurnPlace(account=place.account, chat=place.chat)
        return (PlacedSettings(ORIGIN, at, values),) if values else ()

    async def change(self, account: str, chat: str, name: str, values: Sequence[str], actor: Actor) -> None:
        """Set a setting of a chat, or remove it (no values). Raises StoreError."""
        row = {"account": account, "chat": chat, "name": name, "value": " ".join(values)}
        await self._core.db.transact(_add_change, row, actor, self._core.clock.now())
        await self.load_settings()

    async def undo(self, account: str, chat: str, actor: Actor) -> str:
        """Revert the latest change in a chat. Return the name of the setting, or "" if there is none."""
        now = self._core.clock.now()
        name = await self._core.db.transact(_undo_change, account, chat, actor, now)
        await self.load_settings()
        return name


def _list_changes(connection: Connection) -> Sequence[Any]:
    return connection.execute(LIST_CHANGES).all()


def _add_change(connection: Connection, row: Mapping[str, str], actor: Actor, now: float) -> None:
    connection.execute(ADD_CHANGE, {**row, "now": now, "person": actor.person})
    detail = f"{row['name']} {row['value']}" if row["value"] else f"reset {row['name']}"
    record_event(connection, actor, AuditEvent(CHANGED, f"{row['account']}:{row['chat']}", detail), now)


def _undo_change(connection: Connection, account: str, chat: str, actor: Actor, now: float) -> str:
    row = connection.execute(UNDO_CHANGE, {"account": account, "chat": chat}).first()
    if row is None:
        return ""
    record_event(connection, actor, AuditEvent(CHANGED, f"{account}:{chat}", f"undo {row.name}"), now)
    return str(row.name)


class ChatSettingsData(PersonData):
    """People's changes of settings. The settings themselves stay in effect."""

    def move_chat(self, connection: Connection, account: str, old: str, new: str) -> None:
        connection.execute(MOVE_CHAT, {"account": account, "old": old, "new": new})

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        connection.execute(DETACH_CHANGES, {"person": str(person)})
        return {}

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        rows = connection.execute(EXPORT_CHANGES, {"person": str(person)}).all()
        changes = [
            {"account": row.account, "chat": row.chat, "setting": row.name, "value": row.value}
            for row in rows
        ]
        return {"chat_settings": changes}
