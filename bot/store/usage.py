"""Tokens that turns cost: written with the turn, summed up by person, conversation and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.store import statements as sql
from bot.store.connection import Connection
from bot.store.rows import sender_in


@dataclass(frozen=True, slots=True)
class Spent:
    """What one turn cost in tokens, and who wrote it (`platform:id`, "" for nobody)."""

    person: str
    input_tokens: int
    output_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class Spending:
    """What so many turns cost together, in tokens."""

    turns: int
    input_tokens: int
    output_tokens: int
    total_tokens: int


@dataclass(frozen=True, slots=True)
class Spender:
    """What somebody's turns cost; `name` is the one of their newest message."""

    person: str
    name: str
    spending: Spending


@dataclass(frozen=True, slots=True)
class Day:
    """What the turns of a day cost; `day` counts them from 1970 on."""

    day: int
    spending: Spending


def save_usage(connection: Connection, turn: int, spent: Spent) -> None:
    """Write what a turn cost."""
    counts = {"input": spent.input_tokens, "output": spent.output_tokens, "total": spent.total_tokens}
    connection.execute(sql.SET_SPENT, {"id": turn, "person": spent.person, **counts})


def decode_usage(row: Any) -> Spent | None:
    """What the turn of this row cost, None where nothing was counted."""
    if not row.total_tokens:
        return None
    return Spent(row.person, row.input_tokens, row.output_tokens, row.total_tokens)


def sum_usage(
    connection: Connection, since: float, person: str | None = None, conversation: int | None = None
) -> Spending:
    """The sum over turns since then: of a person, else of a conversation, else over all."""
    if person is not None:
        found = connection.execute(sql.SPENT_BY_PERSON, {"since": since, "person": person})
    elif conversation is not None:
        given = {"since": since, "conversation": conversation}
        found = connection.execute(sql.SPENT_IN_CONVERSATION, given)
    else:
        found = connection.execute(sql.SPENT_BY_ALL, {"since": since})
    return _spending(found.one())


def load_person_usage(connection: Connection, since: float, person: str) -> Spender:
    """What somebody's turns cost since then."""
    return Spender(person, _name(connection, person), sum_usage(connection, since, person, None))


def sum_usage_by_day(
    connection: Connection, since: float, ahead: float, person: str | None = None
) -> list[Day]:
    """The days since then that cost anything, of a person or of all; clocks are `ahead` of UTC by so many
    seconds.
    """
    given = {"since": since, "ahead": ahead}
    if person is None:
        found = connection.execute(sql.DAYS, given).all()
    else:
        found = connection.execute(sql.DAYS_OF_PERSON, {**given, "person": person}).all()
    return [Day(int(row.day), _spending(row)) for row in found]


def load_last_usage(connection: Connection, conversation: int) -> Spent | None:
    """What the newest turn of a conversation cost that cost anything."""
    row = connection.execute(sql.LAST_SPENT, {"conversation": conversation}).first()
    return None if row is None else decode_usage(row)


def list_person_usage(
    connection: Connection, since: float, after: str = "", limit: int = 50
) -> list[Spender]:
    """People after `after` in the order of their ids, with what their turns cost since then."""
    given = {"since": since, "after": after, "limit": limit}
    return _named(connection, connection.execute(sql.SPENDERS, given).all())


def list_top_usage(connection: Connection, since: float, limit: int) -> list[Spender]:
    """The people whose turns cost most since then."""
    given = {"since": since, "limit": limit}
    return _named(connection, connection.execute(sql.TOP_SPENDERS, given).all())


def _named(connection: Connection, found: Sequence[Any]) -> list[Spender]:
    return [Spender(row.who, _name(connection, row.who), _spending(row)) for row in found]


def _name(connection: Connection, person: str) -> str:
    sender = connection.execute(sql.SPENDER_NAME, {"person": person}).scalar_one_or_none()
    return sender_in(sender).name if sender else ""


def _spending(row: Any) -> Spending:
    # PostgreSQL sums big numbers up as decimals.
    return Spending(int(row.turns), int(row.input), int(row.output), int(row.total))


@dataclass(frozen=True, slots=True)
class Counter:
    """A durable count of something that happened to an account."""

    account: str
    name: str
    value: int


def list_counters(connection: Connection) -> list[Counter]:
    """Every durable count."""
    return [Counter(row.account, row.name, row.value) for row in connection.execute(sql.COUNTERS).all()]


def increment_counter(connection: Connection, account: str, name: str) -> None:
    """Add one to a durable counter of an account."""
    connection.execute(sql.COUNT_UP, {"account": account, "name": name})
