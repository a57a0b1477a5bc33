"""Answered messages of a chat: what people asked the bot, and what it answered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.domain import Part, PartKind, Sender, Turn, TurnMessage
from bot.store.connection import Connection, decode_address, decode_message, decode_part, sql
from bot.store.read_models import MESSAGES_OF_TURNS, PARTS_OF_TURNS
from bot.store.schedules import EVENT

MAX_CANDIDATES = 20


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question to the bot and its answer. `asked_at` is in seconds since the epoch; `topic` is the
    platform's thread, "" outside of threads.
    """

    sender: Sender
    text: str
    asked_at: float
    answer: str
    topic: str = ""


# List the newest answered turns of the other conversations in a chat. A conversation is active at least as
# late as its turns, so the bound of its activity leaves out none of them.
LIST_ANSWERED = sql(
    """SELECT t.id, t.address FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE c.account = :account AND c.chat = :chat AND c.active_at >= :since AND c.id <> :conversation
    AND c.member = (SELECT own.member FROM conversations own WHERE own.id = :conversation)
    AND t.id < :turn AND t.kind = 'chat' AND t.state = 'done' AND t.replaced = 0
    AND t.created_at >= :since AND t.finished_at > 0 AND t.finished_at <= :before
    ORDER BY t.id DESC LIMIT :limit"""
)


def list_exchanges(connection: Connection, turn: Turn, back: float) -> list[AnsweredQuestion]:
    """Return the newest exchanges in the chat of a turn, newest first, from other conversations.

    They are answered before the turn was accepted and at most `back` seconds old, so that a repeated run gets
    the same. Scheduled messages and erased or deleted ones are left out, and with them their answers.
    """
    given = {
        "account": turn.address.account,
        "chat": turn.address.chat,
        "conversation": turn.conversation,
        "turn": turn.id,
        "since": turn.created_at - back,
        "before": turn.created_at,
        "limit": MAX_CANDIDATES,
    }
    rows = connection.execute(LIST_ANSWERED, given).all()
    if not rows:
        return []
    topics = {row.id: decode_address(row.address).topic for row in rows}
    messages: dict[int, list[TurnMessage]] = {}
    for row in connection.execute(MESSAGES_OF_TURNS, {"turns": list(topics)}).all():
        messages.setdefault(row.turn_id, []).append(decode_message(row))
    parts: dict[int, list[Part]] = {}
    for row in connection.execute(PARTS_OF_TURNS, {"turns": list(topics)}).all():
        parts.setdefault(row.turn_id, []).append(decode_part(row))
    return [
        exchange
        for number, topic in topics.items()
        for exchange in _build(messages.get(number, []), parts.get(number, []), topic)
    ]


def _build(messages: list[TurnMessage], parts: list[Part], topic: str) -> Iterator[AnsweredQuestion]:
    """Yield the exchange of a turn, if one person asked and both sides can be read."""
    said = [one for one in messages if not one.deleted and one.text.strip()]
    people = {one.sender.id for one in said}
    answer = "\n\n".join(part.content for part in parts if part.kind is PartKind.TEXT and part.content)
    is_scheduled = any(one.event_id.startswith(EVENT) for one in messages)
    if len(people) == 1 and "" not in people and len(said) == len(messages) and answer and not is_scheduled:
        text = "\n".join(one.text for one in said)
        yield AnsweredQuestion(said[0].sender, text, said[0].sent_at, answer, topic)
