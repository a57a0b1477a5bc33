"""Database access for store functions: named statements, rows with attributes.

SQLAlchemy keeps the schema and the migrations and talks to PostgreSQL. On SQLite its execution layer took
nine tenths of a statement's time while it held the lock that the event loop needs, so statements run on the
driver.
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
    """SQL that SQLite and PostgreSQL both understand, with `:name` parameters. `lists` names the parameters
    with many values (`IN :name`).
    """

    text: str
    lists: tuple[str, ...] = ()


def sql(text: str, *lists: str) -> Statement:
    """Return the statement with its whitespace collapsed; `lists` names its list parameters."""
    return Statement(" ".join(text.split()), lists)


class Rows(Protocol):
    """The result of a statement. Columns are available as attributes and by position."""

    def all(self) -> Sequence[Any]:
        """Return all rows."""
        ...

    def first(self) -> Any:
        """Return the first row, None if there is none."""
        ...

    def one(self) -> Any:
        """Return the only row. Raises an exception if there is none."""
        ...

    def scalar_one(self) -> Any:
        """Return the first column of the only row. Raises an exception if there is none."""
        ...

    def scalar_one_or_none(self) -> Any:
        """Return the first column of the first row, None if there is none."""
        ...


class Connection(Protocol):
    """The connection of one transaction."""

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement."""
        ...


class SqliteConnection:
    """Runs statements on the `sqlite3` module. `raw` is its connection."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        """Run a statement and fetch all rows: an open statement would keep the WAL from shrinking."""
        text, values = expanded(statement, parameters or {})
        cursor = self.raw.execute(text, values)
        if cursor.description is None:
            return FetchedRows(())
        row = _row(tuple(column[0] for column in cursor.description))
        return FetchedRows([row(*found) for found in cursor.fetchall()])


@dataclass(frozen=True, slots=True)
class FetchedRows:
    """Rows that are in memory."""

    rows: Sequence[Any]

    def all(self) -> Sequence[Any]:
        return self.rows

    def first(self) -> Any:
        return self.rows[0] if self.rows else None

    def one(self) -> Any:
        """Return the only row. Raises IndexError."""
        return self.rows[0]

    def scalar_one(self) -> Any:
        """Return the first column of the only row. Raises IndexError."""
        return self.rows[0][0]

    def scalar_one_or_none(self) -> Any:
        return self.rows[0][0] if self.rows else None


class SqlAlchemyConnection:
    """Runs statements on SQLAlchemy, for PostgreSQL."""

    def __init__(self, inner: sqlalchemy.Connection) -> None:
        self._inner = inner

    def execute(self, statement: Statement, parameters: Mapping[str, Any] | None = None) -> Rows:
        return self._inner.execute(_clause(statement), dict(parameters or {}))


def expanded(statement: Statement, parameters: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a statement with its list parameters written out, and its parameters."""
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
