"""Core statements compiled once and executed by the driver, for the few that each run needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Insert, Table, Update
from sqlalchemy.dialects import sqlite


class Prepared:
    """A write whose parameters are given by name. The values must be what the columns' types take."""

    def __init__(self, statement: Insert | Update, *, columns: Iterable[str] | None = None) -> None:
        """`columns` names the columns of an insert."""
        compiled = statement.compile(
            dialect=sqlite.dialect(paramstyle="qmark"),
            column_keys=None if columns is None else list(columns),
        )
        self.sql = str(compiled)
        self._names = tuple(compiled.positiontup or ())
        self._fixed = {name: value for name, value in compiled.params.items() if value is not None}
        self._convert = dict(compiled._bind_processors)

    def run(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute; the number of rows written."""
        return int(driver(connection).execute(self.sql, self._ordered(values)).rowcount)

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> int:
        """Execute; the new row's number."""
        return int(driver(connection).execute(self.sql, self._ordered(values)).lastrowid)

    def _ordered(self, values: Mapping[str, Any]) -> list[Any]:
        ordered = []
        for name in self._names:
            value = values[name] if name in values else self._fixed[name]
            convert: Any = self._convert.get(name)
            ordered.append(value if convert is None else convert(value))
        return ordered


def inserting(table: Table, *, without: str | None = None) -> Prepared:
    """An insert of all columns but one that the database fills."""
    return Prepared(table.insert(), columns=[column.name for column in table.c if column.name != without])


def driver(connection: Connection) -> Any:
    """The sqlite3 connection below; its transaction is the one that SQLAlchemy began."""
    return connection.connection.driver_connection
