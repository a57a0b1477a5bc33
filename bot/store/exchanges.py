"""Exchanges of a chat: questions to the bot and its answers.

They are told to the agent in other people's threads, which an erasure must find although the bot wrote the
answers. So each names the people whom it concerns, and `quoted_people` of the conversation has all who were
named there: those threads are replaced, and the answers in them are masked. Paraphrases in stored answers
stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import orjson

from bot.domain import Part, PartKind, Sender, person_of
from bot.store.connection import Connection, decode_message, decode_part, sql
from bot.store.read_models import MESSAGES_OF_TURNS, PARTS_OF_TURNS
from bot.turn import Turn, TurnMessage, TurnState

DONE = TurnState.DONE.value
MAX_CONVERSATIONS, MAX_TURNS = 20, 12
"""Conversations of a chat that are looked at, those active last, and turns of each, the newest."""


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question to the bot and its answer. `asked_at` is in seconds since the epoch; `speakers` are the
    authors of the question's messages. `people` are others (`platform:id`) whose messages may have influenced
    the answer, so erasing one of them affects it too.
    """

    sender: Sender
    text: str
    asked_at: float
    answer: str
    speakers: tuple[Sender, ...]
    people: tuple[str, ...] = ()


PREVIOUS_SOURCE = """SELECT CASE WHEN repeats > 0 THEN repeats ELSE id END FROM turns
    WHERE conversation_id = :conversation AND id < :turn AND kind = 'chat' AND state <> 'cancelled'
    ORDER BY id DESC LIMIT 1"""
"""Selects the previous turn of a conversation; a retry stands for the turn that it repeats."""
# Read when the previous turn of a conversation was accepted.
PREVIOUS_TURN_AT = sql(f"SELECT created_at FROM turns WHERE id = ({PREVIOUS_SOURCE})")
ACCEPTED_AT = sql("SELECT created_at FROM turns WHERE id = :id")
# List the newest closed turns in the latest other conversations of a chat, the last closed first.
LIST_ANSWERED = sql(
    """SELECT t.id, t.conversation_id, t.platform, t.state, t.answers, t.repeats, c.asked_by,
    c.quoted_people FROM (SELECT id, asked_by, quoted_people FROM conversations
    WHERE account = :account AND chat = :chat AND active_at >= :since AND id <> :conversation
    AND member = (SELECT own.member FROM conversations own WHERE own.id = :conversation)
    ORDER BY active_at DESC LIMIT :conversations) c JOIN turns t ON t.conversation_id = c.id
    WHERE t.id IN (SELECT n.id FROM turns n WHERE n.conversation_id = c.id AND n.id < :turn
    ORDER BY n.id DESC LIMIT :turns)
    AND t.kind = 'chat' AND t.replaced = 0 AND t.renewed = 0 AND t.private_topic = 0
    AND NOT EXISTS (SELECT 1 FROM leaving_threads l WHERE l.thread_id = t.thread_id)
    AND t.created_at >= :since AND t.finished_at > 0 AND t.finished_at <= :before
    ORDER BY t.conversation_id, t.finished_at DESC, t.id DESC"""
)
GET_QUOTED_PEOPLE = sql("SELECT quoted_people FROM conversations WHERE id = :id")
SET_QUOTED_PEOPLE = sql("UPDATE conversations SET quoted_people = :people WHERE id = :id")
CLEAR_QUOTED_PEOPLE = sql(
    """UPDATE conversations SET quoted_people = '' WHERE id = :id AND quoted_people <> '' AND NOT EXISTS
    (SELECT 1 FROM turns t WHERE t.conversation_id = :id AND t.thread_id <> '')"""
)


def find_source(connection: Connection, turn: Turn) -> Turn:
    """Return the turn with the id and time of the turn that it repeats, so that the agent is told the same
    again.
    """
    if turn.repeats <= 0:
        return turn
    at = connection.execute(ACCEPTED_AT, {"id": turn.repeats}).scalar_one_or_none()
    return replace(turn, id=turn.repeats, created_at=turn.created_at if at is None else float(at))


def is_first_turn(connection: Connection, turn: Turn) -> bool:
    """Check whether the conversation has no answered turn before this one, or the one that it repeats."""
    given = {"conversation": turn.conversation, "turn": find_source(connection, turn).id}
    return connection.execute(PREVIOUS_TURN_AT, given).scalar_one_or_none() is None


def list_exchanges(connection: Connection, turn: Turn, back: float, limit: int) -> list[AnsweredQuestion]:
    """Return the newest exchanges in a turn's chat, newest first, from other conversations in topics that all
    chat members can read.

    They are answered before the turn was accepted and at most `back` seconds old, so that a repeated run gets
    the same. A question of the bot is no answer: the exchange ends with what followed it. Scheduled messages
    and erased or deleted ones are omitted, and with them their answers; so is what was answered on a thread
    that an erasure replaced, because it may repeat the person. A retry gets the same as
    the turn that it repeats.
    """
    turn = find_source(connection, turn)
    given = {
        "account": turn.address.account,
        "chat": turn.address.chat,
        "conversation": turn.conversation,
        "turn": turn.id,
        "since": turn.created_at - back,
        "before": turn.created_at,
        "conversations": MAX_CONVERSATIONS,
        "turns": MAX_TURNS,
    }
    rows = connection.execute(LIST_ANSWERED, given).all()
    by_conversation = groupby(rows, key=lambda row: row.conversation_id)
    chains = [chain for _, answered in by_conversation for chain in _list_chains(list(answered))]
    chains.sort(key=lambda chain: -int(chain[0].id))
    found: list[AnsweredQuestion] = []
    for start in range(0, len(chains), limit):
        found += _read(connection, chains[start : start + limit])
        if len(found) >= limit:
            break
    return found[:limit]


def add_quoted_people(connection: Connection, conversation: int, people: Sequence[str]) -> None:
    """Add people whose exchanges the agent has received in a conversation. A second first message, in another
    thread or after a stop, extends the list.
    """
    _set(connection, conversation, list(dict.fromkeys([*_get(connection, conversation), *people])))


def clear_quoted_people(connection: Connection, conversation: int) -> None:
    """Clear the list of people whose exchanges the agent received, unless the conversation still has a
    thread.
    """
    connection.execute(CLEAR_QUOTED_PEOPLE, {"id": conversation})


def _get(connection: Connection, conversation: int) -> tuple[str, ...]:
    column = connection.execute(GET_QUOTED_PEOPLE, {"id": conversation}).scalar_one_or_none()
    return decode_people(column or "")


def _set(connection: Connection, conversation: int, people: Sequence[str]) -> None:
    column = orjson.dumps(people).decode() if people else ""
    connection.execute(SET_QUOTED_PEOPLE, {"id": conversation, "people": column})


Chain = Sequence[Any]
"""Rows of an answered turn and of those whose questions led to it, the last closed first."""


def _list_chains(rows: Sequence[Any]) -> Iterator[Chain]:
    """Yield the exchanges among a conversation's closed turns, the most recently closed first.

    Runs follow one another, and an answer to a question of the bot comes right after it. It can be accepted
    before the question, and needn't be answered in turn: the question may have been left or the run stopped.
    """
    for start, row in enumerate(rows):
        if row.asked_by == row.id or (start > 0 and rows[start - 1].answers):
            continue
        end = next((n for n in range(start, len(rows)) if not rows[n].answers), None)
        if end is not None and all(one.state == DONE for one in rows[start : end + 1]):
            yield rows[start : end + 1]


def _read(connection: Connection, chains: Sequence[Chain]) -> Iterator[AnsweredQuestion]:
    """Yield the exchanges that may be passed to the agent."""
    sources = {row.id: row.repeats or row.id for chain in chains for row in chain}
    ids = sorted({*sources, *sources.values()})
    messages: dict[int, list[TurnMessage]] = {}
    for row in connection.execute(MESSAGES_OF_TURNS, {"turns": ids}).all():
        messages.setdefault(row.turn_id, []).append(decode_message(row))
    parts: dict[int, list[Part]] = {}
    for row in connection.execute(PARTS_OF_TURNS, {"turns": [chain[0].id for chain in chains]}).all():
        parts.setdefault(row.turn_id, []).append(decode_part(row))
    for chain in chains:
        said = [messages.get(sources[row.id], []) for row in reversed(chain)]
        yield from _build(chain[0], said, parts.get(chain[0].id, []))


def _build(
    last: Any, said: Sequence[Sequence[TurnMessage]], parts: Sequence[Part]
) -> Iterator[AnsweredQuestion]:
    """Yield the chain's exchange if a single person asked and all its content is readable. `said` contains
    the messages of each turn, oldest first.
    """
    everything = [one for turn in said for one in turn]
    if not all(said) or any(one.deleted or not one.text.strip() or not one.sender.id for one in everything):
        return
    answer = "\n\n".join(part.content for part in parts if part.kind is PartKind.TEXT and part.content)
    is_scheduled = any(one.is_scheduled for one in everything)
    asked = said[0]
    if not answer or is_scheduled or len({one.sender.key for one in asked}) > 1:
        return
    asker = person_of(last.platform, asked[0].sender)
    others = [person_of(last.platform, one.sender) for one in everything]
    people = dict.fromkeys([*others, *decode_people(last.quoted_people)])
    people.pop(asker, None)
    text = "\n".join(one.text for one in asked)
    speakers = tuple(one.sender for one in everything)
    yield AnsweredQuestion(asked[0].sender, text, asked[0].sent_at, answer, speakers, tuple(people))


def decode_people(column: str) -> tuple[str, ...]:
    """Decode a people column."""
    return tuple(orjson.loads(column)) if column else ()
