"""What depends on the person who looks at a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.store.connection import Connection
from bot.store.ratings import load_ratings
from bot.store.retries import find_editable


@dataclass(frozen=True, slots=True)
class TurnMarks:
    """A person's ratings by turn (1 or -1), and the turns whose message they can replace."""

    ratings: dict[int, int]
    editable: frozenset[int]


def load_marks(
    connection: Connection, person: str, turns: Sequence[int], conversations: Sequence[int]
) -> TurnMarks:
    """Return a person's marks of these turns; `conversations` are those in which they write."""
    editable = frozenset(find_editable(connection, one) for one in conversations)
    return TurnMarks(load_ratings(connection, person, turns), editable)
