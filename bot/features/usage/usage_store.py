"""Token usage by person, conversation and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from bot.store.connection import Accounts, Connection, Rows, Statement, on_accounts, sql
from bot.store.names import load_person_names
from bot.store.usage import TurnUsage, UsageSum, decode_usage


@dataclass(frozen=True, slots=True)
class PersonTotals:
    """The token usage of a person; `name` is "" if unknown."""

    person: str
    name: str
    spending: UsageSum


COST_DIGITS = 9
USAGE_SUMS = (
    "COUNT(*) AS turns, COALESCE(SUM(input_tokens), 0) AS input, COALESCE(SUM(output_tokens), 0) AS output,"
    " COALESCE(SUM(total_tokens), 0) AS total, COALESCE(SUM(cached_tokens), 0) AS cached,"
    " COALESCE(SUM(cost), 0) AS cost, COALESCE(MIN(CASE WHEN cost > 0 THEN currency END), '') AS currency,"
    " COALESCE(MAX(CASE WHEN cost > 0 THEN currency END), '') AS other_currency"
)
HAS_USAGE = "total_tokens > 0 AND created_at >= :since"
ON_ACCOUNTS = "conversation_id IN (SELECT id FROM conversations WHERE account IN :accounts)"
USAGE_OF_ALL = sql(f"SELECT {USAGE_SUMS} FROM turns WHERE {HAS_USAGE}")
USAGE_OF_PERSON = sql(f"SELECT {USAGE_SUMS} FROM turns WHERE person = :person AND {HAS_USAGE}")
USAGE_OF_CONVERSATION = sql(
    f"SELECT {USAGE_SUMS} FROM turns WHERE conversation_id = :conversation AND {HAS_USAGE}"
)
# Sum the tokens by person. The person is an expression, since SQLite would otherwise scan the whole
# history in their order instead of using the index on time.
USAGE_BY_PERSON = sql(
    f"""SELECT person || '' AS who, {USAGE_SUMS} FROM turns WHERE {HAS_USAGE} AND person || '' > :after
    GROUP BY 1
    ORDER BY 1 LIMIT :limit"""
)
# Sum the tokens by person, highest first.
TOP_USAGE = sql(
    f"""SELECT person || '' AS who, {USAGE_SUMS} FROM turns WHERE {HAS_USAGE} AND person <> '' GROUP BY 1
    ORDER BY total DESC, 1 LIMIT :limit"""
)
# Read the token usage of the newest answer of a conversation that has any; commands use tokens, too.
LAST_USAGE = sql(
    """SELECT person, input_tokens, output_tokens, total_tokens, cached_tokens, cost, currency FROM turns
    WHERE conversation_id = :conversation AND kind = 'chat' AND total_tokens > 0 ORDER BY id DESC LIMIT 1"""
)


class UsageKey(StrEnum):
    """What usage is broken down by."""

    DAY = "day"
    MODEL = "model"
    PERSON = "person"
    ACCOUNT = "account"
    CHAT = "chat"


_COUNTS = "input_tokens, {0}.output_tokens, {0}.total_tokens, {0}.cached_tokens, {0}.cost, t.currency"
_SPENT = """FROM turns t JOIN conversations c ON c.id = t.conversation_id {} WHERE t.total_tokens > 0
AND t.created_at >= :since AND (CAST(:person AS TEXT) = '' OR t.person = :person)
AND (:all = 1 OR c.account IN :accounts)"""
# Both databases divide whole seconds alike.
_KEYS: Mapping[UsageKey, str] = MappingProxyType(
    {
        UsageKey.DAY: "CAST(t.created_at + :ahead AS BIGINT) / 86400",
        UsageKey.PERSON: "t.person || ''",
        UsageKey.ACCOUNT: "c.account",
        UsageKey.CHAT: "c.account || ' ' || c.chat",
        UsageKey.MODEL: "CASE t.used_model WHEN '' THEN t.model ELSE t.used_model END",
    }
)


def _break_down(key: UsageKey) -> Statement:
    """Return the statement that sums the usage by key. By model, a turn counts as its model calls do."""
    rows = f"SELECT {_KEYS[key]} AS who, c.id AS place, t.{_COUNTS.format('t')} {_SPENT.format('')}"
    if key is UsageKey.MODEL:
        calls = _SPENT.format("JOIN model_usage u ON u.turn_id = t.id")
        rows += f""" AND NOT EXISTS (SELECT 1 FROM model_usage u WHERE u.turn_id = t.id) UNION ALL
        SELECT u.model, c.id, u.{_COUNTS.format("u")} {calls}"""
    sums = f"SELECT who, MAX(place) AS place, {USAGE_SUMS} FROM ({rows}) spent GROUP BY who"
    return sql(sums, "accounts")


BREAKDOWNS = MappingProxyType({key: _break_down(key) for key in UsageKey})


@dataclass(frozen=True, slots=True)
class UsageShare:
    """The usage with a key: a day (number of days since 1970), model, person, account or chat. `conversation`
    is the latest one with the key.
    """

    key: str
    conversation: int
    spending: UsageSum


def break_down_usage(
    connection: Connection,
    key: UsageKey,
    since: float,
    ahead: float,
    person: str = "",
    accounts: Accounts = None,
) -> list[UsageShare]:
    """Return the usage since a time by key, of a person or of everyone, on the accounts: days in order,
    others by tokens. Days start at midnight in a zone `ahead` seconds ahead of UTC.
    """
    given = {"since": since, "person": person, **on_accounts(accounts)}
    given |= {"ahead": ahead} if key is UsageKey.DAY else {}
    rows = connection.execute(BREAKDOWNS[key], given).all()
    order = (lambda row: row.who) if key is UsageKey.DAY else (lambda row: -row.total)
    return [UsageShare(str(row.who), row.place, _spending(row)) for row in sorted(rows, key=order)]


def _restricted(statement: Statement) -> Statement:
    """Return a statement restricted to turns on `:accounts`."""
    return sql(statement.text.replace(HAS_USAGE, f"{HAS_USAGE} AND {ON_ACCOUNTS}"), "accounts")


ON_SOME_ACCOUNTS: Mapping[Statement, Statement] = MappingProxyType(
    {
        one: _restricted(one)
        for one in (
            *(USAGE_OF_ALL, USAGE_OF_PERSON, USAGE_OF_CONVERSATION),
            *(USAGE_BY_PERSON, TOP_USAGE),
        )
    }
)


def _query(connection: Connection, statement: Statement, accounts: Accounts, **given: Any) -> Rows:
    if accounts is None:
        return connection.execute(statement, given)
    return connection.execute(ON_SOME_ACCOUNTS[statement], {**given, "accounts": sorted(accounts)})


def sum_usage(
    connection: Connection,
    since: float,
    person: str | None = None,
    conversation: int | None = None,
    accounts: Accounts = None,
) -> UsageSum:
    """Sum the usage since a time on the accounts: of a person, else of a conversation, else of everyone."""
    if person is not None:
        found = _query(connection, USAGE_OF_PERSON, accounts, since=since, person=person)
    elif conversation is not None:
        found = _query(connection, USAGE_OF_CONVERSATION, accounts, since=since, conversation=conversation)
    else:
        found = _query(connection, USAGE_OF_ALL, accounts, since=since)
    return _spending(found.one())


def load_person_usage(
    connection: Connection, since: float, person: str, accounts: Accounts = None
) -> PersonTotals:
    """Return a person's usage since a time, on the accounts."""
    spent = sum_usage(connection, since, person, None, accounts)
    return PersonTotals(person, load_person_names(connection, [person]).get(person, ""), spent)


def load_last_usage(connection: Connection, conversation: int) -> TurnUsage | None:
    """Return the usage of a conversation's newest answer with reported usage."""
    row = connection.execute(LAST_USAGE, {"conversation": conversation}).first()
    return None if row is None else decode_usage(row)


def list_person_usage(
    connection: Connection, since: float, after: str = "", limit: int = 50, accounts: Accounts = None
) -> list[PersonTotals]:
    """Return the usage per person since a time on the accounts, ordered by person, starting after `after`."""
    found = _query(connection, USAGE_BY_PERSON, accounts, since=since, after=after, limit=limit)
    return _named(connection, found.all())


def list_top_usage(
    connection: Connection, since: float, limit: int, accounts: Accounts = None
) -> list[PersonTotals]:
    """Return the people with the highest usage since a time, on the accounts."""
    return _named(connection, _query(connection, TOP_USAGE, accounts, since=since, limit=limit).all())


def _named(connection: Connection, found: Sequence[Any]) -> list[PersonTotals]:
    names = load_person_names(connection, (row.who for row in found))
    return [PersonTotals(row.who, names.get(row.who, ""), _spending(row)) for row in found]


def _spending(row: Any) -> UsageSum:
    # PostgreSQL returns the sum of BIGINT columns as a decimal.
    counts = int(row.turns), int(row.input), int(row.output), int(row.total), int(row.cached)
    if row.currency != row.other_currency:
        return UsageSum(*counts)
    return UsageSum(*counts, round(float(row.cost), COST_DIGITS), row.currency)
