"""Search of conversation titles, messages and answers by substring, newest first.

Messages and answers are read in ranges of turn ids, so that a search never holds the database for long,
whatever it is for. Erased and expired texts are not in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.store.connection import Connection, sql
from bot.store.names import escape_like

STEP = 5000
"""Number of turn ids that one transaction covers."""
MAX_TITLES = 20


class HitPlace(StrEnum):
    """Where a text was found."""

    TITLE = "title"
    MESSAGE = "message"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Hit:
    """A text that contains the words, with its conversation and turn (0 for a title), and its time."""

    conversation: int
    turn: int
    place: HitPlace
    text: str
    at: float


_OWNED = "(:all = 1 OR c.owner IN :owners)"
# Find conversations by title, the most recently used first.
FIND_TITLES = sql(
    f"""SELECT c.id, c.title, c.active_at FROM conversations c WHERE {_OWNED} AND c.title <> ''
    AND lower(c.title) LIKE lower(:pattern) ESCAPE '!' ORDER BY c.active_at DESC, c.id DESC LIMIT :limit""",
    "owners",
)
# Find messages of people in a range of turns, newest first.
FIND_MESSAGES = sql(
    f"""SELECT t.id, t.conversation_id, t.created_at, i.text FROM inbound i JOIN turns t ON t.id = i.turn_id
    JOIN conversations c ON c.id = t.conversation_id WHERE i.turn_id > 0 AND i.turn_id >= :first
    AND i.turn_id < :before AND i.deleted = 0 AND t.kind = 'chat' AND {_OWNED}
    AND lower(i.text) LIKE lower(:pattern) ESCAPE '!' ORDER BY i.turn_id DESC LIMIT :limit""",
    "owners",
)
# Find answers in a range of turns, newest first.
FIND_ANSWERS = sql(
    f"""SELECT t.id, t.conversation_id, t.created_at, p.content AS text FROM parts p
    JOIN turns t ON t.id = p.turn_id JOIN conversations c ON c.id = t.conversation_id
    WHERE p.turn_id >= :first AND p.turn_id < :before AND p.kind = 'text' AND t.kind = 'chat' AND {_OWNED}
    AND lower(p.content) LIKE lower(:pattern) ESCAPE '!' ORDER BY p.turn_id DESC LIMIT :limit""",
    "owners",
)
NEWEST_TURN = sql("SELECT COALESCE(MAX(id), 0) FROM turns")


def find_newest_turn(connection: Connection) -> int:
    """Return the id of the newest turn, 0 if there is none."""
    return int(connection.execute(NEWEST_TURN).scalar_one())


def find_titles(connection: Connection, words: str, owners: Sequence[str] | None) -> list[Hit]:
    """Return titles that contain `words`; `owners` restricts them to conversations of these people."""
    rows = connection.execute(FIND_TITLES, {**_parameters(words, owners), "limit": MAX_TITLES}).all()
    return [Hit(row.id, 0, HitPlace.TITLE, row.title, row.active_at) for row in rows]


def find_texts(
    connection: Connection, words: str, owners: Sequence[str] | None, first: int, before: int, limit: int
) -> list[Hit]:
    """Return messages and answers of the turns from `first` to below `before` that contain `words`, newest
    first, and one hit for each turn.
    """
    given = {**_parameters(words, owners), "first": first, "before": before, "limit": limit}
    found: dict[int, Hit] = {}
    for statement, place in ((FIND_MESSAGES, HitPlace.MESSAGE), (FIND_ANSWERS, HitPlace.ANSWER)):
        for row in connection.execute(statement, given).all():
            hit = Hit(row.conversation_id, row.id, place, row.text, row.created_at)
            found.setdefault(row.id, hit)
    return [found[turn] for turn in sorted(found, reverse=True)][:limit]


def _parameters(words: str, owners: Sequence[str] | None) -> dict[str, object]:
    return {"pattern": f"%{escape_like(words)}%", "all": int(owners is None), "owners": list(owners or [""])}
