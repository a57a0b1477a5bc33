"""Statements that both databases understand, executed by the driver where a run needs them often."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Insert, Table, Update
from sqlalchemy.dialects import postgresql, sqlite


def driver_connection(connection: Any) -> Any:
    """Return the driver's connection, whose transaction the other one shares."""
    if isinstance(connection, Connection):
        return connection.connection.driver_connection
    return connection


def is_sqlite(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def execute_sql(connection: Connection, statement: str, values: Sequence[Any] = ()) -> Any:
    """Execute SQL with `?` for each value, and return the driver's cursor."""
    driver = driver_connection(connection)
    return driver.execute(
        statement if isinstance(driver, sqlite3.Connection) else _for_psycopg(statement), values
    )


@lru_cache(maxsize=64)
def _for_psycopg(statement: str) -> str:
    return statement.replace("?", "%s")


def insert_into(connection: Connection, table: Table) -> Any:
    """Return an insert that can say what to do about a row that exists."""
    return (sqlite if is_sqlite(connection) else postgresql).insert(table)


@dataclass(frozen=True, slots=True)
class _Compiled:
    sql: str
    names: tuple[str, ...]
    constants: Mapping[str, Any]
    converters: Mapping[str, Any]


class PreparedStatement:
    """A write statement compiled once and executed by the driver, for the few statements needed by every run.

    The values must already have the Python types that the columns take.
    """

    def __init__(self, statement: Insert | Update, *, columns: Iterable[str] | None = None) -> None:
        """`columns` names the columns of an insert."""
        self._statement = statement
        self._columns = None if columns is None else list(columns)
        self._compiled: dict[str, _Compiled] = {}

    def execute(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute the statement and return the number of written rows."""
        return int(self._run(connection, values).rowcount)

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute an insert and return the value that the database gave the row's key."""
        cursor = self._run(connection, values)
        return int(cursor.lastrowid if is_sqlite(connection) else cursor.fetchone()[0])

    def _run(self, connection: Connection, values: Mapping[str, Any]) -> Any:
        found = self._compiled.get(connection.dialect.name)
        if found is None:
            found = self._compiled[connection.dialect.name] = self._compile(connection.dialect)
        ordered = []
        for name in found.names:
            value = values[name] if name in values else found.constants[name]
            convert = found.converters.get(name)
            ordered.append(value if convert is None else convert(value))
        return driver_connection(connection).execute(found.sql, ordered)

    def _compile(self, dialect: Dialect) -> _Compiled:
        # PostgreSQL's dialect adds "RETURNING" with the key to an insert by itself.
        made = type(dialect)(paramstyle="qmark" if dialect.name == "sqlite" else "format")  # type: ignore[call-arg]
        compiled = self._statement.compile(dialect=made, column_keys=self._columns)
        return _Compiled(
            str(compiled),
            tuple(compiled.positiontup or ()),
            {name: value for name, value in compiled.params.items() if value is not None},
            dict(compiled._bind_processors),
        )


def prepare_insert(table: Table, *, without: str | None = None) -> PreparedStatement:
    """Prepare an insert of all columns except `without`, which the database fills."""
    names = [column.name for column in table.c if column.name != without]
    return PreparedStatement(table.insert(), columns=names)
