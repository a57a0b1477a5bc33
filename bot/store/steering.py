"""Steering: waiting messages that join the run of the turn before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import Sender, person_of
from bot.store.connection import Connection, decode_message, sql
from bot.store.message_edits import HOLD_TURN, drop_message
from bot.store.new_turn import SET_INBOUND_TURN
from bot.store.tool_grants import list_granted_tools
from bot.turn import Turn, TurnMessage, TurnState


@dataclass(frozen=True, slots=True)
class Steerable:
    """Messages that may join a run, in order. `more` > 0: check again after this number of seconds."""

    messages: tuple[TurnMessage, ...] = ()
    more: float = 0.0


# List the messages of a conversation that wait for a turn.
LIST_WAITING = sql(
    """SELECT i.id, i.event_id, i.message_id, i.sender, i.text, i.attachments, i.quotations, i.mentions,
    i.sent_at, i.deleted, t.thread_id, t.answers, t.ready_at FROM inbound i JOIN turns t ON t.id = i.turn_id
    WHERE t.conversation_id = :conversation AND t.kind = 'chat' AND t.state = 'accepted' AND i.turn_id > 0
    ORDER BY i.id"""
)
# Find a message that still waits; a deleted one may have been the only message of its turn.
FIND_WAITING = sql(
    """SELECT i.turn_id, i.message_id, i.deleted FROM inbound i JOIN turns t ON t.id = i.turn_id
    WHERE i.id = :id AND i.turn_id > 0 AND i.turn_id <> :turn AND t.kind = 'chat'
    AND t.conversation_id = (SELECT r.conversation_id FROM turns r WHERE r.id = :turn)
    AND (t.state = 'accepted' OR (t.state = 'cancelled' AND t.run_id = ''))"""
)
# Make the edits of a message pending again.
REOPEN_EDITS = sql("UPDATE changes SET turn_id = 0 WHERE inbound_id = :inbound AND turn_id = -1")


def accepts_steering(turn: Turn) -> bool:
    """Check whether messages may join a turn, which excludes retries and scheduled runs."""
    return not turn.repeats and not turn.is_scheduled


def load_steerable(
    connection: Connection, turn: Turn, now: float, may_steer: Callable[[Sender], bool] = lambda _: False
) -> Steerable:
    """Return the messages that wait behind a turn, stopping at the first that may not join it, to preserve
    the order. A message of another person joins if they `may_steer`, and if the tools that the turn uses
    without approval need none with this person either.
    """
    people = {one.key: one for one in turn.people}

    def is_allowed(sender: Sender) -> bool:
        if sender.key in people:
            return True
        authors = {person_of(turn.platform, one) for one in (*people.values(), sender)}
        where = turn.address.account, turn.conversation
        granted = list_granted_tools(connection, *where, authors, now) if turn.approved else ()
        return set(turn.approved) <= set(granted) and may_steer(sender)

    found: list[TurnMessage] = []
    for row in connection.execute(LIST_WAITING, {"conversation": turn.conversation}).all():
        if row.deleted:
            continue
        message = decode_message(row)
        if not is_allowed(message.sender) or not _may_join(row, message, turn):
            break
        if row.ready_at > now:
            return Steerable(tuple(found), row.ready_at - now)
        found.append(message)
    return Steerable(tuple(found))


def _may_join(row: Any, message: TurnMessage, turn: Turn) -> bool:
    here: bool = row.thread_id == turn.thread_id and not row.answers
    is_app = message.sender.is_bot and not (message.is_incident and turn.is_incident)
    return here and not is_app and not message.attachments and not message.is_scheduled


def join_messages(connection: Connection, turn: int, messages: Sequence[int], now: float) -> None:
    """Add messages to a turn whose run has read them. Their later edits are reported to the agent."""
    for message in messages:
        row = connection.execute(FIND_WAITING, {"id": message, "turn": turn}).first()
        if row is None:
            continue
        connection.execute(SET_INBOUND_TURN, {"turn": turn, "id": message})
        connection.execute(REOPEN_EDITS, {"inbound": message})
        gone = {"id": row.turn_id, "gone": int(not row.deleted)}
        left = connection.execute(HOLD_TURN, gone).first()
        if left is not None:
            drop_message(connection, row.turn_id, left, row.message_id, now, TurnState.DONE)
