"""Budgets of a person, a chat or an account: messages per hour and tokens per day.

Messages are counted when accepted, in one row per hour; tokens are those used by the day's turns. Hours and
days are UTC, so the time of the next reset is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.store.audit import Actor, AuditEvent, record_event
from bot.store.connection import Connection, sql
from bot.store.meters import INCREMENT_METER, scope_of_chat
from bot.store.usage_limits import UsageLimits

HOUR, DAY = 3600, 24 * 3600


class BudgetScope(StrEnum):
    """The owner of a budget."""

    PERSON = "person"
    CHAT = "chat"
    ACCOUNT = "account"


class BudgetUnit(StrEnum):
    """The unit of a budget: messages per hour or tokens per day."""

    MESSAGES = "messages"
    TOKENS = "tokens"

    @property
    def period(self) -> int:
        """Return the length of the period in seconds."""
        return HOUR if self is BudgetUnit.MESSAGES else DAY


@dataclass(frozen=True, slots=True)
class UsageLimit:
    """An upper bound for a person (`platform:id`), a chat or an account. `notice` is the reply once it is
    reached; `{minutes}` in it is replaced by the time until the next period.
    """

    of: BudgetScope
    what: BudgetUnit
    most: int
    person: str
    account: str
    chat: str
    notice: str = ""

    @property
    def scope(self) -> str:
        """Return the counter key for messages."""
        if self.of is BudgetScope.CHAT:
            return scope_of_chat(self.account, self.chat)
        return f"{self.of}:{self.person if self.of is BudgetScope.PERSON else self.account}"


@dataclass(frozen=True, slots=True)
class EntryBudget:
    """The budget of an access entry: messages per hour and tokens per day. None: as configured; 0:
    unlimited.
    """

    entry: str
    messages: int | None
    tokens: int | None
    by: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class LimitUsage:
    """The used part of a limit, and the seconds until the next period."""

    limit: UsageLimit
    used: int
    seconds: float


# Read a message counter of an hour.
GET_METER = sql("SELECT value FROM meters WHERE scope = :scope AND start = :start")
SUM_USED = "SELECT COALESCE(SUM(t.total_tokens), 0) FROM turns t"
HAS_TOKENS = "t.total_tokens > 0 AND t.created_at >= :since"
TOKENS_OF_PERSON = sql(f"{SUM_USED} WHERE t.person = :person AND {HAS_TOKENS}")
TOKENS_OF_CHAT = sql(
    f"""{SUM_USED} JOIN conversations c ON c.id = t.conversation_id WHERE {HAS_TOKENS} AND c.account =
    :account
    AND c.chat = :chat"""
)
TOKENS_OF_ACCOUNT = sql(
    f"""{SUM_USED} JOIN conversations c ON c.id = t.conversation_id WHERE {HAS_TOKENS} AND c.account =
    :account"""
)
LIST_BUDGETS = sql("SELECT entry, messages, tokens, given_by, given_at FROM budgets ORDER BY entry")
# Set the budget of an access entry.
SAVE_BUDGET = sql(
    """INSERT INTO budgets (entry, messages, tokens, given_by, given_at) VALUES (:entry, :messages, :tokens,
    :by, :now) ON CONFLICT (entry) DO UPDATE SET messages = excluded.messages, tokens = excluded.tokens,
    given_by = excluded.given_by, given_at = excluded.given_at"""
)
DELETE_BUDGET = sql("DELETE FROM budgets WHERE entry = :entry")


def measure_limit(connection: Connection, limit: UsageLimit, now: float) -> LimitUsage:
    """Return the current usage of a limit."""
    start = now - now % limit.what.period
    seconds = start + limit.what.period - now
    if limit.what is BudgetUnit.MESSAGES:
        row = connection.execute(GET_METER, {"scope": limit.scope, "start": start}).first()
        return LimitUsage(limit, 0 if row is None else int(row.value), seconds)
    given: dict[str, Any] = {"since": start}
    if limit.of is BudgetScope.PERSON:
        given["person"] = limit.person
        statement = TOKENS_OF_PERSON
    elif limit.of is BudgetScope.CHAT:
        given |= {"account": limit.account, "chat": limit.chat}
        statement = TOKENS_OF_CHAT
    else:
        given["account"] = limit.account
        statement = TOKENS_OF_ACCOUNT
    return LimitUsage(limit, int(connection.execute(statement, given).scalar_one()), seconds)


def measure_limits(connection: Connection, limits: Sequence[UsageLimit], now: float) -> list[LimitUsage]:
    """Return the current usage of each limit."""
    return [measure_limit(connection, limit, now) for limit in limits]


@dataclass(frozen=True, slots=True)
class SenderLimits(UsageLimits):
    """The limits of a sender in a chat."""

    limits: Sequence[UsageLimit]

    def find_refusal(self, connection: Connection, now: float) -> str:
        """Return the notice of the exhausted limit with the longest wait, or "" if none is exhausted."""
        over = [one for one in measure_limits(connection, self.limits, now) if one.used >= one.limit.most]
        if not over:
            return ""
        longest = max(over, key=lambda one: one.seconds)
        return longest.limit.notice.replace("{minutes}", f"{math.ceil(longest.seconds / 60)}")

    def count_message(self, connection: Connection, now: float) -> None:
        """Count an accepted message."""
        for limit in self.limits:
            if limit.what is BudgetUnit.MESSAGES:
                start = now - now % limit.what.period
                connection.execute(INCREMENT_METER, {"scope": limit.scope, "start": start})


def list_budgets(connection: Connection) -> list[EntryBudget]:
    """Return all configured budgets, by entry."""
    return [
        EntryBudget(row.entry, _read(row.messages), _read(row.tokens), row.given_by, row.given_at)
        for row in connection.execute(LIST_BUDGETS).all()
    ]


def set_budget(connection: Connection, one: EntryBudget, actor: Actor, now: float) -> None:
    """Set the budget of an access entry, or delete it if it has no values."""
    if one.messages is None and one.tokens is None:
        connection.execute(DELETE_BUDGET, {"entry": one.entry})
    else:
        connection.execute(
            SAVE_BUDGET,
            {
                "entry": one.entry,
                "messages": _written(one.messages),
                "tokens": _written(one.tokens),
                "by": one.by,
                "now": now,
            },
        )
    limits = {"messages": one.messages, "tokens": one.tokens}
    detail = ", ".join(f"{most} {unit}" for unit, most in limits.items() if most is not None)
    record_event(connection, actor, AuditEvent("budget", one.entry, detail), now)


def _read(column: int) -> int | None:
    return None if column < 0 else int(column)


def _written(value: int | None) -> int:
    return -1 if value is None else value
