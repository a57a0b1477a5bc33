"""Requests to erase a person's data, and what they said, for erasing it elsewhere.

A request is stored before anything is erased and stays open until everything is, so that an interrupted
erasure is continued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bot.features.privacy.written_messages import NEWEST_MESSAGE, NOBODY, STEP
from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import (
    OPEN,
    Connection,
    decode_attachments,
    decode_sender,
    decode_senders,
    encode_sender,
    encode_senders,
    sql,
)
from bot.store.exchanges import decode_people
from bot.store.languages import DELETE_LANGUAGE, reported_entry
from bot.store.person_data import (
    WRITTEN_BY,
    ChatKey,
    PersonData,
    PersonKey,
    list_made_texts,
    list_quoted_texts,
)
from bot.store.stopped_answers import FORGET_STOPPER
from bot.turn import TurnState

ERASED = "data erased"
"""Action of the audit event."""


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """A request to erase a person's data. Messages up to `upto` are erased; `scopes` are the memories of the
    agent that are deleted.
    """

    id: int
    person: PersonKey
    requested_at: float
    upto: int
    scopes: tuple[str, ...]
    counts: dict[str, int]
    finished_at: float


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """A message of the person: its turn, the texts that were sent, spoken or edited, and references of its
    files.
    """

    id: int
    turn: int
    conversation: int
    texts: tuple[str, ...]
    files: tuple[str, ...]
    name: str


COLUMNS = "id, person, requested_at, upto, scopes, counts, finished_at"
FIND_OPEN = sql("SELECT id FROM erasures WHERE person = :person AND finished_at = 0 ORDER BY id LIMIT 1")
ADD_ERASURE = sql(
    """INSERT INTO erasures (person, requested_at, upto, scopes) VALUES (:person, :now, :upto, :scopes)
    RETURNING id"""
)
EXTEND_ERASURE = sql("UPDATE erasures SET upto = :upto, collected = 0 WHERE id = :id")
SET_SCOPES = sql("UPDATE erasures SET scopes = :scopes WHERE id = :id")
LIST_OPEN_ERASURES = sql(f"SELECT {COLUMNS} FROM erasures WHERE finished_at = 0 ORDER BY id")
LOAD_ERASURE = sql(f"SELECT {COLUMNS} FROM erasures WHERE id = :id")
LAST_ERASURE = sql(f"SELECT {COLUMNS} FROM erasures WHERE person = :person ORDER BY id DESC LIMIT 1")
SET_COUNTS = sql("UPDATE erasures SET counts = :counts WHERE id = :id")
FINISH_ERASURE = sql("UPDATE erasures SET finished_at = :now, counts = :counts WHERE id = :id")
LIST_SAID = sql(
    f"""SELECT i.id, i.turn_id, i.text, i.attachments, i.quotations, i.sender, t.conversation_id
    FROM inbound i JOIN turns t ON t.id = i.turn_id WHERE i.id > :after AND i.id <= :upto AND i.turn_id > 0
    AND {WRITTEN_BY} ORDER BY i.id"""
)
LIST_EDITS = sql("SELECT inbound_id, old_text, new_text FROM changes WHERE inbound_id IN :ids", "ids")
# Turns that worked for a person, also if their messages were deleted by the retention.
TURNS_FOR = sql("SELECT id FROM turns WHERE person = :person")
LIST_REPEATS = sql("SELECT id FROM turns WHERE repeats IN :turns", "turns")
# Only these are told: a line of the service, such as about a failure, may answer others too.
ANSWERS_OF = sql(
    """SELECT p.content FROM parts p JOIN turns t ON t.id = p.turn_id WHERE p.turn_id IN :turns
    AND p.kind = 'text' AND t.kind = 'chat' AND t.state = 'done'""",
    "turns",
)
CONVERSATIONS_IN = sql(
    "SELECT id, quoted_people FROM conversations WHERE account = :account AND chat = :chat ORDER BY id"
)
# What others forwarded or quoted in the conversations of a chat.
QUOTED_IN_TURNS = sql(
    """SELECT i.quotations FROM inbound i JOIN turns t ON t.id = i.turn_id JOIN conversations c
    ON c.id = t.conversation_id WHERE i.turn_id > 0 AND c.account = :account AND c.chat = :chat
    AND i.quotations <> ''"""
)
# Chat turns in progress with messages of the person; `others` is 1 if somebody else wrote in them as well.
OPEN_TURNS = sql(
    f"""SELECT t.id, t.conversation_id, t.state, MAX(CASE WHEN {WRITTEN_BY} THEN 0 ELSE 1 END) AS others
    FROM turns t JOIN inbound i ON i.turn_id = t.id WHERE t.kind = 'chat' AND t.state IN {OPEN}
    AND i.turn_id > 0 AND i.deleted = 0 GROUP BY t.id, t.conversation_id, t.state
    HAVING MIN(CASE WHEN {WRITTEN_BY} AND i.id <= :upto THEN 0 ELSE 1 END) = 0 ORDER BY t.id"""
)
# Messages without a turn, or deleted by their author.
ANONYMIZE_LEFTOVERS = sql(
    f"""UPDATE inbound SET text = '', attachments = '', quotations = '', mentions = '', sender = :nobody,
    message_id = '', deleted = 1 WHERE id IN (SELECT i.id FROM inbound i WHERE i.id > :after AND i.id <= :upto
    AND (i.turn_id <= 0 OR i.deleted = 1) AND {WRITTEN_BY})"""
)
SET_ASKERS = sql("UPDATE conversations SET askers = :askers WHERE id = :id")
ASKED = sql("SELECT id, platform, askers FROM conversations WHERE askers <> ''")


def record_erasure(
    connection: Connection, person: PersonKey, scopes: Sequence[str], actor: Actor, now: float
) -> int:
    """Store a request with its audit event, and return its id. An open request of the person is extended."""
    upto = int(connection.execute(NEWEST_MESSAGE).scalar_one())
    found = connection.execute(FIND_OPEN, {"person": str(person)}).scalar_one_or_none()
    record_event(connection, actor, AuditEvent(ERASED, str(person)), now)
    if found is not None:
        connection.execute(EXTEND_ERASURE, {"id": found, "upto": upto})
        add_scopes(connection, found, scopes)
        return int(found)
    given = {"person": str(person), "now": now, "upto": upto, "scopes": orjson.dumps(list(scopes)).decode()}
    return int(connection.execute(ADD_ERASURE, given).scalar_one())


def add_scopes(connection: Connection, number: int, scopes: Sequence[str]) -> None:
    """Add memories of the agent to those that a request deletes."""
    known = load_erasure(connection, number).scopes
    whole = orjson.dumps(list(dict.fromkeys([*known, *scopes]))).decode()
    connection.execute(SET_SCOPES, {"id": number, "scopes": whole})


def list_open_erasures(connection: Connection) -> list[ErasureRequest]:
    """Return the requests that are not finished, oldest first."""
    return [_request(row) for row in connection.execute(LIST_OPEN_ERASURES).all()]


def load_erasure(connection: Connection, number: int) -> ErasureRequest:
    """Return a request."""
    return _request(connection.execute(LOAD_ERASURE, {"id": number}).one())


def find_last_erasure(connection: Connection, person: PersonKey) -> ErasureRequest | None:
    """Return the person's last request, or None if there is none."""
    row = connection.execute(LAST_ERASURE, {"person": str(person)}).first()
    return None if row is None else _request(row)


def save_counts(connection: Connection, number: int, counts: dict[str, int]) -> None:
    """Store what was erased so far."""
    connection.execute(SET_COUNTS, {"id": number, "counts": orjson.dumps(counts).decode()})


def finish_erasure(connection: Connection, number: int, counts: dict[str, int], now: float) -> None:
    """Mark a request as finished."""
    connection.execute(FINISH_ERASURE, {"id": number, "counts": orjson.dumps(counts).decode(), "now": now})


def list_said(connection: Connection, person: PersonKey, after: int, upto: int) -> list[SaidMessage]:
    """Return the person's messages among the next `STEP` ids, up to `upto`."""
    bounds = {"after": after, "upto": min(after + STEP, upto)}
    rows = connection.execute(LIST_SAID, {**person.parameters, **bounds}).all()
    edits: dict[int, list[str]] = {}
    ids = [row.id for row in rows]
    for edit in connection.execute(LIST_EDITS, {"ids": ids}).all() if ids else ():
        edits.setdefault(edit.inbound_id, []).extend([edit.old_text, edit.new_text])
    return [
        SaidMessage(
            row.id,
            row.turn_id,
            row.conversation_id,
            tuple(filter(None, [row.text, *list_made_texts(row.quotations), *edits.get(row.id, ())])),
            tuple(one.ref for one in decode_attachments(row.attachments)),
            decode_sender(row.sender).name,
        )
        for row in rows
    ]


def list_conversations_in(connection: Connection, chat: ChatKey, person: PersonKey) -> list[tuple[int, bool]]:
    """Return the conversations of a chat, and whether the agent was told the person's exchanges in them."""
    rows = connection.execute(CONVERSATIONS_IN, {"account": chat.account, "chat": chat.chat}).all()
    return [(row.id, str(person) in decode_people(row.quoted_people)) for row in rows]


def list_turns_for(connection: Connection, person: PersonKey) -> list[int]:
    """Return the turns that worked for the person, also where others answered a question."""
    return [row[0] for row in connection.execute(TURNS_FOR, {"person": str(person)}).all()]


def list_answers(connection: Connection, turns: Sequence[int]) -> tuple[list[int], list[str]]:
    """Return these turns with those that repeat them, and the agent's answers to them."""
    repeats = connection.execute(LIST_REPEATS, {"turns": list(turns)}).all()
    answered = sorted({*turns, *(row[0] for row in repeats)})
    rows = connection.execute(ANSWERS_OF, {"turns": answered}).all()
    return answered, [row.content for row in rows if row.content]


def list_texts_in(
    connection: Connection, person: PersonKey, chat: ChatKey, data: Sequence[PersonData]
) -> list[tuple[str, str]]:
    """Return each text of the person that features store for a chat, and what others forwarded or quoted of
    them in its conversations, with the display name shown.
    """
    texts = [text for one in data for text in one.list_texts(connection, person, chat)]
    for row in connection.execute(QUOTED_IN_TURNS, {"account": chat.account, "chat": chat.chat}).all():
        texts += list_quoted_texts(row.quotations, person)
    return texts


def list_open_turns(
    connection: Connection, person: PersonKey, upto: int
) -> list[tuple[int, TurnState, bool]]:
    """Return conversation and state of the chat turns in progress with messages of the person, and whether
    others wrote in them as well.
    """
    rows = connection.execute(OPEN_TURNS, {**person.parameters, "upto": upto}).all()
    return [(row.conversation_id, TurnState(row.state), bool(row.others)) for row in rows]


def erase_leftovers(connection: Connection, person: PersonKey, after: int, upto: int) -> None:
    """Anonymize messages that no turn answers, among the next `STEP` ids."""
    bounds = {"after": after, "upto": min(after + STEP, upto), "nobody": encode_sender(NOBODY)}
    connection.execute(ANONYMIZE_LEFTOVERS, {**person.parameters, **bounds})


def erase_names(connection: Connection, person: PersonKey) -> None:
    """Remove the person from stopped answers and questions, and their language."""
    for entry in (str(person), reported_entry(str(person))):
        connection.execute(DELETE_LANGUAGE, {"entry": entry})
    connection.execute(FORGET_STOPPER, {"person": str(person)})
    for row in connection.execute(ASKED).all():
        askers = decode_senders(row.askers)
        # The same id can be somebody else's on another platform.
        here = {str(person), person.id if row.platform == person.platform else ""}
        others = [one for one in askers if one.key not in here]
        if len(others) < len(askers):
            connection.execute(SET_ASKERS, {"id": row.id, "askers": encode_senders(others)})


def _request(row: Any) -> ErasureRequest:
    return ErasureRequest(
        row.id,
        PersonKey.of(row.person),
        row.requested_at,
        row.upto,
        tuple(orjson.loads(row.scopes or "[]")),
        dict(orjson.loads(row.counts or "{}")),
        row.finished_at,
    )
