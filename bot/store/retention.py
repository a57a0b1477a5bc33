"""Retention and erasure: old texts, and the data of a person.

Rows of turns are not deleted, so that their token usage stays counted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import Quotation, Sender
from bot.store.connection import (
    NEWEST,
    OPEN,
    Connection,
    Statement,
    decode_attachments,
    decode_part,
    decode_quotations,
    decode_steps,
    encode_sender,
    sql,
)
from bot.store.database import Database
from bot.store.exchanges import clear_quoted_people
from bot.store.leaving_threads import leave_thread
from bot.store.message_edits import CLEAR_EDITS
from bot.store.person_data import PLATFORM_ACCOUNTS, WEB_ACCOUNTS, WRITTEN_BY, PersonKey
from bot.store.read_models import PARTS_OF_TURNS
from bot.store.web_sessions import delete_web_access
from bot.turn import OPEN_STATES, TurnState

STEP = 2000
"""Number of ids that one transaction covers."""
NOBODY = Sender("")
KNOWN_MESSAGES_KEPT = 90 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class RetentionStep:
    """The progress of a step: the last id it covered, and whether more steps follow."""

    upto: int
    more: bool


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """A person's message with its answer and the tools called for it."""

    id: int
    account: str
    chat: str
    text: str
    files: tuple[str, ...]
    sent_at: float
    answer: str
    tools: tuple[str, ...] = ()
    quotations: tuple[Quotation, ...] = ()


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
    sql("DELETE FROM firings WHERE turn_id > 0 AND turn_id IN :turns", "turns"),
    sql(
        """DELETE FROM changes WHERE inbound_id IN (SELECT id FROM inbound WHERE turn_id > 0
        AND turn_id IN :turns)""",
        "turns",
    ),
    sql("DELETE FROM inbound WHERE turn_id > 0 AND turn_id IN :turns", "turns"),
    sql("UPDATE turns SET steps = '' WHERE id IN :turns AND steps <> ''", "turns"),
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
NEWEST_MESSAGE = sql("SELECT COALESCE(MAX(id), 0) FROM inbound")
# List a person's messages in a range of ids, with their turns.
LIST_MESSAGES = sql(
    f"""SELECT i.id, i.turn_id, i.text, i.attachments, i.quotations, i.sender, i.sent_at, t.kind, t.state,
    t.run_id, t.steps, t.conversation_id, c.account, c.chat FROM inbound i
    JOIN turns t ON t.id = i.turn_id
    JOIN conversations c ON c.id = t.conversation_id WHERE i.id > :after AND i.id <= :upto AND i.turn_id > 0
    AND i.deleted = 0 AND {WRITTEN_BY} ORDER BY i.id"""
)
# Count a person's messages and commands that are in progress.
COUNT_OPEN_MESSAGES = sql(
    f"""SELECT COUNT(*) FROM turns t JOIN inbound i ON i.turn_id = t.id
    WHERE t.state IN {OPEN} AND i.turn_id > 0 AND i.deleted = 0 AND i.id <= :upto AND {WRITTEN_BY}"""
)
# Delete the text, attachments, quotations, mentions and sender of a message.
ANONYMIZE_MESSAGE = sql(
    """UPDATE inbound SET text = '', attachments = '', quotations = '', mentions = '', sender = :nobody,
    message_id = '', deleted = 1 WHERE id = :id"""
)
# Check whether a turn has messages that are not deleted.
OTHERS_IN_TURN = sql("SELECT 1 FROM inbound WHERE turn_id = :turn AND turn_id > 0 AND deleted = 0 LIMIT 1")
# Delete the answer of a turn and of its retries, which have no messages of their own.
DELETE_ANSWER = [
    sql(
        """DELETE FROM parts WHERE turn_id = :turn OR turn_id IN (SELECT id FROM turns
        WHERE conversation_id = :conversation AND repeats = :turn)"""
    ),
    sql(
        """UPDATE turns SET steps = '' WHERE id = :turn
        OR (conversation_id = :conversation AND repeats = :turn)"""
    ),
]
LIST_RECORDED_OF = sql(
    f"""SELECT i.id, i.account, i.chat, i.text, i.quotations, i.sent_at, i.link FROM record i
    WHERE {WRITTEN_BY} ORDER BY i.id"""
)
DELETE_RECORDED_OF = sql(f"DELETE FROM record WHERE id IN (SELECT i.id FROM record i WHERE {WRITTEN_BY})")
DELETE_PAIRINGS_OF = sql("DELETE FROM pairings WHERE person = :person")
# Delete a person's once-a-day notices.
DELETE_NOTICES_OF = sql(
    f"""DELETE FROM notices WHERE (person = :id AND account IN {PLATFORM_ACCOUNTS})
    OR (person = :person AND account IN {WEB_ACCOUNTS})"""
)
# Remove a person from the token usage of earlier days.
DETACH_USAGE = sql(
    "UPDATE turns SET person = '' WHERE person = :person AND total_tokens > 0 AND created_at < :before"
)
LIST_ROLES_OF = sql(
    """SELECT entry, role, name, given_by, given_at FROM roles WHERE entry = :person
    OR entry IN (SELECT account || CAST(:on_account AS TEXT) FROM conversations WHERE platform = :platform)
    ORDER BY entry"""
)
LIST_SCHEDULES_OF = sql(
    """SELECT id, kind, state, text, spoken, zone, account, chat, made_at FROM schedules
    WHERE person = :person AND state <> 'draft' ORDER BY id"""
)


def load_mark(connection: Connection, account: str) -> int:
    """Return the last turn of an account whose texts were deleted."""
    return int(connection.execute(GET_MARK, {"account": account}).scalar_one_or_none() or 0)


def erase_old_texts(
    connection: Connection, account: str, before: float, now: float, new_id: Callable[[], str]
) -> RetentionStep:
    """Delete the texts of the next closed turns of an account that were accepted before an instant, and
    queue their unused threads for deletion.
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
        for statement in DELETE_TEXTS:
            connection.execute(statement, {"turns": old})
    for conversation in sorted(conversations):
        here = {"conversation": conversation, "before": before}
        for row in connection.execute(UNUSED_THREADS, here).all():
            _leave(connection, conversation, row.thread_id, new_id(), now)
    connection.execute(SET_MARK, {"account": account, "turn": upto})
    return RetentionStep(upto, not stopped and upto < newest)


def find_newest_message(connection: Connection) -> int:
    """Return the id of the newest message."""
    return int(connection.execute(NEWEST_MESSAGE).scalar_one())


def list_written(connection: Connection, person: PersonKey, after: int) -> list[WrittenMessage]:
    """Return a person's messages among the next `STEP` ids, with their answers."""
    found = _messages(connection, person, after)
    answers = _answers(connection, sorted({row.turn_id for row in found}))
    return [
        WrittenMessage(
            row.id,
            row.account,
            row.chat,
            row.text,
            tuple(one.filename for one in decode_attachments(row.attachments)),
            row.sent_at,
            answers.get(row.turn_id, ""),
            tuple(f"{step.tool} {step.arguments}".strip() for step in decode_steps(row.steps)),
            decode_quotations(row.quotations),
        )
        for row in found
    ]


def erase_messages(connection: Connection, person: PersonKey, after: int, upto: int = NEWEST) -> int:
    """Erase a person's messages among the next `STEP` ids up to `upto`, except those of turns in progress,
    and return their number. Answers are deleted if nobody else was answered with them.
    """
    messages = 0
    for row in _messages(connection, person, after, upto):
        if _is_in_progress(row):
            continue
        connection.execute(ANONYMIZE_MESSAGE, {"nobody": encode_sender(NOBODY), "id": row.id})
        connection.execute(CLEAR_EDITS, {"inbound": row.id})
        if connection.execute(OTHERS_IN_TURN, {"turn": row.turn_id}).first() is None:
            for statement in DELETE_ANSWER:
                connection.execute(statement, {"turn": row.turn_id, "conversation": row.conversation_id})
        messages += 1
    return messages


def erase_traces(connection: Connection, person: PersonKey, spent_before: float, upto: int = NEWEST) -> int:
    """Delete other data that names a person; returns the number of their messages in progress up to `upto`.

    Token usage since `spent_before` stays attributed to them, since budgets need it.
    """
    connection.execute(DELETE_RECORDED_OF, person.parameters)
    connection.execute(DELETE_PAIRINGS_OF, {"person": str(person)})
    delete_web_access(connection, str(person))
    whose = {"id": person.id, "person": str(person), "platform": person.platform}
    connection.execute(DELETE_NOTICES_OF, whose)
    connection.execute(DETACH_USAGE, {"person": str(person), "before": spent_before})
    counted = {**person.parameters, "upto": upto}
    return int(connection.execute(COUNT_OPEN_MESSAGES, counted).scalar_one())


def list_recorded_of(connection: Connection, person: PersonKey) -> Sequence[Any]:
    """Return a person's recorded messages: rows of account, chat, text, sent_at, link."""
    return connection.execute(LIST_RECORDED_OF, person.parameters).all()


def list_roles_of(connection: Connection, person: PersonKey) -> Sequence[Any]:
    """Return a person's roles: rows of entry, role, name, given_by, given_at."""
    whose = {"person": str(person), "platform": person.platform, "on_account": f":{person.id}"}
    return connection.execute(LIST_ROLES_OF, whose).all()


def list_schedules_of(connection: Connection, person: PersonKey) -> Sequence[Any]:
    """Return a person's schedules: rows of id, kind, state, text, spoken, zone, account, chat, made_at."""
    return connection.execute(LIST_SCHEDULES_OF, {"person": str(person)}).all()


def _is_in_progress(row: Any) -> bool:
    """Return whether a message's turn works on it; a chat turn that has not started can lose it."""
    state = TurnState(row.state)
    is_waiting = state is TurnState.ACCEPTED and row.kind == "chat" and not row.run_id
    return state in OPEN_STATES and not is_waiting


def _messages(connection: Connection, person: PersonKey, after: int, upto: int = NEWEST) -> Sequence[Any]:
    given = {**person.parameters, "after": after, "upto": min(after + STEP, upto)}
    return connection.execute(LIST_MESSAGES, given).all()


def _answers(connection: Connection, turns: Sequence[int]) -> dict[int, str]:
    """Return the answers of turns as text."""
    if not turns:
        return {}
    texts: dict[int, list[str]] = {}
    for row in connection.execute(PARTS_OF_TURNS, {"turns": turns}).all():
        part = decode_part(row)
        texts.setdefault(row.turn_id, []).append(part.filename or part.content)
    return {turn: "\n\n".join(filter(None, found)) for turn, found in texts.items()}


def _leave(connection: Connection, conversation: int, thread: str, fresh: str, now: float) -> None:
    here = {"conversation": conversation, "thread": thread, "new": fresh}
    connection.execute(REPLACE_THREAD, here)
    leave_thread(connection, conversation, thread, now)
    clear_quoted_people(connection, conversation)


async def iterate_written(db: Database, person: PersonKey) -> AsyncIterator[Sequence[WrittenMessage]]:
    """Yield a person's messages with the answers to them, oldest first, one transaction per batch."""
    for after in range(0, await db.transact(find_newest_message), STEP):
        yield await db.transact(list_written, person, after)


async def erase_person(
    db: Database, person: PersonKey, spent_before: float, upto: int = NEWEST
) -> tuple[int, int]:
    """Erase what is stored about a person up to a message. Return the number of erased messages, and of those
    still in progress.

    One transaction per batch of messages; if interrupted, it can be run again.
    """
    erased = 0
    for after in range(0, min(upto, await db.transact(find_newest_message)), STEP):
        erased += await db.transact(erase_messages, person, after, upto)
    return erased, await db.transact(erase_traces, person, spent_before, upto)


async def purge_expired(db: Database, now: float) -> None:
    """Delete known message ids, message edits, and events without a turn after 90 days."""
    for statement in PURGE_MESSAGE_HISTORY:
        await db.transact(_purge, statement, now - KNOWN_MESSAGES_KEPT)


def _purge(connection: Connection, statement: Statement, before: float) -> None:
    connection.execute(statement, {"before": before})
