"""What people write in chats that keep a record, for so many days; it never starts a turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.domain import InboundChange, InboundMessage, Sender, Turn
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Connection, sql
from bot.store.rows import decode_sender, encode_sender

LONGEST = 4000
"""Characters that are kept of a message."""
DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """A message of the record; `link` leads to it on its platform ("" where nothing does)."""

    id: int
    message_id: str
    topic: str
    sender: Sender
    text: str
    sent_at: float
    link: str


@dataclass(frozen=True, slots=True)
class RecordedChat:
    """A chat that keeps a record: for so many days, since when."""

    account: str
    chat: str
    days: int
    since: float


# Insert a message into the record unless it is there.
ADD_RECORDED = sql(
    """INSERT INTO record (account, chat, topic, message_id, sender, text, sent_at, link) VALUES (:account,
    :chat, :topic, :message_id, :sender, :text, :sent_at, :link)
    ON CONFLICT (account, chat, message_id) DO NOTHING"""
)
# Replace the text of a recorded message.
UPDATE_RECORDED = sql(
    "UPDATE record SET text = :text WHERE account = :account AND chat = :chat AND message_id = :message_id"
)
# Delete a recorded message.
DELETE_RECORDED = sql(
    "DELETE FROM record WHERE account = :account AND chat = :chat AND message_id = :message_id"
)
RECORD_COLUMNS = "id, message_id, topic, sender, text, sent_at, link"
# List the newest recorded messages of a chat in a span.
LIST_RECORDED = sql(
    f"""SELECT {RECORD_COLUMNS} FROM record WHERE account = :account AND chat = :chat AND sent_at > :since
    AND sent_at <= :until ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
# List the newest recorded messages of a topic in a span.
LIST_RECORDED_IN_TOPIC = sql(
    f"""SELECT {RECORD_COLUMNS} FROM record WHERE account = :account AND chat = :chat AND topic = :topic
    AND sent_at > :since AND sent_at <= :until ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
# Read when the previous turn of a conversation was accepted.
PREVIOUS_TURN_AT = sql(
    """SELECT MAX(created_at) FROM turns WHERE conversation_id = :conversation AND id < :turn
    AND kind = 'chat' AND state <> 'cancelled'"""
)
# Count the recorded messages of a chat.
COUNT_RECORDED = sql(
    "SELECT COUNT(*) FROM record WHERE account = :account AND chat = :chat AND sent_at > :since"
)
# List the chats with a record.
LIST_RECORDED_CHATS = sql(
    """SELECT account, chat, record_days, recorded_since FROM chats WHERE record_days > 0
    ORDER BY account, chat"""
)
# Set the number of days that a chat's messages are recorded.
SET_RECORDING = sql(
    """INSERT INTO chats (account, chat, record_days, recorded_since) VALUES (:account, :chat, :days, :since)
    ON CONFLICT (account, chat) DO UPDATE SET record_days = excluded.record_days, recorded_since = CASE WHEN
    chats.record_days > 0 AND excluded.record_days > 0 THEN chats.recorded_since
    ELSE excluded.recorded_since END"""
)
# Delete the record of a chat.
DELETE_CHAT_RECORD = sql("DELETE FROM record WHERE account = :account AND chat = :chat")
# Delete the old part of a chat's record.
PURGE_CHAT_RECORD = sql("DELETE FROM record WHERE account = :account AND chat = :chat AND sent_at < :before")


def record_message(connection: Connection, message: InboundMessage) -> None:
    """Keep a message; one that came before stays as it is."""
    origin = message.origin
    files = [f"[{attachment.filename}]" for attachment in message.attachments]
    text = "\n".join(filter(None, [message.text.strip(), *files]))
    if message.clicked or not text:
        return
    connection.execute(
        ADD_RECORDED,
        {
            "account": origin.account,
            "chat": origin.chat,
            "topic": origin.topic,
            "message_id": origin.message_id,
            "sender": encode_sender(origin.sender),
            "text": text[:LONGEST],
            "sent_at": message.sent_at,
            "link": message.link,
        },
    )


def apply_change(connection: Connection, happened: InboundChange) -> None:
    """A message says something else now, or is gone."""
    origin = happened.origin
    here = {"account": origin.account, "chat": origin.chat, "message_id": origin.message_id}
    if happened.text is None:
        connection.execute(DELETE_RECORDED, here)
    else:
        connection.execute(UPDATE_RECORDED, {**here, "text": happened.text[:LONGEST]})


def list_recorded(
    connection: Connection,
    account: str,
    chat: str,
    since: float,
    until: float,
    limit: int = 500,
    topic: str | None = None,
) -> list[RecordedMessage]:
    """The newest messages of a chat after `since`, up to `until`, oldest first; `topic` None: of all."""
    given: dict[str, Any] = {"account": account, "chat": chat, "since": since, "until": until, "limit": limit}
    statement = LIST_RECORDED if topic is None else LIST_RECORDED_IN_TOPIC
    if topic is not None:
        given["topic"] = topic
    found = connection.execute(statement, given).all()
    return [_said(row) for row in reversed(found)]


def count_recorded(connection: Connection, account: str, chat: str, since: float = 0.0) -> int:
    """How many messages a chat's record holds from then on."""
    given = {"account": account, "chat": chat, "since": since}
    return int(connection.execute(COUNT_RECORDED, given).scalar_one())


def list_recorded_chats(connection: Connection) -> list[RecordedChat]:
    """Every chat that keeps a record."""
    found = connection.execute(LIST_RECORDED_CHATS).all()
    return [RecordedChat(row.account, row.chat, row.record_days, row.recorded_since) for row in found]


def set_recording(
    connection: Connection, account: str, chat: str, days: int, actor: Actor, now: float
) -> None:
    """Keep a record of a chat for so many days; 0 ends it, and deletes what was kept."""
    given = {"account": account, "chat": chat, "days": days, "since": now if days else 0.0}
    connection.execute(SET_RECORDING, given)
    if not days:
        connection.execute(DELETE_CHAT_RECORD, {"account": account, "chat": chat})
    record_event(connection, actor, AuditEvent("record", f"{account}:{chat}", f"{days} days"), now)


def purge_record(connection: Connection, now: float) -> None:
    """Drop what is older than its chat keeps."""
    for one in list_recorded_chats(connection):
        before = now - one.days * DAY
        connection.execute(PURGE_CHAT_RECORD, {"account": one.account, "chat": one.chat, "before": before})


def list_recorded_before(
    connection: Connection, turn: Turn, back: float, limit: int
) -> list[RecordedMessage]:
    """What others wrote where a turn is, between the turn before it in its conversation (at most `back`
    seconds before it) and its last message.
    """
    if not turn.messages:
        return []
    given = {"conversation": turn.conversation, "turn": turn.id}
    before = connection.execute(PREVIOUS_TURN_AT, given).scalar_one_or_none() or 0.0
    own = {message.message_id for message in turn.messages}
    address, until = turn.address, turn.messages[-1].sent_at
    # A message in a channel opens a thread of its own on some platforms.
    topic = address.topic if address.topic and address.topic not in own else None
    since = max(float(before), until - back)
    found = list_recorded(connection, address.account, address.chat, since, until, limit + len(own), topic)
    return [one for one in found if one.message_id not in own][-limit:]


def is_first_turn(connection: Connection, turn: Turn) -> bool:
    """Whether nothing was answered in a turn's conversation before it."""
    given = {"conversation": turn.conversation, "turn": turn.id}
    return connection.execute(PREVIOUS_TURN_AT, given).scalar_one_or_none() is None


def _said(row: Any) -> RecordedMessage:
    sender = decode_sender(row.sender)
    return RecordedMessage(row.id, row.message_id, row.topic, sender, row.text, row.sent_at, row.link)
