"""Chats: their time zones, names and kinds."""

from __future__ import annotations

from bot.domain import ChatKind
from bot.store.connection import Connection, sql

# Read the time zone of a chat.
GET_TIME_ZONE = sql("SELECT zone FROM chats WHERE account = :account AND chat = :chat")
# Read the time zone of the private chat in which a person was answered last, of those that have one.
GET_PERSON_ZONE = sql(
    """SELECT z.zone FROM turns t JOIN conversations c ON c.id = t.conversation_id
    JOIN chats z ON z.account = c.account AND z.chat = c.chat WHERE t.person = :person AND t.total_tokens > 0
    AND c.account = :account AND c.chat_kind = 'private' AND z.zone <> ''
    ORDER BY t.created_at DESC LIMIT 1"""
)
# Set the time zone of a chat.
SET_TIME_ZONE = sql(
    """INSERT INTO chats (account, chat, zone) VALUES (:account, :chat, :zone)
    ON CONFLICT (account, chat) DO UPDATE SET zone = excluded.zone"""
)
# Set the name of a chat if it is new.
# Set the time zone of a chat that has none.
BEGIN_TIME_ZONE = sql(
    """INSERT INTO chats (account, chat, zone) VALUES (:account, :chat, :zone)
    ON CONFLICT (account, chat) DO UPDATE SET zone = excluded.zone WHERE chats.zone = ''"""
)
SET_CHAT_TITLE = sql(
    """INSERT INTO chats (account, chat, title) VALUES (:account, :chat, :title)
    ON CONFLICT (account, chat) DO UPDATE SET title = excluded.title"""
)
LIST_CHAT_TITLES = sql("SELECT account, chat, title FROM chats WHERE title <> ''")
# Read the kind of a chat.
GET_CHAT_KIND = sql("SELECT chat_kind FROM conversations WHERE account = :account AND chat = :chat LIMIT 1")


def load_time_zone(connection: Connection, account: str, chat: str) -> str:
    """Return the time zone of a chat, or "" if none was set."""
    row = connection.execute(GET_TIME_ZONE, {"account": account, "chat": chat}).first()
    return "" if row is None else str(row.zone)


def load_person_zone(connection: Connection, account: str, person: str) -> str:
    """Return the time zone of a person's private chat, or "" if unknown."""
    row = connection.execute(GET_PERSON_ZONE, {"account": account, "person": person}).first()
    return "" if row is None else str(row.zone)


def set_time_zone(connection: Connection, account: str, chat: str, name: str) -> None:
    """Set the time zone of a chat."""
    connection.execute(SET_TIME_ZONE, {"account": account, "chat": chat, "zone": name})


def begin_time_zone(connection: Connection, account: str, chat: str, name: str) -> None:
    """Set the time zone of a chat if it has none."""
    connection.execute(BEGIN_TIME_ZONE, {"account": account, "chat": chat, "zone": name})


def set_chat_title(connection: Connection, account: str, chat: str, title: str) -> None:
    """Set the name of a chat."""
    connection.execute(SET_CHAT_TITLE, {"account": account, "chat": chat, "title": title})


def load_chat_titles(connection: Connection) -> dict[tuple[str, str], str]:
    """Return the known names of chats, by account and chat."""
    return {(row.account, row.chat): row.title for row in connection.execute(LIST_CHAT_TITLES).all()}


def load_chat_kind(connection: Connection, account: str, chat: str) -> ChatKind | None:
    """Return the kind of a chat, or None if the bot has no conversation there."""
    row = connection.execute(GET_CHAT_KIND, {"account": account, "chat": chat}).first()
    return None if row is None else ChatKind(row.chat_kind)
