"""A turn that answers again what another one has answered, on a fork from before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain import ReplyAddress, Turn, TurnKind
from bot.store import statements as sql
from bot.store.audit import Actor, Deed, author_of, record_event
from bot.store.budgets import Limit, count_message
from bot.store.connection import Connection
from bot.store.conversations import ConversationView
from bot.store.interrupts import abandon_interrupt
from bot.store.new_turn import open_turn, record_answer
from bot.store.rows import address_in


@dataclass(frozen=True, slots=True)
class Again:
    """Where a turn is answered again, what it begins from, and who wants that."""

    conversation: int
    address: ReplyAddress
    platform: str
    model: str
    thread_id: str
    checkpoint: str
    actor: Actor


def open_retry(
    connection: Connection,
    command: Turn,
    answered: Answered,
    *,
    checkpoint: str,
    thread_id: str,
    text: str,
    limits: Sequence[Limit] = (),
    now: float,
) -> int:
    """Open a turn that answers `answered` again, forked from `checkpoint` of `thread_id`; mark the old one.

    A `thread_id` other than the conversation's becomes the conversation's: there was nothing before that
    turn. `text` is the command's own answer; it counts for `limits`.
    """
    record_answer(connection, command, text, now)
    author = author_of(command)
    at = (command.conversation, command.address, command.platform, command.model)
    again = Again(*at, thread_id, checkpoint, author)
    return _again(connection, answered, again, limits, now)


def queue_retry(
    connection: Connection, command: Turn, *, text: str, limits: Sequence[Limit] = (), now: float
) -> None:
    """As `retry`, where something is under way: the turn waits behind it, and answers again what was answered
    last by then. One waits at a time.
    """
    record_answer(connection, command, text, now)
    if connection.execute(sql.RETRY_WAITS, {"conversation": command.conversation}).first() is not None:
        return
    count_message(connection, limits, now)
    open_turn(
        connection,
        command.conversation,
        TurnKind.CHAT,
        command.address,
        command.platform,
        command.thread_id,
        now,
        model=command.model,
        repeats=THE_LAST,
        size=0,
    )


def begin_retry(
    connection: Connection, turn: int, answered: Answered, *, checkpoint: str, thread_id: str, now: float
) -> bool:
    """Tell a turn that waited what it repeats, and from where; False where it waits no more, or the thread
    was left meanwhile.
    """
    begun = {"id": turn, "repeats": answered.source, "thread_id": thread_id, "checkpoint": checkpoint}
    row = connection.execute(sql.BEGIN_RETRY, begun).first()
    if row is None:
        return False
    _replaced(connection, answered)
    abandon_interrupt(connection, row.conversation_id, thread_id, None, now)
    connection.execute(sql.COPY_ANSWERS, {"id": turn, "source": answered.source})
    return True


def repeat_answer(
    connection: Connection,
    answered: Answered,
    view: ConversationView,
    *,
    checkpoint: str,
    thread_id: str,
    model: str,
    limits: Sequence[Limit],
    actor: Actor,
    now: float,
) -> int:
    """As `retry`, without a command: the answer goes where the one before it went. 0 where something is under
    way there, or something else was answered meanwhile. `model` is the account's.
    """
    here = {"conversation": view.id}
    connection.execute(sql.HOLD_CONVERSATION, here)
    busy = connection.execute(sql.ANY_OPEN, here).first() is not None
    if busy or find_last_answered(connection, view.id) != answered:
        return 0
    address = address_in(connection.execute(sql.ADDRESS_OF, {"id": answered.id}).scalar_one())
    if address.chat != view.key.chat:
        # The chat has got another id since.
        address = replace(address, chat=view.key.chat, reply_to="")
    again = Again(view.id, address, view.platform, model, thread_id, checkpoint, actor)
    opened = _again(connection, answered, again, limits, now)
    done = Deed("retry", f"turn {answered.id}", f"{address.account} {address.chat}")
    record_event(connection, actor, done, now)
    return opened


def _again(
    connection: Connection, answered: Answered, again: Again, limits: Sequence[Limit], now: float
) -> int:
    count_message(connection, limits, now)
    _replaced(connection, answered)
    abandon_interrupt(connection, again.conversation, again.thread_id, again.actor, now)
    opened = open_turn(
        connection,
        again.conversation,
        TurnKind.CHAT,
        again.address,
        again.platform,
        again.thread_id,
        now,
        model=again.model,
        repeats=answered.source,
        checkpoint=again.checkpoint,
        size=0,
    )
    connection.execute(sql.COPY_ANSWERS, {"id": opened, "source": answered.source})
    return opened


def _replaced(connection: Connection, answered: Answered) -> None:
    """The answer has another one in its place."""
    connection.execute(sql.MARK_REPLACED, {"id": answered.id})
    connection.execute(sql.SETTLE_FIRING, {"turn": answered.id})


@dataclass(frozen=True, slots=True)
class Answered:
    """The last answered turn of a conversation; `source` is the turn whose messages it answered."""

    id: int
    source: int
    thread_id: str
    run_id: str


def find_last_answered(connection: Connection, conversation: int) -> Answered | None:
    """The turn that `/retry` would answer again: the last one of the thread that the conversation is on."""
    row = connection.execute(sql.LAST_ANSWERED, {"conversation": conversation}).first()
    return None if row is None else Answered(row.id, row.repeats or row.id, row.thread_id, row.run_id)


THE_LAST = -1
"""What a turn repeats that waits for the one before it: whatever was answered last by then."""
