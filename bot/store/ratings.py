"""Ratings of answers, stored as audit events of the rated turns."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain import InboundRating
from bot.store.audit import Actor, AuditEvent, actor_of, record_event
from bot.store.connection import Connection, sql

RATING, GOOD, BAD, WITHDRAWN = "rating", "good", "bad", "withdrawn"
MAX_RATINGS = 10
"""Maximum number of stored ratings for each person and answer; people can press without limit."""

# Find the turn of a posted answer.
FIND_ANSWERING_TURN = sql(
    """SELECT t.id FROM conversations c JOIN turns t ON t.conversation_id = c.id
    JOIN parts p ON p.turn_id = t.id WHERE c.account = :account AND c.chat = :chat AND t.kind = 'chat'
    AND p.platform_id = :message_id ORDER BY t.id DESC LIMIT 1"""
)
# List how a person has rated an answer, the newest rating first.
LIST_RATINGS = sql(
    """SELECT detail FROM audit WHERE person = :person AND action = :action AND subject = :subject
    ORDER BY id DESC LIMIT :limit"""
)

# List the ratings of answers by a person, oldest first.
LIST_RATINGS_OF = sql(
    """SELECT subject, detail FROM audit WHERE person = :person AND action = :action
    AND subject IN :subjects ORDER BY id""",
    "subjects",
)
VALUES = {GOOD: 1, BAD: -1, WITHDRAWN: 0}


def load_ratings(connection: Connection, person: str, turns: Sequence[int]) -> dict[int, int]:
    """Return how a person rated the answers of these turns: 1 is good, -1 is bad."""
    subjects = {f"turn {turn}": turn for turn in turns}
    given = {"person": person, "action": RATING, "subjects": list(subjects)}
    rows = connection.execute(LIST_RATINGS_OF, given).all() if subjects else []
    return {subjects[row.subject]: VALUES.get(row.detail, 0) for row in rows}


def rate_answer(connection: Connection, turn: int, value: int, actor: Actor, now: float) -> None:
    """Store a person's rating of a turn's answer: 1 is good, -1 is bad, 0 withdraws it."""
    deed = AuditEvent(RATING, f"turn {turn}", next(word for word, one in VALUES.items() if one == value))
    if _is_news(connection, actor, deed):
        record_event(connection, actor, deed, now)


def record_rating(connection: Connection, rating: InboundRating, now: float) -> bool:
    """Store a person's rating if it differs from their last one. Return False if it is not of an answer."""
    origin = rating.origin
    where = {"account": origin.account, "chat": origin.chat, "message_id": rating.message_id}
    row = connection.execute(FIND_ANSWERING_TURN, where).first()
    if row is None:
        return False
    actor = actor_of(origin, f"rating:{origin.account}:{rating.event_id}")
    deed = AuditEvent(RATING, f"turn {row.id}", GOOD if rating.good else BAD)
    if _is_news(connection, actor, deed):
        record_event(connection, actor, deed, now)
    return True


def _is_news(connection: Connection, actor: Actor, deed: AuditEvent) -> bool:
    whose = {"person": actor.person, "action": deed.action, "subject": deed.subject, "limit": MAX_RATINGS}
    known = [row.detail for row in connection.execute(LIST_RATINGS, whose).all()]
    return not known or (known[0] != deed.detail and len(known) < MAX_RATINGS)
