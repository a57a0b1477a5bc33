"""Recorded messages of chats, stored for a number of days. They never start a turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bot.domain import (
    CONTEXT_KINDS,
    Attachment,
    HistoryMessage,
    InboundChange,
    InboundMessage,
    Mention,
    Quotation,
)
from bot.features.record.recorded_replies import change_replies
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.chat_record import ChangeQuotations
from bot.store.connection import (
    Connection,
    add_mentions,
    decode_mentions,
    decode_quotations,
    decode_sender,
    encode_mentions,
    encode_quotations,
    encode_sender,
    sql,
)
from bot.store.exchanges import PREVIOUS_SOURCE, PREVIOUS_TURN_AT, find_source
from bot.store.quotations import apply_edit_to_quotations
from bot.turn import Turn

LONGEST = 4000
"""Maximum length in characters of a recorded message; the rest is cut off."""
DAY = 24 * 3600.0
_FILES = re.compile(r"\[[^\n]*\](?:\n\[[^\n]*\])*")
"""The names of files at the end of a recorded text."""


@dataclass(frozen=True, slots=True)
class RecordedMessage(HistoryMessage):
    """A recorded message of a topic, with the people it mentions."""

    id: int = 0
    topic: str = ""
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordedChat:
    """A recorded chat: its retention in days, and the start of the record."""

    account: str
    chat: str
    days: int
    since: float


# Insert a message into the record unless it is there.
ADD_RECORDED = sql(
    """INSERT INTO record (account, chat, topic, private_topic, message_id, sender, text, quotations,
    mentions, sent_at, link, accepted_at) VALUES (:account, :chat, :topic, :private_topic, :message_id,
    :sender, :text, :quotations, :mentions, :sent_at, :link, :now)
    ON CONFLICT (account, chat, message_id) DO NOTHING"""
)
# Replace the content of a recorded message.
UPDATE_RECORDED = sql(
    """UPDATE record SET text = :text, quotations = :quotations, mentions = :mentions
    WHERE account = :account AND chat = :chat AND message_id = :message_id"""
)
CONTENT_OF_RECORDED = sql(
    """SELECT sender, text, quotations, mentions, sent_at FROM record WHERE account = :account
    AND chat = :chat AND message_id = :message_id"""
)
QUOTATIONS_OF_RECORDED = sql(
    "SELECT quotations FROM record WHERE account = :account AND chat = :chat AND message_id = :message_id"
)
SET_RECORDED_QUOTATIONS = sql(
    """UPDATE record SET quotations = :quotations WHERE account = :account AND chat = :chat
    AND message_id = :message_id"""
)
# Look for a recorded message of a topic that quotes the one which the topic grew from.
FIND_RECORDED_START = sql(
    """SELECT id FROM record WHERE account = :account AND chat = :chat AND topic = :topic
    AND quotations LIKE '%["thread_start",%' LIMIT 1"""
)
DELETE_RECORDED = sql(
    "DELETE FROM record WHERE account = :account AND chat = :chat AND message_id = :message_id"
)
RECORD_COLUMNS = "id, message_id, topic, sender, text, quotations, mentions, sent_at, link"
# List the newest recorded messages of a chat in a period that the readers of a topic can read.
LIST_RECORDED = sql(
    f"""SELECT {RECORD_COLUMNS} FROM record WHERE account = :account AND chat = :chat AND sent_at > :since
    AND sent_at <= :until AND id > :after AND (private_topic = 0 OR topic = :reader)
    ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
# List the newest recorded messages of a topic in a period.
LIST_RECORDED_IN_TOPIC = sql(
    f"""SELECT {RECORD_COLUMNS} FROM record WHERE account = :account AND chat = :chat AND topic = :topic
    AND sent_at > :since AND sent_at <= :until AND id > :after ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
# When a message arrived: an earlier version did not store it.
ARRIVED_AT = "CASE WHEN accepted_at > 0 THEN accepted_at ELSE sent_at END"
# List a chat's newest messages that arrived in a period and that all its members can read.
LIST_ARRIVED = sql(
    f"""SELECT {RECORD_COLUMNS} FROM record WHERE account = :account AND chat = :chat
    AND {ARRIVED_AT} > :since AND {ARRIVED_AT} <= :until AND private_topic = 0
    ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
# List the newest messages of a topic that arrived in a period.
LIST_ARRIVED_IN_TOPIC = sql(
    f"""SELECT {RECORD_COLUMNS} FROM record WHERE account = :account AND chat = :chat AND topic = :topic
    AND {ARRIVED_AT} > :since AND {ARRIVED_AT} <= :until ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
# Find the first recorded message of the previous turn of a conversation.
PREVIOUS_TURN_RECORDED = sql(
    f"""SELECT MIN(r.id) FROM record r JOIN inbound i ON i.account = r.account AND i.message_id = r.message_id
    WHERE r.account = :account AND r.chat = :chat AND i.turn_id = ({PREVIOUS_SOURCE})"""
)
# List the messages of the previous turn of a conversation.
PREVIOUS_TURN_MESSAGES = sql(
    f"SELECT message_id FROM inbound WHERE account = :account AND turn_id = ({PREVIOUS_SOURCE})"
)
COUNT_RECORDED = sql(
    "SELECT COUNT(*) FROM record WHERE account = :account AND chat = :chat AND sent_at > :since"
)
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
DELETE_CHAT_RECORD = sql("DELETE FROM record WHERE account = :account AND chat = :chat")
# Delete the old part of a chat's record.
PURGE_CHAT_RECORD = sql("DELETE FROM record WHERE account = :account AND chat = :chat AND sent_at < :before")


def record_message(connection: Connection, message: InboundMessage, now: float) -> None:
    """Record a message that arrived at `now`. An already recorded message stays unchanged."""
    origin = message.origin
    text = _with_files(message.text, message.attachments, message.quotations)
    if message.clicked or not (text or message.quotations):
        return
    connection.execute(
        ADD_RECORDED,
        {
            "account": origin.account,
            "chat": origin.chat,
            "topic": origin.topic,
            "private_topic": int(origin.private_topic),
            "message_id": origin.message_id,
            "sender": encode_sender(origin.sender),
            "text": text,
            "quotations": _encode_shortened(message.quotations),
            "mentions": encode_mentions(message.mentions),
            "sent_at": message.sent_at,
            "link": message.link,
            "now": now,
        },
    )


def apply_change(connection: Connection, happened: InboundChange) -> None:
    """Apply an edit or deletion to a recorded message, and to recorded replies that quote it.

    Where the edit does not tell of files and its author's words are the same, such as when a preview is
    added, the names of its files stay. So do those who were mentioned before: an erasure finds by them what
    the agent has read of the record.
    """
    origin = happened.origin
    here = {"account": origin.account, "chat": origin.chat, "message_id": origin.message_id}
    row = connection.execute(CONTENT_OF_RECORDED, here).first()
    change_replies(connection, row, happened, LONGEST)
    if happened.text is None:
        connection.execute(DELETE_RECORDED, here)
        return
    if row is None:
        return
    quotations = apply_edit_to_quotations(decode_quotations(row.quotations), happened)
    if happened.attachments is not None:
        text = _with_files(happened.text, happened.attachments, quotations)
    else:
        text = row.text if _has_words(row.text, happened.text) else happened.text[:LONGEST]
    mentions = add_mentions(row.mentions, happened.mentions or ())
    content = {"text": text, "quotations": _encode_shortened(quotations), "mentions": mentions}
    connection.execute(UPDATE_RECORDED, {**here, **content})


def change_quotations(
    connection: Connection, account: str, chat: str, message_id: str, change: ChangeQuotations
) -> None:
    """Replace the quotations of a recorded message by the result of `change`; ignore unrecorded messages."""
    here = {"account": account, "chat": chat, "message_id": message_id}
    row = connection.execute(QUOTATIONS_OF_RECORDED, here).first()
    if row is None:
        return
    known = decode_quotations(row.quotations)
    if (changed := change(known)) != known:
        connection.execute(SET_RECORDED_QUOTATIONS, {**here, "quotations": _encode_shortened(changed)})


def has_recorded_start(connection: Connection, account: str, chat: str, topic: str) -> bool:
    """Return whether a recorded message of a topic quotes the topic's first message."""
    given = {"account": account, "chat": chat, "topic": topic}
    return connection.execute(FIND_RECORDED_START, given).first() is not None


def _with_files(text: str, attachments: Sequence[Attachment], quotations: Sequence[Quotation]) -> str:
    """Return the author's text with the names of attached files, cut to LONGEST."""
    forwarded = (one for one in quotations if one.kind not in CONTEXT_KINDS)
    quoted = {name for quotation in forwarded for name in quotation.files}
    files = [f"[{one.filename}]" for one in attachments if one.filename not in quoted]
    return "\n".join(filter(None, [text.strip(), *files]))[:LONGEST]


def _has_words(recorded: str, text: str) -> bool:
    """Return whether a recorded text consists of this text, followed only by file names."""
    words = text.strip()[:LONGEST]
    if recorded == words:
        return True
    before = f"{words}\n" if words else ""
    return recorded.startswith(before) and _FILES.fullmatch(recorded, len(before)) is not None


def _encode_shortened(quotations: tuple[Quotation, ...]) -> str:
    return encode_quotations([replace(one, text=one.text[:LONGEST]) for one in quotations])


def list_recorded(
    connection: Connection,
    account: str,
    chat: str,
    since: float,
    until: float,
    limit: int = 500,
    topic: str | None = None,
    reader: str = "",
    after: int = 0,
) -> list[RecordedMessage]:
    """Return a chat's newest messages after `since` and no later than `until`, oldest first; `topic` None:
    from all topics except those that readers of the topic `reader` may not be able to read. Messages that
    arrived before the recorded message with the id `after` are omitted.
    """
    given: dict[str, Any] = {"account": account, "chat": chat, "since": since, "until": until}
    given |= {"limit": limit, "after": after}
    if topic is None:
        found = connection.execute(LIST_RECORDED, {**given, "reader": reader}).all()
    else:
        found = connection.execute(LIST_RECORDED_IN_TOPIC, {**given, "topic": topic}).all()
    return [_decode(row) for row in reversed(found)]


def list_arrived(
    connection: Connection, account: str, chat: str, since: float, until: float, limit: int, topic: str = ""
) -> list[RecordedMessage]:
    """Return the newest messages that arrived after `since` and no later than `until`, oldest first; `topic`
    "" includes every topic that all chat members can read. Times are by the service's clock: a message can
    arrive long after it was sent, and a platform's times may lack fractions of a second.
    """
    given = {"account": account, "chat": chat, "since": since, "until": until, "limit": limit}
    if topic:
        found = connection.execute(LIST_ARRIVED_IN_TOPIC, {**given, "topic": topic}).all()
    else:
        found = connection.execute(LIST_ARRIVED, given).all()
    return [_decode(row) for row in reversed(found)]


def count_recorded(connection: Connection, account: str, chat: str, since: float = 0.0) -> int:
    """Count a chat's recorded messages since a time."""
    given = {"account": account, "chat": chat, "since": since}
    return int(connection.execute(COUNT_RECORDED, given).scalar_one())


def list_recorded_chats(connection: Connection) -> list[RecordedChat]:
    """Return all recorded chats."""
    found = connection.execute(LIST_RECORDED_CHATS).all()
    return [RecordedChat(row.account, row.chat, row.record_days, row.recorded_since) for row in found]


def set_recording(
    connection: Connection, account: str, chat: str, days: int, actor: Actor, now: float
) -> None:
    """Record a chat with a retention in days; 0 stops recording and deletes the record."""
    given = {"account": account, "chat": chat, "days": days, "since": now if days else 0.0}
    connection.execute(SET_RECORDING, given)
    if not days:
        connection.execute(DELETE_CHAT_RECORD, {"account": account, "chat": chat})
    record_event(connection, actor, AuditEvent("record", f"{account}:{chat}", f"{days} days"), now)


def purge_record(connection: Connection, now: float) -> None:
    """Delete messages that exceed their chat's retention."""
    for one in list_recorded_chats(connection):
        before = now - one.days * DAY
        connection.execute(PURGE_CHAT_RECORD, {"account": one.account, "chat": one.chat, "before": before})


def list_recorded_before(
    connection: Connection, turn: Turn, back: float, limit: int
) -> list[RecordedMessage]:
    """Return messages between the conversation's previous turn (at most `back` seconds ago) and the last
    message of this turn, excluding both turns' own messages. A retry gets those before the repeated turn.
    """
    if not turn.messages:
        return []
    address, until = turn.address, turn.messages[-1].sent_at
    here = (address.account, address.chat)
    source = find_source(connection, turn).id
    given = {"conversation": turn.conversation, "turn": source, "account": here[0], "chat": here[1]}
    # By arrival: a platform's times may have no fractions of a second, and its clock is not ours.
    after = int(connection.execute(PREVIOUS_TURN_RECORDED, given).scalar_one_or_none() or 0)
    before = 0.0 if after else connection.execute(PREVIOUS_TURN_AT, given).scalar_one_or_none() or 0.0
    own = {message.message_id for message in turn.messages}
    topic = find_topic(turn)
    since = max(float(before), until - back)
    own |= {row.message_id for row in connection.execute(PREVIOUS_TURN_MESSAGES, given).all()}
    most = limit + len(own)
    found = list_recorded(connection, *here, since, until, most, topic, reader=address.topic, after=after)
    return [one for one in found if one.message_id not in own][-limit:]


def find_topic(turn: Turn) -> str | None:
    """Return the topic whose earlier messages a turn gets, or None if it gets those of the whole chat."""
    topic = turn.address.topic
    # On some platforms a message in a channel opens its own thread, which contains no earlier messages.
    return None if topic in {"", *(message.message_id for message in turn.messages)} else topic


def _decode(row: Any) -> RecordedMessage:
    return RecordedMessage(
        row.message_id,
        decode_sender(row.sender),
        row.text,
        row.sent_at,
        row.link,
        decode_quotations(row.quotations),
        row.id,
        row.topic,
        decode_mentions(row.mentions),
    )
