"""Creation of turns, their messages and reply parts."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import Part, PartKind, Quotation, ReplyAddress, Sender
from bot.store.connection import (
    Connection,
    encode_address,
    encode_choices,
    encode_quotations,
    encode_sender,
    sql,
)
from bot.turn import Turn, TurnKind, TurnState

# Insert a turn; returns its id.
ADD_TURN = sql(
    """INSERT INTO turns (conversation_id, kind, state, address, platform, thread_id, model, repeats,
    checkpoint, size, private_topic, ready_at, created_at) VALUES (:conversation, :kind, :state, :address,
    :platform, :thread_id, :model, :repeats, :checkpoint, :size, :private_topic, :ready_at, :now)
    RETURNING id"""
)
SET_STATE = sql("UPDATE turns SET state = :state, error = :error, finished_at = :finished_at WHERE id = :id")
# Insert or replace a reply part. Buttons that were used (see CLOSE_BUTTONS) stay so: one can be pressed
# before the delivery stores the message's id.
SAVE_PART = sql(
    """INSERT INTO parts (turn_id, position, kind, state, content, filename, platform_id, repeated, category,
    choices, updated_at) VALUES (:turn, :position, :kind, :state, :content, :filename, :platform_id,
    :repeated, :category, :choices, :now) ON CONFLICT (turn_id, position) DO UPDATE SET
    kind = excluded.kind, state = excluded.state, content = excluded.content, filename = excluded.filename,
    platform_id = excluded.platform_id, repeated = excluded.repeated, category = excluded.category, choices =
    CASE parts.choices WHEN '[]' THEN '[]' ELSE excluded.choices END, updated_at = excluded.updated_at"""
)
FIND_EVENT = sql("SELECT id FROM inbound WHERE account = :account AND event_id = :event_id")
# Insert a message unless its event is known; returns its id.
ADD_INBOUND = sql(
    """INSERT INTO inbound (account, event_id, message_id, sender, text, attachments, quotations, mentions,
    group_key, sent_at, accepted_at) VALUES (:account, :event_id, :message_id, :sender, :text, :attachments,
    :quotations, :mentions, :group_key, :sent_at, :now)
    ON CONFLICT (account, event_id) DO NOTHING RETURNING id"""
)
# Make a message part of a turn.
SET_INBOUND_TURN = sql("UPDATE inbound SET turn_id = :turn WHERE id = :id")


def open_turn(
    connection: Connection,
    conversation: int,
    kind: TurnKind,
    address: ReplyAddress,
    platform: str,
    thread_id: str,
    now: float,
    *,
    state: TurnState = TurnState.ACCEPTED,
    model: str = "",
    repeats: int = 0,
    checkpoint: str = "",
    size: int = 1,
    private_topic: bool = False,
    ready_at: float = 0.0,
) -> int:
    """Add a turn with `size` messages and return its id."""
    return int(
        connection.execute(
            ADD_TURN,
            {
                "conversation": conversation,
                "kind": kind.value,
                "state": state.value,
                "address": encode_address(address),
                "platform": platform,
                "thread_id": thread_id,
                "model": model,
                "repeats": repeats,
                "checkpoint": checkpoint,
                "size": size,
                "private_topic": int(private_topic),
                "ready_at": ready_at,
                "now": now,
            },
        ).scalar_one()
    )


def add_service_message(
    connection: Connection,
    turn: int,
    account: str,
    event_id: str,
    sender: Sender,
    text: str,
    now: float,
    quotations: Sequence[Quotation] = (),
) -> None:
    """Add a message to a turn that the service writes in the name of a sender."""
    message = {"account": account, "event_id": event_id, "sender": encode_sender(sender), "text": text}
    quoted = encode_quotations(quotations)
    empty = dict.fromkeys(("message_id", "attachments", "mentions", "group_key"), "")
    row = {**empty, **message, "quotations": quoted, "sent_at": now, "now": now}
    inbound = connection.execute(ADD_INBOUND, row).scalar_one()
    connection.execute(SET_INBOUND_TURN, {"turn": turn, "id": inbound})


def open_notice(
    connection: Connection,
    conversation: int,
    address: ReplyAddress,
    platform: str,
    thread_id: str,
    text: str,
    now: float,
    *,
    model: str = "",
    size: int = 1,
) -> int:
    """Add a turn with a fixed answer, delivered like any other answer, and return its id."""
    turn = open_turn(
        connection,
        conversation,
        TurnKind.NOTICE,
        address,
        platform,
        thread_id,
        now,
        state=TurnState.DELIVERING,
        model=model,
        size=size,
    )
    save_part(connection, turn, Part(0, PartKind.TEXT, text), now)
    return turn


def save_part(connection: Connection, turn: int, part: Part, now: float, category: str = "") -> None:
    """Insert or replace a reply part."""
    connection.execute(
        SAVE_PART,
        {
            "turn": turn,
            "position": part.index,
            "kind": part.kind.value,
            "state": part.state.value,
            "content": part.content,
            "filename": part.filename,
            "platform_id": part.platform_id,
            "repeated": int(part.repeated),
            "category": category,
            "choices": encode_choices(part.choices, part.commands),
            "now": now,
        },
    )


def record_answer(connection: Connection, command: Turn, text: str, now: float) -> None:
    """Store a command's answer in the same transaction as its action, so that a crash does not repeat the
    action.
    """
    save_part(connection, command.id, Part(0, PartKind.TEXT, text), now)
    delivering = {"id": command.id, "state": TurnState.DELIVERING.value, "error": "", "finished_at": 0.0}
    connection.execute(SET_STATE, delivering)
