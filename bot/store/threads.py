"""The threads that a conversation has had, and the chats that something can be announced in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain import ChatKind, ReplyAddress, Sender
from bot.store import rows
from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.new_turn import open_notice

MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A thread by its number in the conversation (1 is the first): how it began, when it was used last."""

    number: int
    thread_id: str
    begins: str
    used_at: float


@dataclass(frozen=True, slots=True)
class Audience:
    """A chat in which somebody was answered: its latest conversation, and who wrote there last."""

    conversation: int
    address: ReplyAddress
    platform: str
    sender: Sender


def threads(connection: Connection, conversation: int) -> list[ThreadView]:
    """The latest threads of a conversation, in the order in which they began."""
    found = connection.execute(sql.THREADS_OF, {"conversation": conversation}).all()
    numbered = [*enumerate(found, start=1)][-MOST_SHOWN:]
    return [
        ThreadView(number, row.thread_id, _begin(connection, row.begun), row.used_at)
        for number, row in numbered
    ]


def thread_at(connection: Connection, conversation: int, number: int) -> str:
    """The id of a conversation's thread with that number, "" where there is none."""
    given = {"conversation": conversation, "skipped": number - 1}
    row = connection.execute(sql.THREAD_AT, given).first() if number > 0 else None
    return "" if row is None else str(row.thread_id)


def audiences(connection: Connection, since: float) -> list[Audience]:
    """Every chat in which somebody was answered since then, once."""
    found: dict[tuple[str, str], Audience] = {}
    for row in connection.execute(sql.AUDIENCES, {"since": since}).all():
        if row.sender is None or (row.account, row.chat) in found:
            continue
        address = ReplyAddress(row.account, row.chat, ChatKind(row.chat_kind))
        sender = rows.sender_in(row.sender)
        found[row.account, row.chat] = Audience(row.id, address, row.platform, sender)
    return [*found.values()]


def announce(connection: Connection, chosen: Sequence[Audience], text: str, now: float) -> list[int]:
    """Open a notice in each of these chats; the ids of their turns."""
    return [
        open_notice(connection, one.conversation, one.address, one.platform, "", text, now, size=0)
        for one in chosen
    ]


def _begin(connection: Connection, turn: int) -> str:
    text = connection.execute(sql.FIRST_TEXT, {"turn": turn}).scalar_one_or_none()
    return " ".join(str(text or "").split())
