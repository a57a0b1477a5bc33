"""Fixtures of the runtime's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

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
