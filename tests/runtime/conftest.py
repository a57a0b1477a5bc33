"""Fixtures of the runtime's tests."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from agent.runtime.run_saver import RunSaver
from agent.runtime.saver import RuntimeSaver
from tests.conftest import DATABASES, new_postgres_database
from tests.harness.agent_process import shared_certificates, spans_on_demand
from tests.harness.store_templates import DISCONNECT
from tests.runtime import graphs
from tests.runtime.serving import Served, serve

_LIST_TABLES = """
    SELECT tablename FROM pg_tables
    WHERE schemaname = 'public' AND tablename NOT LIKE '%migrations' AND tablename <> 'agent_version'
"""
__all__ = ["shared_certificates", "spans_on_demand"]


@pytest.fixture(scope="session")
def shared_postgres(postgres_server: str) -> Iterator[str]:
    """The address of the database that this process's tests use one after the other."""
    with new_postgres_database(postgres_server) as url:
        yield url


@pytest.fixture
def runtime_postgres(shared_postgres: str) -> str:
    """The address of a PostgreSQL database whose tables are empty, if it has any."""
    with psycopg.connect(shared_postgres, autocommit=True) as connection:
        connection.execute(DISCONNECT)
        for (table,) in connection.execute(_LIST_TABLES).fetchall():
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
    return shared_postgres


@pytest.fixture(params=DATABASES)
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Served]:
    """A server with the test graphs, on each kind of database."""
    url = request.getfixturevalue("runtime_postgres") if request.param == "postgres" else None
    async with serve(tmp_path, settings={"database_url": url}) as server:
        yield server


@pytest.fixture(autouse=True)
def fresh_gates() -> Iterator[None]:
    """Gates belong to one test."""
    graphs.gates.clear()
    graphs.entered.clear()
    yield


@dataclass(frozen=True)
class SaverDatabase:
    """A database for a checkpoint saver, empty at first."""

    url: str | None
    path: Path
    open: Callable[[], AbstractAsyncContextManager[RunSaver]]
    """Opens a saver on it."""

    @contextmanager
    def refusing(self) -> Iterator[type[Exception]]:
        """Refuse checkpoints for the time of the block. Yield the error that `aput` raises then."""
        if self.url is None:
            yield self._execute_on_sqlite("ALTER TABLE checkpoints RENAME TO away")
            self._execute_on_sqlite("ALTER TABLE away RENAME TO checkpoints")
            return
        with psycopg.connect(self.url, autocommit=True) as admin:
            admin.execute("ALTER TABLE checkpoints RENAME TO away")
            yield psycopg.errors.UndefinedTable
            admin.execute("ALTER TABLE away RENAME TO checkpoints")

    def _execute_on_sqlite(self, statement: str) -> type[Exception]:
        with closing(sqlite3.connect(self.path)) as connection:
            connection.execute(statement)
        return sqlite3.OperationalError

    def read_all(self) -> dict[str, list[Any]]:
        """Everything that is stored, by table."""
        if self.url is None:
            with closing(sqlite3.connect(self.path)) as connection:
                return {
                    table: sorted(connection.execute(f"SELECT * FROM {table}"))
                    for table in ("checkpoints", "writes")
                }
        with psycopg.connect(self.url) as admin:
            return {
                table: admin.execute(f"SELECT * FROM {table} AS one ORDER BY one").fetchall()
                for table in ("checkpoint_blobs", "checkpoint_writes", "checkpoints")
            }


@pytest.fixture(params=DATABASES)
def saver_database(request: pytest.FixtureRequest, tmp_path: Path) -> SaverDatabase:
    """An empty database of each kind for a checkpoint saver."""
    path = tmp_path / "checkpoints.db"
    if request.param == "sqlite":
        return SaverDatabase(None, path, partial(RuntimeSaver.open, path))
    from agent.runtime.postgres_saver import PostgresRuntimeSaver

    url = request.getfixturevalue("postgres_url")
    return SaverDatabase(url, path, partial(PostgresRuntimeSaver.open, url))
