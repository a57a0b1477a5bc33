"""What a store function sees of a database: named statements, rows with attributes.

SQLAlchemy keeps the schema and the migrations and speaks to PostgreSQL. On SQLite its execution layer was
nine tenths of a statement's time, all of it under the lock that the event loop needs too, so there the
statements run over the driver.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import sqlalchemy


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL that SQLite and PostgreSQL read alike, with `:name` parameters; `lists` names those that hold many
    values (`IN :name`).
    """

    text: str
    lists: tuple[str, ...] = ()


def sql(text: str, *lists: str) -> Statement:
    """Return the statement with its whitespace collapsed; `lists` names its list parameters."""
    return Statement(" ".join(text.split()), lists)


class Rows(Protocol):
    """What a statement returned. Rows have their columns as attributes and by position."""

    def all(self) -> Sequence[Any]:
        """Every row."""
        ...

    def first(self) -> Any:
        """The first row, None where there is none."""
        ...

    def one(self) -> Any:
        """The row; raises where there is none."""
        ...

    def scalar_one(self) -> Any:
        """The first column of the row; raises where there is none."""
        ...

    def scalar_one_or_none(self) -> Any:
        """The first column of the first row, None where there is none."""
        ...


class Connection(Protocol):
    """One transaction's connection."""

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement."""
        ...


class SqliteConnection:
    """Statements over the `sqlite3` module. `raw` is its connection."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        """See Connection. All rows are fetched: a statement left open would keep the log from shrinking."""
        text, values = expanded(statement, parameters or {})
        cursor = self.raw.execute(text, values)
        if cursor.description is None:
            return FetchedRows(())
        row = _row(tuple(column[0] for column in cursor.description))
        return FetchedRows([row(*found) for found in cursor.fetchall()])


@dataclass(frozen=True, slots=True)
class FetchedRows:
    """See Rows."""

    rows: Sequence[Any]

    def all(self) -> Sequence[Any]:
        """See Rows."""
        return self.rows

    def first(self) -> Any:
        """See Rows."""
        return self.rows[0] if self.rows else None

    def one(self) -> Any:
        """See Rows. Raises IndexError."""
        return self.rows[0]

    def scalar_one(self) -> Any:
        """See Rows. Raises IndexError."""
        return self.rows[0][0]

    def scalar_one_or_none(self) -> Any:
        """See Rows."""
        return self.rows[0][0] if self.rows else None


class SqlAlchemyConnection:
    """Statements over SQLAlchemy, for PostgreSQL."""

    def __init__(self, inner: sqlalchemy.Connection) -> None:
        self._inner = inner

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        """See Connection."""
        return self._inner.execute(_clause(statement), dict(parameters or {}))


def expanded(statement: Statement, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """A statement whose list parameters are spelt out, and the values that it takes."""
    if not statement.lists:
        return statement.text, parameters
    text, values = statement.text, dict(parameters)
    for name in statement.lists:
        members = {f"{name}_{index}": value for index, value in enumerate(values.pop(name))}
        text = text.replace(f":{name}", "(" + ", ".join(f":{member}" for member in members) + ")")
        values |= members
    return text, values


@lru_cache(maxsize=256)
def _row(columns: tuple[str, ...]) -> Any:
    return namedtuple("Row", columns, rename=True)


@lru_cache(maxsize=256)
def _clause(statement: Statement) -> sqlalchemy.TextClause:
    clause = sqlalchemy.text(statement.text)
    lists: list[sqlalchemy.BindParameter[Any]] = [
        sqlalchemy.bindparam(name, expanding=True) for name in statement.lists
    ]
    return clause.bindparams(*lists) if lists else clause
