"""Agent threads that are deleted: by retention, or replaced by a new thread when a person is erased.

The agent's state is never rewritten. A thread is queued first and deleted on the runtime later, since the
runtime may be unavailable or a run may be in progress. A replacement begins empty: its first run gets what
is stored of the conversation (`list_kept_messages`).
"""

from __future__ import annotations

from bot.store.connection import OPEN, Connection, decode_message, sql
from bot.turn import Turn, TurnMessage

# Queue a thread for deletion on the runtime. `successor` replaces it; what its runs answer from `since` on
# is not stored.
ADD_LEAVING = sql(
    """INSERT INTO leaving_threads (thread_id, conversation_id, successor, since)
    VALUES (:thread, :conversation, :successor, :since) ON CONFLICT (thread_id) DO NOTHING"""
)
GET_LEAVING = sql("SELECT conversation_id, successor, since FROM leaving_threads WHERE thread_id = :thread")
# List queued threads without open chat turns.
LIST_ABANDONED = sql(
    f"""SELECT thread_id FROM leaving_threads l WHERE NOT EXISTS (SELECT 1 FROM turns t
    WHERE t.conversation_id = l.conversation_id AND t.thread_id = l.thread_id AND t.kind = 'chat'
    AND t.state IN {OPEN}) ORDER BY since LIMIT :limit"""
)
# Check whether threads are queued for deletion.
HAS_LEAVING = sql("SELECT 1 FROM leaving_threads LIMIT 1")
# Remove a deleted thread from the queue.
DELETE_LEAVING = sql("DELETE FROM leaving_threads WHERE thread_id = :thread")
# Delete the answers of a thread that were finished after it had to be left: nobody has checked what is in
# them.
DELETE_LATE_ANSWERS = sql(
    f"""DELETE FROM parts WHERE turn_id IN (SELECT id FROM turns WHERE conversation_id = :conversation
    AND thread_id = :thread AND kind = 'chat' AND state NOT IN {OPEN} AND finished_at >= :since)"""
)
# Separate the closed turns of a conversation from a thread and its runs.
RELEASE_CLOSED = sql(
    f"""UPDATE turns SET thread_id = :successor, renewed = 1, run_id = '', last_run_id = '', checkpoint = '',
    answers = '', steps = '', trace = '' WHERE conversation_id = :conversation AND thread_id = :thread
    AND state NOT IN {OPEN}"""
)
# Let turns that wait begin on the thread's successor; the answer to a question needs the thread.
MOVE_WAITING = sql(
    """UPDATE turns SET thread_id = :successor, checkpoint = '' WHERE conversation_id = :conversation
    AND thread_id = :thread AND state = 'accepted' AND answers = ''"""
)
# Find the latest earlier turn with a run on a thread, which then has what is kept.
FIND_EARLIER_RUN = sql(
    """SELECT 1 FROM turns WHERE conversation_id = :conversation AND id < :turn AND kind = 'chat'
    AND thread_id = :thread AND renewed = 0 AND run_id <> '' ORDER BY id DESC LIMIT 1"""
)
THREAD_OF = sql("SELECT thread_id FROM turns WHERE id = :turn")
# List what people wrote on a thread before it was replaced by this one, newest first.
KEPT_MESSAGES = sql(
    """SELECT i.id, i.event_id, i.message_id, i.sender, i.text, i.attachments, i.quotations, i.mentions,
    i.sent_at, i.deleted FROM turns t JOIN inbound i ON i.turn_id = t.id AND i.turn_id > 0
    WHERE t.conversation_id = :conversation AND t.kind = 'chat' AND t.id < :turn AND i.deleted = 0
    AND (t.renewed = 1 AND t.thread_id = :thread OR t.thread_id IN (SELECT l.thread_id
    FROM leaving_threads l WHERE l.successor = :thread)) ORDER BY i.id DESC LIMIT :limit"""
)


def leave_thread(
    connection: Connection, conversation: int, thread: str, since: float, successor: str = ""
) -> None:
    """Queue a thread for deletion, and move its turns to its successor, if any. A turn in progress is moved
    when the thread is deleted.
    """
    here = {"conversation": conversation, "thread": thread, "successor": successor, "since": since}
    connection.execute(ADD_LEAVING, here)
    if successor:
        connection.execute(MOVE_WAITING, here)
    _release_closed(connection, here)


def list_abandoned_threads(connection: Connection, limit: int = 50) -> list[str]:
    """Return threads to delete on the runtime that have no turn in progress."""
    return [str(row.thread_id) for row in connection.execute(LIST_ABANDONED, {"limit": limit}).all()]


def has_abandoned_threads(connection: Connection) -> bool:
    """Check whether threads are queued for deletion."""
    return connection.execute(HAS_LEAVING).first() is not None


def drop_abandoned_thread(connection: Connection, thread: str) -> None:
    """Remove from the queue a thread that the runtime has deleted."""
    row = connection.execute(GET_LEAVING, {"thread": thread}).first()
    if row is None:
        return
    here = {"conversation": row.conversation_id, "successor": row.successor, "since": row.since}
    _release_closed(connection, {**here, "thread": thread})
    connection.execute(DELETE_LEAVING, {"thread": thread})


def list_kept_messages(connection: Connection, turn: Turn, limit: int) -> list[TurnMessage]:
    """Return the newest messages that people wrote on the thread of a turn before it was replaced, oldest
    first, if this is the first run since. A retry gets what the repeated turn got.
    """
    source = turn.repeats or turn.id
    thread = connection.execute(THREAD_OF, {"turn": source}).scalar_one_or_none()
    here = {"conversation": turn.conversation, "turn": source, "thread": thread}
    if not thread or connection.execute(FIND_EARLIER_RUN, here).first() is not None:
        return []
    rows = connection.execute(KEPT_MESSAGES, {**here, "limit": limit}).all()
    return [decode_message(row) for row in reversed(rows)]


def _release_closed(connection: Connection, here: dict[str, object]) -> None:
    connection.execute(DELETE_LATE_ANSWERS, here)
    connection.execute(RELEASE_CLOSED, here)
