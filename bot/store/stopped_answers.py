"""Stopped answers: the next turn on their thread reports to the agent how much of them people had seen.

A cancelled model call leaves nothing in the thread, but people have read the beginning of its answer. The
text comes from the stored parts, so retention and erasure cover it. It is told in a human message of the
service with an id of its own, which a repeated run replaces: several providers reject an assistant message
after another one. It is told once; `/retry` of the stopped turn and `/new` drop it.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.shared.text import cut_middle
from bot.domain import Sender
from bot.store.audit import Actor
from bot.store.connection import AT_WORK, OPEN, Accounts, Connection, on_accounts, sql
from bot.turn import Stopped, StoppedAnswer

MAX_SHOWN = 6000
"""Characters of a stopped answer that the agent is told; a longer one loses its middle."""
# Mark the running turn of a conversation as stopped; returns its id. The first stop counts.
STOP_RUNNING = sql(
    f"""UPDATE turns SET stopped = CASE stopped WHEN 0 THEN :why ELSE stopped END,
    stopper = CASE stopped WHEN 0 THEN :stopper ELSE stopper END,
    stopper_name = CASE stopped WHEN 0 THEN :name ELSE stopper_name END
    WHERE conversation_id = :conversation AND kind = 'chat' AND state IN ('running', 'waiting') AND {AT_WORK}
    RETURNING id"""
)
# List the conversations of some accounts, or of all, whose turn in progress was stopped.
STOPPED_CONVERSATIONS = sql(
    """SELECT t.conversation_id FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE t.kind = 'chat' AND t.state IN ('running', 'waiting') AND t.state IN """
    f"""{OPEN} AND t.stopped > 0 AND (:all = 1 OR c.account IN :accounts)""",
    "accounts",
)
# Assign a thread's stopped answers and questions to the turn that reports them, except those of runs that
# never started, which left nothing in the thread, and those that a retry replaced.
ASSIGN_STOPPED = sql(
    f"""UPDATE turns SET stop_told = :turn WHERE conversation_id = :conversation AND stopped > 0 AND {AT_WORK}
    AND stop_told = 0 AND thread_id = :thread_id AND state = 'cancelled' AND replaced = 0
    AND (run_id <> '' OR (answers <> '' AND stopped = {Stopped.ASKED.value}))"""
)
WHY_STOPPED = sql("SELECT stopped FROM turns WHERE id = :id")
STOPPER_OF = sql("SELECT stopper, stopper_name FROM turns WHERE id = :id AND stopper <> ''")
STOPPED_OF = sql(
    """SELECT id, stopped, stopper, stopper_name, run_id FROM turns WHERE conversation_id = :conversation
    AND stopped > 0 AND stop_told IN (:turn, :repeats) AND stop_told > 0 ORDER BY id"""
)
SHOWN_TEXTS = sql(
    "SELECT content FROM parts WHERE turn_id = :turn AND kind = 'text' AND content <> '' ORDER BY position"
)
# Remove a person as the one who stopped answers.
FORGET_STOPPER = sql(
    "UPDATE turns SET stopper = '', stopper_name = '' WHERE stopped > 0 AND stopper = :person"
)


def mark_stopped(connection: Connection, conversation: int, why: Stopped, actor: Actor | None = None) -> int:
    """Mark a conversation's running turn as stopped by this person, unless already stopped. Return its id, or
    0 if none is running.
    """
    by = {"stopper": actor.person if actor else "", "name": actor.name if actor else ""}
    given = {"conversation": conversation, "why": why.value}
    running = connection.execute(STOP_RUNNING, {**given, **by}).scalar_one_or_none()
    return 0 if running is None else int(running)


def find_stop(connection: Connection, turn: int) -> Stopped:
    """Return the reason for which a turn was stopped, if any."""
    return Stopped(connection.execute(WHY_STOPPED, {"id": turn}).scalar_one_or_none() or 0)


def list_stopped_conversations(connection: Connection, accounts: Accounts) -> Sequence[int]:
    """Return the conversations of some accounts whose turn in progress was stopped."""
    rows = connection.execute(STOPPED_CONVERSATIONS, on_accounts(accounts)).all()
    return [int(row.conversation_id) for row in rows]


def find_stopper(connection: Connection, turn: int) -> Sender | None:
    """Return the person who stopped a turn (`platform:id`), if known."""
    row = connection.execute(STOPPER_OF, {"id": turn}).first()
    return None if row is None else Sender(row.stopper, row.stopper_name)


def take_stopped(
    connection: Connection, turn: int, conversation: int, thread_id: str, repeats: int
) -> Sequence[StoppedAnswer]:
    """Assign the unreported stopped answers to this turn, and return them."""
    here = {"turn": turn, "conversation": conversation, "thread_id": thread_id}
    connection.execute(ASSIGN_STOPPED, here)
    return list_stopped(connection, turn, conversation, repeats)


def list_stopped(
    connection: Connection, turn: int, conversation: int, repeats: int
) -> Sequence[StoppedAnswer]:
    """Return the stopped answers that a turn reports; a retry reports those of the turn it repeats."""
    here = {"turn": turn, "repeats": repeats, "conversation": conversation}
    found: list[StoppedAnswer] = []
    for row in connection.execute(STOPPED_OF, here).all():
        texts = [part.content for part in connection.execute(SHOWN_TEXTS, {"turn": row.id}).all()]
        shown = cut_middle("\n\n".join(texts), MAX_SHOWN, "\n…\n")
        stopper = Sender(row.stopper, row.stopper_name) if row.stopper else None
        found.append(StoppedAnswer(row.id, shown, Stopped(row.stopped), stopper, not row.run_id))
    return found
