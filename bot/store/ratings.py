"""Ratings of answers, which are audit events of the turns that they rate."""

from __future__ import annotations

from bot.domain import InboundRating
from bot.store.audit import AuditEvent, actor_of, record_event
from bot.store.connection import Connection, sql

RATING, GOOD, BAD = "rating", "good", "bad"

# Find the turn whose answer a posted message belongs to.
FIND_ANSWERING_TURN = sql(
    """SELECT t.id FROM conversations c JOIN turns t ON t.conversation_id = c.id
    JOIN parts p ON p.turn_id = t.id WHERE c.account = :account AND c.chat = :chat AND t.kind = 'chat'
    AND p.platform_id = :message_id ORDER BY t.id DESC LIMIT 1"""
)


def record_rating(connection: Connection, rating: InboundRating, now: float) -> bool:
    """Store what a person thinks of an answer, once per event. Return False for a message that is none."""
    origin = rating.origin
    where = {"account": origin.account, "chat": origin.chat, "message_id": rating.message_id}
    row = connection.execute(FIND_ANSWERING_TURN, where).first()
    if row is None:
        return False
    actor = actor_of(origin, f"rating:{origin.account}:{rating.event_id}")
    record_event(connection, actor, AuditEvent(RATING, f"turn {row.id}", GOOD if rating.good else BAD), now)
    return True
