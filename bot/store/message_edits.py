"""Edits and deletions by people. They change a turn that has not started; otherwise the next turn reports
them to the agent.

An edit of an accepted message opens no turn. One that first makes a message address the bot does
(`bot.store.inbox`), once: `edited_event_id` is the same for all edits of a message.

After the retention of a message, an edit opens no turn: the message may have been answered. The agent is
told of another text only, in JSON strings; the text of a deleted message is neither stored nor repeated.
Files of a message that the agent has read stay as they are: they were uploaded, and an erasure deletes them
by their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent.shared.text import shorten
from bot.domain import InboundChange, Origin
from bot.store.connection import (
    Connection,
    add_mentions,
    decode_address,
    decode_quotations,
    decode_sender,
    encode_address,
    encode_attachments,
    encode_mentions,
    encode_quotations,
    sql,
)
from bot.store.interrupts import SET_INBOUND_TEXT
from bot.store.new_turn import SET_STATE
from bot.store.quotations import apply_edit_to_quotations
from bot.turn import ChangeNote, TurnKind, TurnState

# Length in characters of the old text (enough to identify the message) and the new text reported to the
# agent.
OLD_SHOWN, NEW_SHOWN = 120, 2000
# Maximum number of edits reported to the agent in one turn; the latest ones win.
MOST_NOTES = 10
NEVER_BEGUN = frozenset({TurnState.CANCELLED.value, TurnState.EXPIRED.value})


# Change the reply address of a turn.
SET_ADDRESS = sql("UPDATE turns SET address = :address WHERE id = :id")
# Find the stored message that an edit or a deletion refers to, with its turn.
FIND_EDITED = sql(
    """SELECT i.id, i.turn_id, i.text, i.attachments, i.quotations, i.mentions, i.changed_at, t.kind, t.state,
    t.run_id, t.thread_id, t.conversation_id
    FROM inbound i JOIN turns t ON t.id = i.turn_id JOIN conversations c ON c.id = t.conversation_id
    WHERE i.account = :account AND i.message_id = :message_id AND i.turn_id > 0 AND i.deleted = 0
    AND c.chat = :chat ORDER BY i.id DESC LIMIT 1"""
)
# Find whether a message was accepted, though it may be deleted by now.
FIND_ACCEPTED = sql(
    """SELECT i.id FROM inbound i JOIN turns t ON t.id = i.turn_id
    JOIN conversations c ON c.id = t.conversation_id
    WHERE i.account = :account AND i.message_id = :message_id AND i.turn_id > 0 AND c.chat = :chat LIMIT 1"""
)
# The same for an erased edit, which only keeps its event id.
FIND_ACCEPTED_EVENT = sql("SELECT id FROM inbound WHERE account = :account AND event_id = :event_id")
# Replace what a message has in addition to its text.
SET_INBOUND_CONTENT = sql(
    """UPDATE inbound SET attachments = :attachments, quotations = :quotations, mentions = :mentions
    WHERE id = :id"""
)
# Insert an edit unless its event is known; returns its id.
ADD_EDIT = sql(
    """INSERT INTO changes (account, event_id, inbound_id, conversation_id, thread_id, old_text, new_text,
    deleted, changed_at) VALUES (:account, :event_id, :inbound, :conversation, :thread_id, :old_text,
    :new_text, :deleted, :at) ON CONFLICT (account, event_id) DO NOTHING RETURNING id"""
)
# Mark an edit as not to be reported to the agent.
SETTLE_EDIT = sql("UPDATE changes SET turn_id = -1 WHERE id = :id")
# Lock a turn that has not started and reduce its size by the messages taken out.
HOLD_TURN = sql(
    """UPDATE turns SET size = size - :gone WHERE id = :id AND state = 'accepted' AND repeats = 0
    RETURNING size, address"""
)
# Delete the text, attachments, quotations and mentions of a message, and mark it deleted.
CLEAR_INBOUND = sql(
    """UPDATE inbound SET text = '', attachments = '', quotations = '', mentions = '', deleted = 1,
    changed_at = :at WHERE id = :id"""
)
CLEAR_EDITS = sql("UPDATE changes SET old_text = '', new_text = '' WHERE inbound_id = :inbound")
# Find the newest message of a turn that is not deleted.
LAST_MESSAGE_ID = sql(
    """SELECT message_id FROM inbound WHERE turn_id = :turn AND turn_id > 0 AND deleted = 0
    ORDER BY id DESC LIMIT 1"""
)
# Assign all pending edits of a conversation to a turn.
ASSIGN_EDITS = sql(
    """UPDATE changes SET turn_id = :turn WHERE conversation_id = :conversation AND turn_id = 0
    RETURNING id"""
)
EDITS_OF_TURN = sql(
    """SELECT h.inbound_id, h.old_text, h.new_text, h.deleted, i.sender, i.turn_id AS source
    FROM changes h JOIN inbound i ON i.id = h.inbound_id WHERE h.turn_id IN (SELECT t.id FROM turns t
    WHERE t.conversation_id = :conversation AND :source IN (t.id, t.repeats)) AND h.turn_id > 0
    AND h.thread_id = :thread_id ORDER BY h.id"""
)


def edited_event_id(origin: Origin) -> str:
    """Return the event id of a message that addresses the bot since an edit."""
    return f"edited:{origin.chat}:{origin.message_id}"


def was_accepted(connection: Connection, change: InboundChange) -> bool:
    """Check whether an edited message was accepted before it was edited."""
    origin = change.origin
    here = {"account": origin.account, "chat": origin.chat, "message_id": origin.message_id}
    if connection.execute(FIND_ACCEPTED, here).first() is not None:
        return True
    event = {"account": origin.account, "event_id": change.message.event_id if change.message else ""}
    return connection.execute(FIND_ACCEPTED_EVENT, event).first() is not None


def apply_edit(connection: Connection, happened: InboundChange, now: float) -> None:
    """Apply an edit or a deletion to a stored message of a chat turn; ignore other messages."""
    origin = happened.origin
    row = connection.execute(
        FIND_EDITED,
        {"account": origin.account, "chat": origin.chat, "message_id": origin.message_id},
    ).first()
    if row is None or row.kind != TurnKind.CHAT.value or happened.at < row.changed_at:
        return
    before = {"attachments": row.attachments, "quotations": row.quotations, "mentions": row.mentions}
    if happened.text == row.text and _edited_content(happened, row) == before:
        return
    added = _add(connection, happened, row)
    if added is None:
        return
    gone = happened.text is None
    waiting = connection.execute(HOLD_TURN, {"id": row.turn_id, "gone": int(gone)}).first()
    has_begun = waiting is None
    # Other content, such as the preview of a link, is not news to an agent that has read the message.
    is_read = has_begun and not (row.state in NEVER_BEGUN and not row.run_id)
    if not is_read or happened.text == row.text:
        connection.execute(SETTLE_EDIT, {"id": added})
    if not gone:
        if happened.text != row.text:  # other content comes with times that are not its own
            connection.execute(SET_INBOUND_TEXT, {"text": happened.text, "at": happened.at, "id": row.id})
        content = _edited_content(happened, row, has_begun=has_begun)
        if content != before:
            connection.execute(SET_INBOUND_CONTENT, {**content, "id": row.id})
        return
    connection.execute(CLEAR_INBOUND, {"at": happened.at, "id": row.id})
    connection.execute(CLEAR_EDITS, {"inbound": row.id})
    if waiting is not None:
        drop_message(connection, row.turn_id, waiting, origin.message_id, now, TurnState.CANCELLED)


def _edited_content(happened: InboundChange, row: Any, *, has_begun: bool = False) -> dict[str, str]:
    """Return the column values for an edited message's content other than its text.

    Once its turn has begun, an erasure needs what the agent may have got: files stay, since they are deleted
    by their number, and so do the people who were mentioned.
    """
    change = replace(happened, attachments=None) if has_begun else happened
    attachments, mentions = change.attachments, change.mentions or ()
    quotations = apply_edit_to_quotations(decode_quotations(row.quotations), change)
    named = add_mentions(row.mentions, mentions) if has_begun else encode_mentions(mentions)
    return {
        "attachments": row.attachments if attachments is None else encode_attachments(attachments),
        "quotations": encode_quotations(quotations),
        "mentions": row.mentions if change.mentions is None else named,
    }


def list_notes(
    connection: Connection, turn: int, conversation: int, thread_id: str, repeats: int
) -> Sequence[ChangeNote]:
    """Return the edits that a turn reports to the agent, except for messages that it repeats.

    A retry also reports the edits that earlier turns with the same messages reported.
    """
    found: dict[int, ChangeNote] = {}
    here = {"conversation": conversation, "source": repeats or turn, "thread_id": thread_id}
    for row in connection.execute(EDITS_OF_TURN, here).all():
        if repeats and row.source == repeats:
            continue
        earlier = found.pop(row.inbound_id, None)
        before = row.old_text if earlier is None else earlier.before
        after = None if row.deleted else row.new_text
        found[row.inbound_id] = ChangeNote(decode_sender(row.sender), "" if row.deleted else before, after)
    return list(found.values())[-MOST_NOTES:]


def take_notes(
    connection: Connection, turn: int, conversation: int, thread_id: str, repeats: int
) -> Sequence[ChangeNote]:
    """Assign all pending edits to this turn and return them; edits on another thread are dropped."""
    told = connection.execute(ASSIGN_EDITS, {"turn": turn, "conversation": conversation}).all()
    return list_notes(connection, turn, conversation, thread_id, repeats) if told or repeats else ()


def _add(connection: Connection, happened: InboundChange, row: Any) -> int | None:
    """Insert an edit; return None if its event is already known."""
    gone = happened.text is None
    added: int | None = connection.execute(
        ADD_EDIT,
        {
            "account": happened.origin.account,
            "event_id": happened.event_id,
            "inbound": row.id,
            "conversation": row.conversation_id,
            "thread_id": row.thread_id,
            "old_text": "" if gone else shorten(row.text, OLD_SHOWN),
            "new_text": shorten(happened.text or "", NEW_SHOWN),
            "deleted": int(gone),
            "at": happened.at,
        },
    ).scalar_one_or_none()
    return added


def drop_message(
    connection: Connection, turn: int, waiting: Any, message_id: str, now: float, end: TurnState
) -> None:
    """Remove a message from a waiting turn. The reply address moves to a remaining message; an empty turn is
    closed as `end`.
    """
    last = connection.execute(LAST_MESSAGE_ID, {"turn": turn}).scalar_one_or_none()
    if last is None:
        error = "deleted" if end is TurnState.CANCELLED else ""
        closed = {"id": turn, "state": end.value, "error": error, "finished_at": now}
        connection.execute(SET_STATE, closed)
        return
    address = decode_address(waiting.address)
    if address.reply_to == message_id:
        moved = encode_address(replace(address, reply_to=last))
        connection.execute(SET_ADDRESS, {"address": moved, "id": turn})
