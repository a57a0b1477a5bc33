"""Messages that join the run of the turn before them: which ones may, and what becomes of them at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import Turn, TurnMessage, TurnState
from bot.store import statements as common
from bot.store import steering_statements as sql
from bot.store.connection import Connection
from bot.store.message_edits import drop_message
from bot.store.rows import message_in
from bot.store.schedules import EVENT


@dataclass(frozen=True, slots=True)
class Behind:
    """The messages that may join, in their order. `more` > 0: look again in so many seconds."""

    messages: tuple[TurnMessage, ...] = ()
    more: float = 0.0


def accepts_steering(turn: Turn) -> bool:
    """Whether messages may join a turn: neither a repeated one nor the firing of a schedule."""
    return not turn.repeats and not any(message.event_id.startswith(EVENT) for message in turn.messages)


def load_steerable(connection: Connection, turn: Turn, now: float) -> Behind:
    """What waits behind a turn, up to the first message that may not join it: there is one order."""
    people = {person.id for person in (*(message.sender for message in turn.messages), *turn.askers)}
    found: list[TurnMessage] = []
    for row in connection.execute(sql.WAITING_MESSAGES, {"conversation": turn.conversation}).all():
        if row.deleted:
            continue
        message = message_in(row)
        if message.sender.id not in people or not _may_join(row, message, turn):
            break
        if row.ready_at > now:
            return Behind(tuple(found), row.ready_at - now)
        found.append(message)
    return Behind(tuple(found))


def _may_join(row: Any, message: TurnMessage, turn: Turn) -> bool:
    here: bool = row.thread_id == turn.thread_id and not row.answers
    return here and not message.attachments and not message.event_id.startswith(EVENT)


def join_messages(connection: Connection, turn: int, messages: Sequence[int], now: float) -> None:
    """The run of a turn has taken these messages in: they are part of it. The agent has read them, so it is
    told what their authors changed meanwhile.
    """
    for message in messages:
        row = connection.execute(sql.JOINING, {"id": message, "turn": turn}).first()
        if row is None:
            continue
        connection.execute(common.SET_INBOUND_TURN, {"turn": turn, "id": message})
        connection.execute(sql.REOPEN_CHANGES, {"inbound": message})
        gone = {"id": row.turn_id, "gone": int(not row.deleted)}
        left = connection.execute(common.HOLD_TURN, gone).first()
        if left is not None:
            drop_message(connection, row.turn_id, left, row.message_id, now, TurnState.DONE)
