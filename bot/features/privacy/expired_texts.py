"""Texts that are older than the retention of their account, or in a conversation that somebody deletes, and
what is remembered of messages.

Rows of turns are not deleted, so that their token usage stays counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.features.privacy.leaving_threads import leave_thread
from bot.features.privacy.written_messages import STEP
from bot.store import Database
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import OPEN, Connection, Statement, sql
from bot.store.conversations import DELETED, ConversationView
from bot.store.exchanges import clear_quoted_people
from bot.store.person_data import ChatKey, PersonData
from bot.store.retries import LOCK_CONVERSATION
from bot.turn import OPEN_STATES, TurnState

KNOWN_MESSAGES_KEPT = 90 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class RetentionStep:
    """The progress of a step: the last id it covered, and whether more steps follow."""

    upto: int
    more: bool


# Delete remembered group messages, message edits, and events without a turn that are too old to matter.
PURGE_MESSAGE_HISTORY = [
    sql("DELETE FROM known_messages WHERE seen_at < :before"),
    sql("DELETE FROM changes WHERE changed_at < :before"),
    sql("DELETE FROM inbound WHERE turn_id = 0 AND accepted_at < :before"),
]
# Read the last turn whose texts were deleted.
GET_MARK = sql("SELECT turn_id FROM forgotten WHERE account = :account")
# Store the last turn whose texts were deleted.
SET_MARK = sql(
    """INSERT INTO forgotten (account, turn_id) VALUES (:account, :turn)
    ON CONFLICT (account) DO UPDATE SET turn_id = excluded.turn_id"""
)
NEWEST_TURN = sql("SELECT COALESCE(MAX(id), 0) FROM turns")
# List the turns of an account in a range of ids.
TURNS_AFTER = sql(
    """SELECT t.id, t.state, t.created_at, t.conversation_id FROM turns t
    JOIN conversations c ON c.id = t.conversation_id
    WHERE t.id > :after AND t.id <= :upto AND c.account = :account ORDER BY t.id"""
)
DELETE_TEXTS = [
    sql("DELETE FROM parts WHERE turn_id IN :turns", "turns"),
    sql(
        """DELETE FROM changes WHERE inbound_id IN (SELECT id FROM inbound WHERE turn_id > 0
        AND turn_id IN :turns)""",
        "turns",
    ),
    sql("DELETE FROM inbound WHERE turn_id > 0 AND turn_id IN :turns", "turns"),
    sql(
        "UPDATE turns SET steps = '', trace = '' WHERE id IN :turns AND (steps <> '' OR trace <> '')", "turns"
    ),
    sql("UPDATE turns SET stopper = '', stopper_name = '' WHERE id IN :turns AND stopper <> ''", "turns"),
]
# List the threads of a conversation that were last used before an instant and have no open turn.
UNUSED_THREADS = sql(
    f"""SELECT thread_id FROM turns WHERE conversation_id = :conversation AND thread_id <> ''
    GROUP BY thread_id HAVING MAX(created_at) < :before
    AND MAX(CASE WHEN state IN {OPEN} THEN 1 ELSE 0 END) = 0"""
)
# Give a conversation a fresh thread if it is still on this one.
REPLACE_THREAD = sql(
    """UPDATE conversations SET thread_id = :new, title = '', question = '', asked_by = 0, askers = '',
    decisions = '' WHERE id = :conversation AND thread_id = :thread"""
)

TURNS_IN = sql("SELECT id, state, thread_id FROM turns WHERE conversation_id = :conversation ORDER BY id")
DELETE_GRANTS = sql("DELETE FROM tool_grants WHERE conversation_id = :conversation")
# Leave nothing of a conversation but its row, to which the usage of its turns belongs.
RETIRE_CONVERSATION = sql(
    """UPDATE conversations SET chat = :chat, owner = '', title = '', model = '', agent = '', question = '',
    askers = '', decisions = '', quoted_people = '' WHERE id = :conversation"""
)


def load_mark(connection: Connection, account: str) -> int:
    """Return the last turn of an account whose texts were deleted."""
    return int(connection.execute(GET_MARK, {"account": account}).scalar_one_or_none() or 0)


def erase_old_texts(
    connection: Connection,
    account: str,
    before: float,
    now: float,
    new_id: Callable[[], str],
    data: Sequence[PersonData],
) -> RetentionStep:
    """Delete the texts of the next closed turns of an account that were accepted before an instant, also
    those that features store, and queue their unused threads for deletion.
    """
    after = load_mark(connection, account)
    newest = int(connection.execute(NEWEST_TURN).scalar_one())
    upto = min(after + STEP, newest)
    given = {"account": account, "after": after, "upto": upto}
    old: list[int] = []
    conversations: set[int] = set()
    stopped = False
    for row in connection.execute(TURNS_AFTER, given).all():
        if row.created_at >= before or TurnState(row.state) in OPEN_STATES:
            upto, stopped = row.id - 1, True
            break
        old.append(row.id)
        conversations.add(row.conversation_id)
    if old:
        for one in data:
            one.delete_turns(connection, old)
        for statement in DELETE_TEXTS:
            connection.execute(statement, {"turns": old})
    for conversation in sorted(conversations):
        here = {"conversation": conversation, "before": before}
        for row in connection.execute(UNUSED_THREADS, here).all():
            _leave(connection, conversation, row.thread_id, new_id(), now)
    connection.execute(SET_MARK, {"account": account, "turn": upto})
    return RetentionStep(upto, not stopped and upto < newest)


def delete_conversation(
    connection: Connection,
    view: ConversationView,
    actor: Actor,
    now: float,
    new_id: Callable[[], str],
    data: Sequence[PersonData],
) -> bool:
    """Delete the texts of a conversation, its schedules and granted tools, and queue its threads for
    deletion. Its row belongs to nobody any more. Return False if a turn is in progress.
    """
    here = {"conversation": view.id}
    connection.execute(LOCK_CONVERSATION, here)
    turns = connection.execute(TURNS_IN, here).all()
    if any(TurnState(row.state) in OPEN_STATES for row in turns):
        return False
    for start in range(0, len(turns), STEP):
        chunk = [row.id for row in turns[start : start + STEP]]
        for one in data:
            one.delete_turns(connection, chunk)
        for statement in DELETE_TEXTS:
            connection.execute(statement, {"turns": chunk})
    for thread in sorted({row.thread_id for row in turns if row.thread_id}):
        _leave(connection, view.id, thread, new_id(), now)
    for one in data:
        one.delete_chat(connection, ChatKey(view.key.account, view.key.chat))
    connection.execute(DELETE_GRANTS, here)
    connection.execute(RETIRE_CONVERSATION, {**here, "chat": f"{DELETED}{view.id}"})
    record_event(connection, actor, AuditEvent("conversation deleted", f"conversation {view.id}"), now)
    return True


def _leave(connection: Connection, conversation: int, thread: str, fresh: str, now: float) -> None:
    here = {"conversation": conversation, "thread": thread, "new": fresh}
    connection.execute(REPLACE_THREAD, here)
    leave_thread(connection, conversation, thread, now)
    clear_quoted_people(connection, conversation)


async def purge_message_history(db: Database, now: float) -> None:
    """Delete known message ids, message edits, and events without a turn after 90 days."""
    for statement in PURGE_MESSAGE_HISTORY:
        await db.transact(_purge, statement, now - KNOWN_MESSAGES_KEPT)


def _purge(connection: Connection, statement: Statement, before: float) -> None:
    connection.execute(statement, {"before": before})
