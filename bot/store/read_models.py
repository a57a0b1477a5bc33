"""Read models of turns for commands, web console and API: bounded, newest first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import Part, ToolStep
from bot.store.connection import NEWEST, OPEN, Connection, decode_message, decode_part, decode_steps, sql
from bot.store.usage import TurnUsage, decode_usage
from bot.turn import Stopped, TurnKind, TurnMessage, TurnState


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn with its messages, reply parts and token usage (None if unknown). `steps` are its tool calls;
    `asks`: its interrupt is still open; `left`: it only shows that an interrupt was abandoned.
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
    spent: TurnUsage | None = None
    steps: tuple[ToolStep, ...] = ()
    asks: bool = False
    left: bool = False
    model: str = ""
    """The model that answered, or the chosen one before an answer ("": the default)."""


TURN_VIEW = (
    "id, conversation_id, kind, state, thread_id, run_id, repeats, replaced, stopped, error, created_at,"
    " finished_at, person, input_tokens, output_tokens, total_tokens, cached_tokens, cost, currency,"
    " steps, model, used_model,"
    " EXISTS (SELECT 1 FROM conversations c WHERE c.id = conversation_id AND c.asked_by = turns.id"
    " AND c.question <> '') AS asks"
)
# List the turns of a conversation, newest first.
LIST_CONVERSATION_TURNS = sql(
    f"""SELECT {TURN_VIEW} FROM turns WHERE conversation_id = :conversation AND id < :before
    ORDER BY id DESC LIMIT :limit"""
)
# List the turns of a person's own conversations on an account and in the web console.
LIST_OWNED_TURNS = sql(
    f"""SELECT {TURN_VIEW} FROM turns WHERE conversation_id IN (SELECT id FROM conversations
    WHERE owner = :owner AND (account = :account OR platform = 'web')) AND id < :before
    ORDER BY id DESC LIMIT :limit"""
)
# List the turns of all conversations on some accounts, and of a person's own conversations.
LIST_TURNS_ON_ACCOUNTS = sql(
    f"""SELECT {TURN_VIEW} FROM turns WHERE conversation_id IN (SELECT id FROM conversations
    WHERE account IN :accounts OR (owner = :owner AND (account = :account OR platform = 'web')))
    AND id < :before ORDER BY id DESC LIMIT :limit""",
    "accounts",
)
# List all turns, newest first.
LIST_TURNS = sql(f"SELECT {TURN_VIEW} FROM turns WHERE id < :before ORDER BY id DESC LIMIT :limit")
MESSAGES_OF_TURNS = sql(
    """SELECT turn_id, id, event_id, message_id, sender, text, attachments, quotations, mentions,
    sent_at, deleted FROM inbound WHERE turn_id IN :turns AND turn_id > 0 ORDER BY id""",
    "turns",
)
PARTS_OF_TURNS = sql(
    """SELECT turn_id, position, kind, state, content, filename, platform_id, repeated, choices FROM parts
    WHERE turn_id IN :turns ORDER BY turn_id, position""",
    "turns",
)
COUNT_OPEN_TURNS = sql(f"SELECT kind, state, COUNT(*) FROM turns WHERE state IN {OPEN} GROUP BY kind, state")


def list_turns(
    connection: Connection, conversation_id: int | None, before: int = NEWEST, limit: int = 50
) -> list[TurnView]:
    """Return turns of a conversation, or of all, with ids below `before`, newest first, with messages and
    parts.
    """
    given = {"before": before, "limit": limit}
    if conversation_id is None:
        return _whole(connection, connection.execute(LIST_TURNS, given).all())
    of = {**given, "conversation": conversation_id}
    return _whole(connection, connection.execute(LIST_CONVERSATION_TURNS, of).all())


def list_turns_of_owner(
    connection: Connection,
    owner: str,
    account: str,
    before: int = NEWEST,
    limit: int = 50,
    accounts: Collection[str] = (),
) -> list[TurnView]:
    """Return turns of a person's own conversations on an account and in the web console, and of all
    conversations on `accounts`, newest first.
    """
    given: dict[str, Any] = {"owner": owner, "account": account, "before": before, "limit": limit}
    if not accounts:
        return _whole(connection, connection.execute(LIST_OWNED_TURNS, given).all())
    found = connection.execute(LIST_TURNS_ON_ACCOUNTS, {**given, "accounts": sorted(accounts)})
    return _whole(connection, found.all())


def _whole(connection: Connection, found: Sequence[Any]) -> list[TurnView]:
    ids = [row.id for row in found]
    if not ids:
        return []
    messages: dict[int, list[TurnMessage]] = {}
    for row in connection.execute(MESSAGES_OF_TURNS, {"turns": ids}).all():
        messages.setdefault(row.turn_id, []).append(decode_message(row))
    parts: dict[int, list[Part]] = {}
    for row in connection.execute(PARTS_OF_TURNS, {"turns": ids}).all():
        parts.setdefault(row.turn_id, []).append(decode_part(row))
    return [_turn(row, messages.get(row.id, ()), parts.get(row.id, ())) for row in found]


def count_open_turns(connection: Connection) -> dict[tuple[str, str], int]:
    """Count the open turns by (kind, state)."""
    return {(row[0], row[1]): row[2] for row in connection.execute(COUNT_OPEN_TURNS).all()}


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
        steps=decode_steps(row.steps),
        asks=bool(row.asks),
        left=row.stopped == Stopped.LEFT.value,
        model=row.used_model or row.model,
    )
