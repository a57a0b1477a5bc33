"""Token usage of turns, and durable counters.

The runtime's own figures can't be searched by person, go with their threads, and are missing on other
servers. Usage comes from the `usage` updates of the run's stream: all attempts count, repeated steps
(`cached`) don't, and after a gap the run's metadata is used. A turn with several authors counts for the last
one, who is the `user_id` of its run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bot.store.connection import Connection, decode_fields, sql


@dataclass(frozen=True, slots=True)
class TurnUsage:
    """A turn's token usage and the person charged for it (`platform:id`, "" for none)."""

    person: str
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int = 0
    cost: float = 0.0
    currency: str = ""


@dataclass(frozen=True, slots=True)
class UsageSum:
    """The total token usage of several turns; `currency` is the currency of the cost, "" without a cost.

    Costs in several currencies, from before and after a change of the configuration, have no sum.
    """

    turns: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cached_tokens: int = 0
    cost: float = 0.0
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Counter:
    """A durable counter of an account."""

    account: str
    name: str
    value: int


INCREMENT_COUNTER = sql(
    "INSERT INTO counters (account, name, value) VALUES (:account, :name, 1)"
    " ON CONFLICT (account, name) DO UPDATE SET value = counters.value + 1"
)
LIST_COUNTERS = sql("SELECT account, name, value FROM counters ORDER BY account, name")
SET_USAGE = sql(
    """UPDATE turns SET person = :person, input_tokens = :input_tokens, output_tokens = :output_tokens,
    total_tokens = :total_tokens, cached_tokens = :cached_tokens, cost = :cost, currency = :currency
    WHERE id = :id"""
)


def save_usage(connection: Connection, turn: int, spent: TurnUsage) -> None:
    """Store the token usage of a turn."""
    connection.execute(SET_USAGE, {"id": turn, **asdict(spent)})


def decode_usage(row: Any) -> TurnUsage | None:
    """Return the token usage of a row, or None if it has none."""
    return decode_fields(TurnUsage, row) if row.total_tokens else None


def list_counters(connection: Connection) -> list[Counter]:
    """Return all durable counters."""
    return [Counter(row.account, row.name, row.value) for row in connection.execute(LIST_COUNTERS).all()]


def increment_counter(connection: Connection, account: str, name: str) -> None:
    """Add one to a durable counter of an account."""
    connection.execute(INCREMENT_COUNTER, {"account": account, "name": name})
