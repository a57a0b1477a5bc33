"""Edits and deletions by people: before its turn has begun they change it, later they are told with the next.

Nothing here opens a turn: an edit is never answered by itself, and neither is one that adds a mention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bot.domain import ChangeNote, InboundChange, TurnKind, TurnState
from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.rows import address_in, address_out, sender_in

# Characters that the agent is told of an old text, by which it knows the message, and of the new one.
OLD_SHOWN, NEW_SHOWN = 120, 2000
# Of so many messages the agent is told at most with one turn, the latest.
MOST_NOTES = 10
NEVER_BEGUN = frozenset({TurnState.CANCELLED.value, TurnState.EXPIRED.value})


def apply_edit(connection: Connection, happened: InboundChange, now: float) -> None:
    """Take over what became of a message; one that no chat turn has is nobody's business."""
    origin = happened.origin
    row = connection.execute(
        sql.FIND_CHANGED,
        {"account": origin.account, "chat": origin.chat, "message_id": origin.message_id},
    ).first()
    if row is None or row.kind != TurnKind.CHAT.value or happened.at < row.changed_at:
        return
    if happened.text == row.text:
        return
    added = _add(connection, happened, row)
    if added is None:
        return
    gone = happened.text is None
    waiting = connection.execute(sql.HOLD_TURN, {"id": row.turn_id, "gone": int(gone)}).first()
    if waiting is not None or (row.state in NEVER_BEGUN and not row.run_id):
        connection.execute(sql.SETTLE_CHANGE, {"id": added})
    if not gone:
        connection.execute(sql.CHANGE_INBOUND, {"text": happened.text, "at": happened.at, "id": row.id})
        return
    connection.execute(sql.EMPTY_INBOUND, {"at": happened.at, "id": row.id})
    connection.execute(sql.EMPTY_CHANGES, {"inbound": row.id})
    if waiting is not None:
        drop_message(connection, row.turn_id, waiting, origin.message_id, now, TurnState.CANCELLED)


def list_notes(connection: Connection, turn: int, thread_id: str, repeats: int) -> Sequence[ChangeNote]:
    """What a turn tells the agent; not of the messages that it asks again, since it asks them as they are."""
    found: dict[int, ChangeNote] = {}
    for row in connection.execute(sql.CHANGES_OF_TURN, {"turn": turn, "thread_id": thread_id}).all():
        if repeats and row.source == repeats:
            continue
        earlier = found.pop(row.inbound_id, None)
        before = row.old_text if earlier is None else earlier.before
        after = None if row.deleted else row.new_text
        found[row.inbound_id] = ChangeNote(sender_in(row.sender), "" if row.deleted else before, after)
    return list(found.values())[-MOST_NOTES:]


def take_notes(
    connection: Connection, turn: int, conversation: int, thread_id: str, repeats: int
) -> Sequence[ChangeNote]:
    """Whatever was not told yet is told with this turn; what happened on another thread is dropped."""
    told = connection.execute(sql.TELL_CHANGES, {"turn": turn, "conversation": conversation}).all()
    return list_notes(connection, turn, thread_id, repeats) if told else ()


def _add(connection: Connection, happened: InboundChange, row: Any) -> int | None:
    """Write it down; None where this event was taken over before."""
    gone = happened.text is None
    added: int | None = connection.execute(
        sql.ADD_CHANGE,
        {
            "account": happened.origin.account,
            "event_id": happened.event_id,
            "inbound": row.id,
            "conversation": row.conversation_id,
            "thread_id": row.thread_id,
            "old_text": "" if gone else _cut(row.text, OLD_SHOWN),
            "new_text": _cut(happened.text or "", NEW_SHOWN),
            "deleted": int(gone),
            "at": happened.at,
        },
    ).scalar_one_or_none()
    return added


def drop_message(
    connection: Connection, turn: int, waiting: Any, message_id: str, now: float, end: TurnState
) -> None:
    """A message left a waiting turn: the reply answers one that is there, and an empty turn ends quietly, as
    `end`.
    """
    last = connection.execute(sql.LAST_MESSAGE, {"turn": turn}).scalar_one_or_none()
    if last is None:
        error = "deleted" if end is TurnState.CANCELLED else ""
        closed = {"id": turn, "state": end.value, "error": error, "finished_at": now}
        connection.execute(sql.SET_STATE, closed)
        return
    address = address_in(waiting.address)
    if address.reply_to == message_id:
        moved = address_out(replace(address, reply_to=last))
        connection.execute(sql.SET_ADDRESS, {"address": moved, "id": turn})


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
