"""A person's messages and the answers to them: export and erasure.

Rows of turns are not deleted, so that their token usage stays counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import Quotation, Sender
from bot.store.connection import (
    NEWEST,
    OPEN,
    Connection,
    decode_attachments,
    decode_part,
    decode_quotations,
    decode_steps,
    encode_sender,
    sql,
)
from bot.store.database import Database
from bot.store.message_edits import CLEAR_EDITS
from bot.store.person_data import PLATFORM_ACCOUNTS, WEB_ACCOUNTS, WRITTEN_BY, PersonData, PersonKey
from bot.store.read_models import PARTS_OF_TURNS
from bot.store.web_sessions import delete_web_access
from bot.turn import OPEN_STATES, TurnState

STEP = 2000
"""Number of ids that one transaction covers."""
NOBODY = Sender("")


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
        """UPDATE turns SET steps = '', trace = '' WHERE id = :turn
        OR (conversation_id = :conversation AND repeats = :turn)"""
    ),
]
# Notices repeat texts of the person, and no message of theirs belongs to them.
DELETE_PRIVATE_NOTICES = sql(
    f"""DELETE FROM parts WHERE turn_id IN (SELECT t.id FROM turns t
    JOIN conversations c ON c.id = t.conversation_id WHERE c.owner = :person AND c.chat_kind = 'private'
    AND t.kind = 'notice' AND t.state NOT IN {OPEN})"""
)
# Delete a person's once-a-day notices.
DELETE_NOTICES_OF = sql(
    f"""DELETE FROM notices WHERE (person = :id AND account IN {PLATFORM_ACCOUNTS})
    OR (person = :person AND account IN {WEB_ACCOUNTS})"""
)


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
            tuple(f"{step.tool} {step.arguments or step.title}".strip() for step in decode_steps(row.steps)),
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


def erase_traces(connection: Connection, person: PersonKey, upto: int = NEWEST) -> int:
    """Delete the person's access to the web console, and notices to and about them. Return the number of
    their messages in progress up to `upto`.
    """
    connection.execute(DELETE_PRIVATE_NOTICES, {"person": str(person)})
    delete_web_access(connection, str(person))
    connection.execute(
        DELETE_NOTICES_OF, {"id": person.id, "person": str(person), "platform": person.platform}
    )
    counted = {**person.parameters, "upto": upto}
    return int(connection.execute(COUNT_OPEN_MESSAGES, counted).scalar_one())


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


async def iterate_written(db: Database, person: PersonKey) -> AsyncIterator[Sequence[WrittenMessage]]:
    """Yield a person's messages with the answers to them, oldest first, one transaction per batch."""
    for after in range(0, await db.transact(find_newest_message), STEP):
        yield await db.transact(list_written, person, after)


async def erase_person(
    db: Database, person: PersonKey, data: Sequence[PersonData], now: float, upto: int = NEWEST
) -> tuple[Counter[str], int]:
    """Erase what is stored about a person up to a message, also by features. Return the number of erased
    things by their kind, and of messages still in progress.

    One transaction per batch of messages; if interrupted, it can be run again.
    """
    counts = Counter[str]()
    for after in range(0, min(upto, await db.transact(find_newest_message)), STEP):
        counts["messages"] += await db.transact(erase_messages, person, after, upto)
    for one in data:
        counts.update(await db.transact(one.erase, person, now))
    return counts, await db.transact(erase_traces, person, upto)
