"""Search of conversation titles by substring, and what a search finds.

Erased and expired texts are not in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.store.connection import Connection, sql
from bot.store.names import escape_like

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


FIND_TITLES = sql(
    """SELECT c.id, c.title, c.active_at FROM conversations c WHERE (:all = 1 OR c.owner IN :owners)
    AND c.title <> '' AND lower(c.title) LIKE lower(:pattern) ESCAPE '!' ORDER BY c.active_at DESC, c.id DESC
    LIMIT :limit""",
    "owners",
)


def find_titles(connection: Connection, words: str, owners: Sequence[str] | None) -> list[Hit]:
    """Return the titles that contain `words`, the most recently used first, of all or of these owners."""
    whose = {"all": int(owners is None), "owners": list(owners or [""])}
    given = {"pattern": f"%{escape_like(words)}%", "limit": MAX_TITLES, **whose}
    rows = connection.execute(FIND_TITLES, given).all()
    return [Hit(row.id, 0, HitPlace.TITLE, row.title, row.active_at) for row in rows]
