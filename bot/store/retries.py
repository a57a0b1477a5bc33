"""Retries: turns that answer another turn's messages again, on a fork of its thread.

If the question were appended instead, the agent would see its bad answer and repeat it. The new run starts
from the checkpoint before the turn, or on a new thread if that turn was the first of its thread. A retry
that is sent during a run waits like a message, survives a restart, and determines what it repeats only when
it starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.domain import ReplyAddress
from bot.store.audit import Actor, AuditEvent, author_of, record_event
from bot.store.connection import OPEN, Connection, decode_address, sql
from bot.store.conversations import ConversationView
from bot.store.interrupts import ADDRESS_OF, abandon_interrupt
from bot.store.new_turn import open_turn, record_answer
from bot.store.usage_limits import UNLIMITED, UsageLimits
from bot.turn import Turn, TurnKind

THE_LAST = -1
"""Value of `repeats` for a queued retry: once it starts, it repeats the turn that was answered last by then.
"""


@dataclass(frozen=True, slots=True)
class RetryTarget:
    """The conversation, checkpoint and requester of a retry."""

    conversation: int
    address: ReplyAddress
    platform: str
    model: str
    thread_id: str
    checkpoint: str
    actor: Actor


@dataclass(frozen=True, slots=True)
class MessageEdit:
    """Another text for a message, with the id of its event."""

    event_id: str
    text: str


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """The last answered turn of a conversation; `source` is the turn whose messages it answered."""

    id: int
    source: int
    thread_id: str
    run_id: str


# Copy the answered interrupt from another turn, and whether its topic is private.
COPY_ANSWERS = sql(
    """UPDATE turns SET answers = (SELECT answers FROM turns WHERE id = :source),
    private_topic = (SELECT private_topic FROM turns WHERE id = :source) WHERE id = :id"""
)
# Check whether a conversation has an open chat turn.
HAS_OPEN_TURN = sql(
    f"SELECT 1 FROM turns WHERE conversation_id = :conversation AND kind = 'chat' AND state IN {OPEN} LIMIT 1"
)
# Find the last answered turn on the current thread that still has messages.
LAST_ANSWERED = sql(
    """SELECT id, thread_id, run_id, repeats, size FROM turns WHERE conversation_id = :conversation
    AND kind = 'chat' AND state IN ('done', 'failed', 'cancelled')
    AND thread_id = (SELECT thread_id FROM conversations WHERE id = :conversation) AND EXISTS (SELECT 1
    FROM inbound i WHERE i.turn_id = CASE WHEN repeats > 0 THEN repeats ELSE turns.id END AND i.turn_id > 0
    AND i.deleted = 0) ORDER BY id DESC LIMIT 1"""
)
# Check whether a retry waits in a conversation.
FIND_QUEUED_RETRY = sql(
    """SELECT 1 FROM turns WHERE conversation_id = :conversation AND kind = 'chat' AND state = 'accepted'
    AND repeats < 0 LIMIT 1"""
)
# Resolve a queued retry, if its conversation is still on its thread.
BEGIN_RETRY = sql(
    """UPDATE turns SET repeats = :repeats, thread_id = :thread_id, checkpoint = :checkpoint WHERE id = :id
    AND state = 'accepted' AND repeats < 0 AND thread_id = (SELECT c.thread_id FROM conversations c
    WHERE c.id = turns.conversation_id) RETURNING conversation_id"""
)
# Mark a turn as replaced by a later answer.
MARK_REPLACED = sql("UPDATE turns SET replaced = 1 WHERE id = :id")
# Cancel the automatic retry of a failed scheduled run that a person retried.
SETTLE_RUN = sql(
    """UPDATE firings SET judged = 1, retry_at = 0 WHERE turn_id = :turn AND turn_id > 0 AND EXISTS (SELECT 1
    FROM turns t WHERE t.id = :turn AND t.state = 'failed')"""
)
# Lock a conversation's row, so that messages accepted at the same moment come before or after.
LOCK_CONVERSATION = sql("UPDATE conversations SET active_at = active_at WHERE id = :conversation")

# Count the messages of a turn; no number if it answered a question.
EDITABLE_MESSAGES = sql(
    """SELECT CASE WHEN MAX(t.answers) = '' AND MIN(i.deleted) = 0 THEN COUNT(*) ELSE 0 END FROM inbound i
    JOIN turns t ON t.id = i.turn_id WHERE i.turn_id = :turn AND i.turn_id > 0"""
)
# Copy the message of a turn to another one, with another text.
COPY_MESSAGE = sql(
    """INSERT INTO inbound (account, event_id, turn_id, message_id, sender, text, attachments, quotations,
    mentions, sent_at, accepted_at) SELECT account, :event_id, :turn, :event_id, sender, :text, attachments,
    quotations, mentions, :now, :now FROM inbound WHERE turn_id = :source AND turn_id > 0"""
)


def open_retry(
    connection: Connection,
    command: Turn,
    answered: AnsweredTurn,
    *,
    checkpoint: str,
    thread_id: str,
    text: str,
    limits: UsageLimits = UNLIMITED,
    now: float,
) -> int:
    """Open a turn that repeats `answered`, forked from `checkpoint` of `thread_id`, and mark the old one.

    If `thread_id` is not the conversation's, it becomes the conversation's: there was nothing before that
    turn. `text` is the command's own answer. The retry counts for `limits`.
    """
    record_answer(connection, command, text, now)
    author = author_of(command)
    at = (command.conversation, command.address, command.platform, command.model)
    again = RetryTarget(*at, thread_id, checkpoint, author)
    return _open_retry(connection, answered, again, limits, now)


def queue_retry(
    connection: Connection, command: Turn, *, text: str, limits: UsageLimits = UNLIMITED, now: float
) -> None:
    """Queue a retry, if none waits, behind the turn in progress. It repeats what was answered last then."""
    record_answer(connection, command, text, now)
    if connection.execute(FIND_QUEUED_RETRY, {"conversation": command.conversation}).first() is not None:
        return
    limits.count_message(connection, now)
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
    connection: Connection, turn: int, answered: AnsweredTurn, *, checkpoint: str, thread_id: str, now: float
) -> bool:
    """Resolve a queued retry; return False if it no longer waits or the conversation has left the thread."""
    begun = {"id": turn, "repeats": answered.source, "thread_id": thread_id, "checkpoint": checkpoint}
    row = connection.execute(BEGIN_RETRY, begun).first()
    if row is None:
        return False
    _mark_replaced(connection, answered)
    abandon_interrupt(connection, row.conversation_id, thread_id, None, now)
    connection.execute(COPY_ANSWERS, {"id": turn, "source": answered.source})
    return True


def repeat_answer(
    connection: Connection,
    answered: AnsweredTurn,
    view: ConversationView,
    *,
    checkpoint: str,
    thread_id: str,
    model: str,
    limits: UsageLimits,
    actor: Actor,
    now: float,
    edit: MessageEdit | None = None,
) -> int:
    """Open a retry without a command, with the same reply address as the previous answer. With `edit`, the
    turn's only message gets another text. `model` is the account's model.

    Return 0 if a turn is in progress, another one has been answered in the meantime, or the message can't be
    edited any more.
    """
    if not _lock_last(connection, answered, view):
        return 0
    if edit is not None and find_editable(connection, view.id) != answered.source:
        return 0
    address = decode_address(connection.execute(ADDRESS_OF, {"id": answered.id}).scalar_one())
    if address.chat != view.key.chat:
        # The chat's id may have changed since that answer.
        address = replace(address, chat=view.key.chat, reply_to="")
    again = RetryTarget(view.id, address, view.platform, model, thread_id, checkpoint, actor)
    opened = _open_retry(connection, answered, again, limits, now, edit)
    action, number = ("retry", answered.id) if edit is None else ("message replaced", answered.source)
    done = AuditEvent(action, f"turn {number}", f"{address.account} {address.chat}")
    record_event(connection, actor, done, now)
    return opened


def find_editable(connection: Connection, conversation: int) -> int:
    """Return the turn whose message was answered last in a conversation and can be replaced, 0 if there is
    none: a turn is in progress, it has several messages, or it answered a question.
    """
    answered = find_last_answered(connection, conversation)
    busy = connection.execute(HAS_OPEN_TURN, {"conversation": conversation}).first() is not None
    if answered is None or busy:
        return 0
    messages = connection.execute(EDITABLE_MESSAGES, {"turn": answered.source}).scalar_one()
    return answered.source if messages == 1 else 0


def _lock_last(connection: Connection, answered: AnsweredTurn, view: ConversationView) -> bool:
    """Lock a conversation. Return whether it is idle, and this is still its last answered turn."""
    here = {"conversation": view.id}
    connection.execute(LOCK_CONVERSATION, here)
    busy = connection.execute(HAS_OPEN_TURN, here).first() is not None
    return not busy and find_last_answered(connection, view.id) == answered


def _open_retry(
    connection: Connection,
    answered: AnsweredTurn,
    again: RetryTarget,
    limits: UsageLimits,
    now: float,
    edit: MessageEdit | None = None,
) -> int:
    limits.count_message(connection, now)
    _mark_replaced(connection, answered)
    abandon_interrupt(connection, again.conversation, again.thread_id, again.actor, now)
    opened = open_turn(
        connection,
        again.conversation,
        TurnKind.CHAT,
        again.address if edit is None else replace(again.address, reply_to=edit.event_id),
        again.platform,
        again.thread_id,
        now,
        model=again.model,
        repeats=answered.source if edit is None else 0,
        checkpoint=again.checkpoint,
        size=int(edit is not None),
    )
    if edit is None:
        connection.execute(COPY_ANSWERS, {"id": opened, "source": answered.source})
    else:
        new = {"turn": opened, "source": answered.source, "now": now}
        connection.execute(COPY_MESSAGE, {**new, "event_id": edit.event_id, "text": edit.text})
    return opened


def _mark_replaced(connection: Connection, answered: AnsweredTurn) -> None:
    connection.execute(MARK_REPLACED, {"id": answered.id})
    connection.execute(SETTLE_RUN, {"turn": answered.id})


def find_last_answered(connection: Connection, conversation: int) -> AnsweredTurn | None:
    """Return the turn that `/retry` repeats: the last one on the conversation's current thread."""
    row = connection.execute(LAST_ANSWERED, {"conversation": conversation}).first()
    return None if row is None else AnsweredTurn(row.id, row.repeats or row.id, row.thread_id, row.run_id)
