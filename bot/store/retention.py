"""Forgetting: texts that are too old, and what is kept about a person.

The rows of turns stay, so that what they cost stays counted. A thread that nobody is on any more is written
down first and deleted on the runtime then, which may be away.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bot.domain import OPEN_STATES, Sender, TurnState
from bot.store import retention_statements as sql
from bot.store.connection import Connection, Statement
from bot.store.database import Database
from bot.store.rows import attachments_in, part_in, sender_out, steps_in
from bot.store.statements import EMPTY_CHANGES, FORGET_AUDIT, FORGET_KNOWN, PARTS_OF_TURNS
from bot.store.web_sessions import delete_web_access

STEP = 2000
"""Ids that one transaction looks at."""
NOBODY = Sender("")


@dataclass(frozen=True, slots=True)
class Step:
    """How far a piece of work has come: up to which id, and whether there is more."""

    upto: int
    more: bool


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody on a platform, by the platform's own id."""

    platform: str
    id: str

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    @classmethod
    def of(cls, text: str) -> Person:
        """The person that `platform:id` names."""
        platform, _, id_ = text.partition(":")
        return cls(platform, id_)

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that find the rows of their messages."""
        prefix, linked = (f"[{orjson.dumps(one).decode()}," for one in (self.id, str(self)))
        lengths = {"length": len(prefix), "linked_length": len(linked)}
        return {"platform": self.platform, "prefix": prefix, "linked": linked, **lengths}


@dataclass(frozen=True, slots=True)
class Written:
    """A message of somebody's with what was answered to it, and the tools that were called for it."""

    id: int
    account: str
    chat: str
    text: str
    files: tuple[str, ...]
    sent_at: float
    answer: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Erased:
    """What became of somebody's messages: how many are gone, which threads are, and where others wrote."""

    messages: int = 0
    gone: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()

    def __add__(self, other: Erased) -> Erased:
        gone = self.gone | other.gone
        shared = (self.shared | other.shared) - gone
        return Erased(self.messages + other.messages, gone, shared)


def load_mark(connection: Connection, account: str) -> int:
    """Up to which turn an account's texts are gone."""
    return int(connection.execute(sql.MARK, {"account": account}).scalar_one_or_none() or 0)


def erase_old_texts(
    connection: Connection, account: str, before: float, now: float, new_id: Callable[[], str]
) -> Step:
    """Delete the texts of the next turns of an account that were accepted before then, as far as they are
    closed, and let those threads leave that were not used since.
    """
    after = load_mark(connection, account)
    newest = int(connection.execute(sql.NEWEST_TURN).scalar_one())
    upto = min(after + STEP, newest)
    given = {"account": account, "after": after, "upto": upto}
    old: list[int] = []
    conversations: set[int] = set()
    stopped = False
    for row in connection.execute(sql.TURNS_AFTER, given).all():
        if row.created_at >= before or TurnState(row.state) in OPEN_STATES:
            upto, stopped = row.id - 1, True
            break
        old.append(row.id)
        conversations.add(row.conversation_id)
    if old:
        for statement in sql.DELETE_TEXTS:
            connection.execute(statement, {"turns": old})
    for conversation in sorted(conversations):
        here = {"conversation": conversation, "before": before}
        for row in connection.execute(sql.THREADS_BEFORE, here).all():
            _leave(connection, conversation, row.thread_id, new_id(), now)
    connection.execute(sql.SET_MARK, {"account": account, "turn": upto})
    return Step(upto, not stopped and upto < newest)


def list_abandoned_threads(connection: Connection, limit: int = 50) -> list[str]:
    """Threads to delete on the runtime, in which nothing is worked on."""
    return [str(row.thread_id) for row in connection.execute(sql.LEAVING, {"limit": limit}).all()]


def has_abandoned_threads(connection: Connection) -> bool:
    """Whether threads are still to be deleted."""
    return connection.execute(sql.ANY_LEAVING).first() is not None


def drop_abandoned_thread(connection: Connection, thread: str) -> None:
    """The runtime has deleted a thread."""
    connection.execute(sql.LEFT, {"thread": thread})


def find_newest_message(connection: Connection) -> int:
    """The id of the newest message."""
    return int(connection.execute(sql.NEWEST_MESSAGE).scalar_one())


def list_written(connection: Connection, person: Person, after: int) -> list[Written]:
    """Somebody's messages among the next `STEP` ids, with the answers to them."""
    found = _messages(connection, person, after)
    answers = _answers(connection, sorted({row.turn_id for row in found}))
    return [
        Written(
            row.id,
            row.account,
            row.chat,
            row.text,
            tuple(one.filename for one in attachments_in(row.attachments)),
            row.sent_at,
            answers.get(row.turn_id, ""),
            tuple(f"{step.tool} {step.arguments}".strip() for step in steps_in(row.steps)),
        )
        for row in found
    ]


def erase_messages(
    connection: Connection, person: Person, after: int, now: float, new_id: Callable[[], str]
) -> Erased:
    """Empty somebody's messages among the next `STEP` ids, as far as their turns are closed. Answers go where
    nobody else was answered with them, threads where nobody's words are left.
    """
    messages = 0
    places: set[tuple[int, str]] = set()
    for row in _messages(connection, person, after):
        if TurnState(row.state) in OPEN_STATES:
            continue
        connection.execute(sql.EMPTY, {"nobody": sender_out(NOBODY), "id": row.id})
        connection.execute(EMPTY_CHANGES, {"inbound": row.id})
        if connection.execute(sql.OTHERS_IN_TURN, {"turn": row.turn_id}).first() is None:
            for statement in sql.DELETE_ANSWER:
                connection.execute(statement, {"turn": row.turn_id, "conversation": row.conversation_id})
        messages += 1
        if row.kind == "chat" and row.thread_id:
            places.add((row.conversation_id, row.thread_id))
    gone = {place for place in places if not _anybody_in(connection, *place)}
    for conversation, thread in sorted(gone):
        _leave(connection, conversation, thread, new_id(), now)
    return Erased(messages, _threads(gone), _threads(places - gone))


def erase_traces(connection: Connection, person: Person, spent_before: float) -> int:
    """Delete what else names a person; how many messages of theirs are being worked on.

    What their turns cost since `spent_before` stays theirs: budgets go by it.
    """
    connection.execute(sql.DELETE_RECORDED, person.given)
    connection.execute(sql.DELETE_PAIRING, {"person": str(person)})
    delete_web_access(connection, str(person))
    connection.execute(sql.DELETE_NOTICES, {"id": person.id, "platform": person.platform})
    connection.execute(sql.DELETE_SPENT, {"person": str(person), "before": spent_before})
    return int(connection.execute(sql.OPEN_MESSAGES, person.given).scalar_one())


def list_recorded_of(connection: Connection, person: Person) -> Sequence[Any]:
    """What the chat record has of somebody: rows of account, chat, text, sent_at, link."""
    return connection.execute(sql.RECORDED, person.given).all()


def list_roles_of(connection: Connection, person: Person) -> Sequence[Any]:
    """The roles that somebody was given: rows of entry, role, name, given_by, given_at."""
    whose = {"person": str(person), "platform": person.platform, "on_account": f":{person.id}"}
    return connection.execute(sql.ROLE_OF, whose).all()


def list_schedules_of(connection: Connection, person: Person) -> Sequence[Any]:
    """What somebody scheduled: rows of id, kind, state, text, spoken, zone, account, chat, made_at."""
    return connection.execute(sql.SCHEDULES_OF, {"person": str(person)}).all()


def _anybody_in(connection: Connection, conversation: int, thread: str) -> bool:
    here = {"conversation": conversation, "thread": thread}
    return connection.execute(sql.LEFT_IN_THREAD, here).first() is not None


def _threads(places: Iterable[tuple[int, str]]) -> frozenset[str]:
    return frozenset(thread for _, thread in places)


def _messages(connection: Connection, person: Person, after: int) -> Sequence[Any]:
    given = {**person.given, "after": after, "upto": after + STEP}
    return connection.execute(sql.MESSAGES, given).all()


def _answers(connection: Connection, turns: Sequence[int]) -> dict[int, str]:
    """The text that turns were answered with."""
    if not turns:
        return {}
    texts: dict[int, list[str]] = {}
    for row in connection.execute(PARTS_OF_TURNS, {"turns": turns}).all():
        part = part_in(row)
        texts.setdefault(row.turn_id, []).append(part.filename or part.content)
    return {turn: "\n\n".join(filter(None, found)) for turn, found in texts.items()}


def _leave(connection: Connection, conversation: int, thread: str, fresh: str, now: float) -> None:
    here = {"conversation": conversation, "thread": thread}
    connection.execute(sql.LEAVE, {**here, "now": now})
    connection.execute(sql.ROTATE, {**here, "new": fresh})
    connection.execute(sql.UNNAME, here)


KNOWN_MESSAGES_KEPT = 90 * 24 * 3600.0
AUDIT_KEPT = 400 * 24 * 3600.0
"""More than a year (seconds)."""


async def iterate_written(db: Database, person: Person) -> AsyncIterator[Sequence[Written]]:
    """Yield a person's messages with the answers to them, oldest first, one transaction per batch."""
    for after in range(0, await db.run(find_newest_message), STEP):
        yield await db.run(list_written, person, after)


async def erase_person(
    db: Database, person: Person, spent_before: float, now: float, new_id: Callable[[], str]
) -> tuple[Erased, int]:
    """Erase what is stored about a person, and count their messages that are still in progress.

    One transaction per batch of messages; if interrupted, it can be run again.
    """
    erased = Erased()
    for after in range(0, await db.run(find_newest_message), STEP):
        erased += await db.run(erase_messages, person, after, now, new_id)
    return erased, await db.run(erase_traces, person, spent_before)


async def purge_expired(db: Database, now: float) -> None:
    """Delete known message ids and message edits after 90 days and audit events after 400 days."""
    for statement in FORGET_KNOWN:
        await db.run(_purge, statement, now - KNOWN_MESSAGES_KEPT)
    await db.run(_purge, FORGET_AUDIT, now - AUDIT_KEPT)


def _purge(connection: Connection, statement: Statement, before: float) -> None:
    connection.execute(statement, {"before": before})
