"""What commands, the page and the API show of the store: bounded reads, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain import ConversationKey, Part, Stopped, ToolStep, TurnKind, TurnMessage, TurnState
from bot.store import rows, usage
from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.usage import Spent

NEWEST = 2**62


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation as it is listed. `owner` is whose it is as `platform:id`, "" for a group's."""

    id: int
    key: ConversationKey
    platform: str
    chat_kind: str
    thread_id: str
    owner: str
    model: str
    plan: bool
    agent: str
    busy: str
    title: str
    created_at: float
    active_at: float


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


@dataclass(frozen=True, slots=True)
class LaneView:
    """What goes on in a conversation: the turn at work (None if idle) and how many messages wait behind
    it. `asked_by` is the turn whose approval is open there (0 for none).
    """

    turn: int | None
    state: TurnState | None
    run_id: str
    since: float
    queued: int
    asked_by: int = 0


@dataclass(frozen=True, slots=True)
class Counter:
    """A durable count of something that happened to an account."""

    account: str
    name: str
    value: int


def conversation(connection: Connection, conversation_id: int) -> ConversationView | None:
    """One conversation, None where there is none with that id."""
    row = connection.execute(sql.CONVERSATION, {"id": conversation_id}).first()
    return None if row is None else _conversation(row)


def conversations(
    connection: Connection, account: str, before: int, limit: int, owners: Sequence[str] = ()
) -> list[ConversationView]:
    """Conversations of an account with ids below `before`, newest first: of all, or of these people."""
    given: dict[str, Any] = {"account": account, "before": before, "limit": limit}
    if owners:
        found = connection.execute(sql.CONVERSATIONS_OWNED, {**given, "owners": list(owners)}).all()
    else:
        found = connection.execute(sql.CONVERSATIONS_OF, given).all()
    return [_conversation(row) for row in found]


def lane(connection: Connection, conversation_id: int, before: int = NEWEST) -> LaneView:
    """The lane of a conversation now, as far as its turns have ids below `before`."""
    given = {"conversation": conversation_id, "before": before}
    open_turns = connection.execute(sql.LANE_STATE, given).all()
    at_work = [row for row in open_turns if row.state != TurnState.ACCEPTED.value]
    queued = sum(row.size for row in open_turns if row.state == TurnState.ACCEPTED.value)
    asking = connection.execute(sql.APPROVAL_OF, {"id": conversation_id}).first()
    asked_by = int(asking.asked_by) if asking is not None else 0
    if not at_work:
        return LaneView(None, None, "", 0.0, queued, asked_by)
    first = at_work[0]
    return LaneView(first.id, TurnState(first.state), first.run_id, first.created_at, queued, asked_by)


def turns(connection: Connection, conversation_id: int | None, before: int, limit: int) -> list[TurnView]:
    """Turns of a conversation, or of all, with ids below `before`, newest first, each with messages and
    parts.
    """
    given = {"before": before, "limit": limit}
    if conversation_id is None:
        return _whole(connection, connection.execute(sql.TURNS, given).all())
    of = {**given, "conversation": conversation_id}
    return _whole(connection, connection.execute(sql.TURNS_OF, of).all())


def turns_owned(connection: Connection, owner: str, account: str, before: int, limit: int) -> list[TurnView]:
    """Turns of somebody's own conversations there and at the page."""
    given = {"owner": owner, "account": account, "before": before, "limit": limit}
    return _whole(connection, connection.execute(sql.TURNS_OWNED, given).all())


def _whole(connection: Connection, found: Sequence[Any]) -> list[TurnView]:
    ids = [row.id for row in found]
    if not ids:
        return []
    messages: dict[int, list[TurnMessage]] = {}
    for row in connection.execute(sql.MESSAGES_OF_TURNS, {"turns": ids}).all():
        messages.setdefault(row.turn_id, []).append(rows.message_in(row))
    parts: dict[int, list[Part]] = {}
    for row in connection.execute(sql.PARTS_OF_TURNS, {"turns": ids}).all():
        parts.setdefault(row.turn_id, []).append(rows.part_in(row))
    return [_turn(row, messages.get(row.id, ()), parts.get(row.id, ())) for row in found]


def counters(connection: Connection) -> list[Counter]:
    """Every durable count."""
    return [Counter(row.account, row.name, row.value) for row in connection.execute(sql.COUNTERS).all()]


def open_counts(connection: Connection) -> dict[tuple[str, str], int]:
    """How many turns are open, by (kind, state)."""
    return {(row[0], row[1]): row[2] for row in connection.execute(sql.OPEN_COUNTS).all()}


def _conversation(row: Any) -> ConversationView:
    return ConversationView(
        id=row.id,
        key=ConversationKey(row.account, row.chat, row.topic, row.member),
        platform=row.platform,
        chat_kind=row.chat_kind,
        thread_id=row.thread_id,
        owner=row.owner,
        model=row.model,
        plan=bool(row.plan),
        busy=row.busy,
        agent=row.agent,
        title=row.title,
        created_at=row.created_at,
        active_at=row.active_at,
    )


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
        spent=usage.spent_in(row),
        steps=rows.steps_in(row.steps),
        asks=bool(row.asks),
        left=row.stopped == Stopped.LEFT.value,
    )
