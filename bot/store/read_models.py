"""What commands, the page and the API show of the store: bounded reads, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import Part, Stopped, ToolStep, TurnKind, TurnMessage, TurnState
from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.rows import NEWEST, message_in, part_in, steps_in
from bot.store.usage import Spent, decode_usage


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn with what was asked, what was answered and what that cost (`spent`, None where nobody
    counted). `steps` are the tools that it called; `asks`: it ended with a
    question that is still open; `left`: it only shows that a question was left, and says nothing of its own.
    """

    id: int
    conversation: int
    kind: TurnKind
    state: TurnState
    thread_id: str
    run_id: str
    repeats: int
    replaced: bool
    stopped: bool
    error: str
    created_at: float
    finished_at: float
    messages: tuple[TurnMessage, ...] = ()
    parts: tuple[Part, ...] = ()
    spent: Spent | None = None
    steps: tuple[ToolStep, ...] = ()
    asks: bool = False
    left: bool = False


def list_turns(
    connection: Connection, conversation_id: int | None, before: int = NEWEST, limit: int = 50
) -> list[TurnView]:
    """Turns of a conversation, or of all, with ids below `before`, newest first, each with messages and
    parts.
    """
    given = {"before": before, "limit": limit}
    if conversation_id is None:
        return _whole(connection, connection.execute(sql.TURNS, given).all())
    of = {**given, "conversation": conversation_id}
    return _whole(connection, connection.execute(sql.TURNS_OF, of).all())


def list_turns_of_owner(
    connection: Connection, owner: str, account: str, before: int = NEWEST, limit: int = 50
) -> list[TurnView]:
    """Turns of somebody's own conversations there and at the page."""
    given = {"owner": owner, "account": account, "before": before, "limit": limit}
    return _whole(connection, connection.execute(sql.TURNS_OWNED, given).all())


def _whole(connection: Connection, found: Sequence[Any]) -> list[TurnView]:
    ids = [row.id for row in found]
    if not ids:
        return []
    messages: dict[int, list[TurnMessage]] = {}
    for row in connection.execute(sql.MESSAGES_OF_TURNS, {"turns": ids}).all():
        messages.setdefault(row.turn_id, []).append(message_in(row))
    parts: dict[int, list[Part]] = {}
    for row in connection.execute(sql.PARTS_OF_TURNS, {"turns": ids}).all():
        parts.setdefault(row.turn_id, []).append(part_in(row))
    return [_turn(row, messages.get(row.id, ()), parts.get(row.id, ())) for row in found]


def count_open_turns(connection: Connection) -> dict[tuple[str, str], int]:
    """How many turns are open, by (kind, state)."""
    return {(row[0], row[1]): row[2] for row in connection.execute(sql.OPEN_COUNTS).all()}


def _turn(row: Any, messages: Sequence[TurnMessage], parts: Sequence[Part]) -> TurnView:
    return TurnView(
        id=row.id,
        conversation=row.conversation_id,
        kind=TurnKind(row.kind),
        state=TurnState(row.state),
        thread_id=row.thread_id,
        run_id=row.run_id,
        repeats=max(row.repeats, 0),
        replaced=bool(row.replaced),
        stopped=bool(row.stopped),
        error=row.error,
        created_at=row.created_at,
        finished_at=row.finished_at,
        messages=tuple(messages),
        parts=tuple(parts),
        spent=decode_usage(row),
        steps=steps_in(row.steps),
        asks=bool(row.asks),
        left=row.stopped == Stopped.LEFT.value,
    )
