"""Read models of turns for commands, web console and API: bounded, newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from bot.domain import Part, ToolStep
from bot.store.connection import (
    AT_WORK,
    NEWEST,
    OPEN,
    Connection,
    Statement,
    decode_fields,
    decode_message,
    decode_part,
    decode_steps,
    sql,
)
from bot.store.names import escape_like, sender_patterns
from bot.store.usage import TurnUsage, decode_usage
from bot.turn import Stopped, TurnKind, TurnMessage, TurnState


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn with its messages, reply parts and token usage (None if unknown). `steps` are its tool calls;
    `asks`: its interrupt is still open; `left`: it only shows that an interrupt was abandoned. `original` are
    the messages of the turn that it repeats.
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
    original: tuple[TurnMessage, ...] = ()
    parts: tuple[Part, ...] = ()
    spent: TurnUsage | None = None
    steps: tuple[ToolStep, ...] = ()
    asks: bool = False
    left: bool = False
    model: str = ""
    """The model that answered, or the chosen one before an answer ("": the default)."""


class TurnGroup(StrEnum):
    """States as people see them. WAITING: the question or approval is open; DONE: it needs nothing more."""

    FAILED = "failed"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """Turns to list. `owner` sees those of their own conversations on the account `home` and in the web
    console, and all on `accounts` ("": everyone's). `text` is contained in a message or reply; `person` is
    `platform:id`; `first` is the lowest id. Turns that ended before `since` (s) are left out, and failed ones
    that were answered again.
    """

    owner: str = ""
    home: str = ""
    accounts: Collection[str] = ()
    group: TurnGroup | None = None
    text: str = ""
    account: str = ""
    person: str = ""
    first: int = 0
    since: float = 0.0

    def fill(self, given: dict[str, Any]) -> Iterator[str]:
        """Yield the names of the conditions, and add their values to `given`."""
        if self.owner:
            yield "accounts" if self.accounts else "owner"
            given |= {"owner": self.owner, "home": self.home}
            given |= {"accounts": sorted(self.accounts)} if self.accounts else {}
        if self.group is not None:
            yield self.group.value
        if self.text:
            yield "text"
            given["text"] = f"%{escape_like(self.text)}%"
        if self.account:
            yield "account"
            given["account"] = self.account
        if self.person:
            yield "person"
            given |= {"person": self.person, **sender_patterns(self.person)}
        if self.first:
            yield "first"
            given["first"] = self.first
        if self.since:
            yield "since"
            given["since"] = self.since


TURN_VIEW = (
    "id, conversation_id, kind, state, thread_id, run_id, repeats, replaced, stopped, error, created_at,"
    " finished_at, person, input_tokens, output_tokens, total_tokens, cached_tokens, cost, currency,"
    " steps, model, used_model,"
    " EXISTS (SELECT 1 FROM conversations c WHERE c.id = conversation_id AND c.asked_by = turns.id"
    " AND c.question <> '') AS asks"
)
_OF_CONVERSATION = "conversation_id IN (SELECT c.id FROM conversations c WHERE {})"
_OWN = "c.owner = :owner AND (c.account = :home OR c.platform = 'web')"
_ASKS = _OF_CONVERSATION.format("c.asked_by = turns.id AND c.question <> ''")
TURN_CONDITIONS: Mapping[str, str] = MappingProxyType(
    {
        "first": "id >= :first",
        "conversation": "conversation_id = :conversation",
        "owner": _OF_CONVERSATION.format(_OWN),
        "accounts": _OF_CONVERSATION.format(f"c.account IN :accounts OR ({_OWN})"),
        "account": _OF_CONVERSATION.format("c.account = :account"),
        "person": """(person = :person OR EXISTS (SELECT 1 FROM inbound i WHERE i.turn_id = turns.id
        AND i.turn_id > 0 AND ((turns.platform = :of_platform AND i.sender LIKE :plain ESCAPE '!')
        OR i.sender LIKE :linked ESCAPE '!')))""",
        "text": """(EXISTS (SELECT 1 FROM inbound i WHERE i.turn_id = turns.id AND i.turn_id > 0
        AND LOWER(i.text) LIKE LOWER(:text) ESCAPE '!') OR EXISTS (SELECT 1 FROM parts p
        WHERE p.turn_id = turns.id AND LOWER(p.content) LIKE LOWER(:text) ESCAPE '!'))""",
        "since": "(finished_at = 0 OR finished_at > :since) AND NOT (state = 'failed' AND replaced = 1)",
        "failed": "state IN ('failed', 'expired')",
        "waiting": _ASKS,
        "running": f"state IN {OPEN}",
        "done": f"state = 'done' AND NOT {_ASKS}",
        "cancelled": "state = 'cancelled'",
    }
)
"""Conditions by which turns are listed."""
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
OLDEST_WAITING = sql(
    "SELECT MIN(CASE WHEN ready_at > created_at THEN ready_at ELSE created_at END) FROM turns"
    f" WHERE state = 'accepted' AND ready_at <= :now AND {AT_WORK}"
)
COUNT_OPEN_TURNS = sql(f"SELECT kind, state, COUNT(*) FROM turns WHERE state IN {OPEN} GROUP BY kind, state")


def list_turns(
    connection: Connection,
    conversation_id: int | None,
    before: int = NEWEST,
    limit: int = 50,
    only: TurnFilter | None = None,
) -> list[TurnView]:
    """Return turns with ids below `before`, newest first, with messages and parts (None: of all)."""
    given: dict[str, Any] = {"before": before, "limit": limit}
    names = [] if only is None else [*only.fill(given)]
    if conversation_id is not None:
        names.append("conversation")
        given["conversation"] = conversation_id
    return _whole(connection, connection.execute(_select_turns(tuple(names)), given).all())


@lru_cache(maxsize=256)
def _select_turns(conditions: tuple[str, ...]) -> Statement:
    """Return the statement that lists turns, newest first, which meet these conditions."""
    where = " AND ".join(["id < :before", *(TURN_CONDITIONS[name] for name in conditions)])
    listed = ("accounts",) if "accounts" in conditions else ()
    return sql(f"SELECT {TURN_VIEW} FROM turns WHERE {where} ORDER BY id DESC LIMIT :limit", *listed)


def _whole(connection: Connection, found: Sequence[Any]) -> list[TurnView]:
    ids = [row.id for row in found]
    if not ids:
        return []
    messages: dict[int, list[TurnMessage]] = {}
    sources = {row.repeats for row in found if row.repeats > 0}
    for row in connection.execute(MESSAGES_OF_TURNS, {"turns": sorted({*ids, *sources})}).all():
        messages.setdefault(row.turn_id, []).append(decode_message(row))
    parts: dict[int, list[Part]] = {}
    for row in connection.execute(PARTS_OF_TURNS, {"turns": ids}).all():
        parts.setdefault(row.turn_id, []).append(decode_part(row))
    return [
        _turn(row, messages.get(row.id, ()), messages.get(row.repeats, ()), parts.get(row.id, ()))
        for row in found
    ]


def count_open_turns(connection: Connection) -> dict[tuple[str, str], int]:
    """Count the open turns by (kind, state)."""
    return {(row[0], row[1]): row[2] for row in connection.execute(COUNT_OPEN_TURNS).all()}


def find_oldest_waiting(connection: Connection, now: float) -> float | None:
    """Return since when the turn that has waited longest to start could have started (s), or None."""
    found: float | None = connection.execute(OLDEST_WAITING, {"now": now}).scalar_one()
    return found


def _turn(
    row: Any, messages: Sequence[TurnMessage], original: Sequence[TurnMessage], parts: Sequence[Part]
) -> TurnView:
    return decode_fields(
        TurnView,
        row,
        conversation=row.conversation_id,
        kind=TurnKind(row.kind),
        state=TurnState(row.state),
        repeats=max(row.repeats, 0),
        replaced=bool(row.replaced),
        stopped=bool(row.stopped),
        messages=tuple(messages),
        original=tuple(original),
        parts=tuple(parts),
        spent=decode_usage(row),
        steps=decode_steps(row.steps),
        asks=bool(row.asks),
        left=row.stopped == Stopped.LEFT.value,
        model=row.used_model or row.model,
    )
