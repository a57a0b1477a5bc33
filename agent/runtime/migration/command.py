"""Copy the runtime's data: `roebot agent migrate` runs this module in a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from platform import node
from typing import Any

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from agent.config.database import read_database_url
from agent.config.errors import ConfigErrors
from agent.core.paths import make_private_folder
from agent.errors import AgentError
from agent.runtime.migration.checkpoints import CheckpointCopy, OpaqueSerializer, StoredRows
from agent.runtime.migration.tables import POSTGRES_TABLES, TABLES
from agent.runtime.run_saver import RunSaver
from agent.runtime.settings import RuntimeSettings
from agent.runtime.store.engines import HomeLock, make_engine, open_transaction, opening
from agent.runtime.store.leases import EXPIRES_AFTER, find_live_process
from agent.runtime.store.schema import processes
from agent.runtime.store.schema_version import FIRST_ON_POSTGRES, NEWEST, read_version, return_to
from agent.runtime.store.statements import driver_connection
from agent.runtime.stores import open_items, open_saver
from agent.shared.install_hints import install_command, own_extra
from agent.shared.table_copy import (
    CopyProgress,
    CopyRefused,
    CopyState,
    CopyStep,
    TableCopy,
    describe_url,
    drop_copy,
    ignore_step,
    open_copy_engine,
    open_source,
)

PREFIX = "roebot agent migrate: "
DATABASES = ("postgres", "sqlite")
NOTHING_TO_COPY = 3
"""Exit code if the source has no data, or was copied before."""
Tell = Callable[[str], None]


def main(arguments: Sequence[str]) -> int:
    """Parse the command line, copy, and return the exit code. A failure prints one line to stderr."""
    parser = argparse.ArgumentParser(prog="python -m agent.runtime.migration")
    parser.add_argument("--to", required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--config", type=Path)
    given = parser.parse_args(arguments)
    os.umask(0o077)
    try:
        url = read_database_url(given.config, os.environ, Path.cwd(), given.home)
        if given.to not in DATABASES:
            return return_to_version(given.home, url, int(given.to) if given.to.isdecimal() else 0, _tell)
        return _migrate_configured(given.home, url, given.to)
    except (AgentError, ConfigErrors, CopyRefused, DBAPIError) as error:
        print(f"{PREFIX}{'; '.join(str(error).splitlines())}", file=sys.stderr)  # noqa: T201
        return 1


def _tell(line: str) -> None:
    print(f"· {line}", flush=True)  # noqa: T201


def _migrate_configured(home: Path, url: str | None, to: str) -> int:
    if url is None:
        raise CopyRefused("set database.url in the configuration file to a PostgreSQL database first")
    try:
        driver: Any = import_module("psycopg")
    except ImportError as error:
        command = install_command(own_extra("postgres"))
        raise CopyRefused(f"PostgreSQL needs the package psycopg; install it: {command}") from error
    try:
        return migrate(home, url, to, _tell)
    except (OSError, SQLAlchemyError, sqlite3.Error, driver.Error) as error:
        raise CopyRefused(str(getattr(error, "orig", None) or error)) from error


def migrate(
    home: Path, url: str, to: str, tell: Tell, reach: Callable[[CopyStep], None] = ignore_step
) -> int:
    """Copy the data of `home` to PostgreSQL, or that of PostgreSQL to `home`, and return the exit code.

    `tell` receives lines about the progress. Raises CopyRefused.
    """
    settings = RuntimeSettings(home)
    file = settings.database
    make_private_folder(home)
    source, target = (file, url) if to == "postgres" else (url, file)
    with _lock_file(file), open_source(source, _read_version, str(NEWEST), _create_tables) as engine:
        if engine is None:
            tell("agent: nothing to copy, because no agent runtime has used the source")
            return NOTHING_TO_COPY
        copy = TableCopy(
            engine,
            open_copy_engine(target),
            TABLES,
            part="agent",
            origin=f"{node()}:{home}" if isinstance(source, Path) else describe_url(source),
            tell=tell,
            reach=reach,
        )
        _require_unused(url)
        state = copy.check()
        if state is CopyState.FINISHED:
            tell("agent: the copy was complete already; nothing was changed")
            return NOTHING_TO_COPY
        # Opened in the loop, but imported outside.
        places = (settings.checkpoints if isinstance(place, Path) else place for place in (source, target))
        old, new = (open_saver(place, serde=OpaqueSerializer()) for place in places)
        prepare = open_items(target)
        work = _copy(copy, state, old, new, prepare, partial(_create_tables, target), tell, reach)
        return asyncio.run(work)


def return_to_version(home: Path, url: str | None, version: int, tell: Tell) -> int:
    """Return the tables to an earlier version. Raises CopyRefused and HomeInUse.

    Programs before FIRST_ON_POSTGRES have their data in the SQLite file, whatever `url` says. The file must
    then be a copy of the PostgreSQL database, whose tables are dropped.
    """
    file = RuntimeSettings(home).database
    place = url if url and version >= FIRST_ON_POSTGRES else file
    if place == file and not file.exists():
        raise CopyRefused(f"{file} does not exist")
    engine = make_engine(place)
    with _lock_file(file), opening(engine), closing(engine.connect()) as connection:
        if url:
            _require_unused(url)
        with open_transaction(driver_connection(connection), engine.begin_write):
            dropped = return_to(connection, version)
            if url and place == file:
                drop_copy(url, file, "agent", POSTGRES_TABLES)
    tell(f"agent: the tables have version {version}; dropped: {', '.join(dropped) or 'nothing'}")
    return 0


async def _copy(
    copy: TableCopy,
    state: CopyState,
    open_source: AbstractAsyncContextManager[RunSaver],
    open_target: AbstractAsyncContextManager[RunSaver],
    open_items: AbstractAsyncContextManager[Any],
    create_tables: Callable[[], None],
    tell: Tell,
    reach: Callable[[CopyStep], None],
) -> int:
    started = time.monotonic()
    async with open_source as old, open_target as new:
        if state is CopyState.NEW and await StoredRows(new).count():
            raise CopyRefused("the target is not empty: it has checkpoints. Nothing is overwritten")
        await asyncio.to_thread(create_tables)
        async with open_items:
            pass  # has created the tables of the item store
        await asyncio.to_thread(copy.begin)
        await asyncio.to_thread(copy.copy_rows)
        counts = await CheckpointCopy(old, new, CopyProgress(tell), reach).run()
    rows = await asyncio.to_thread(copy.finish, time.time()) + sum(counts.values())
    for table, number in counts.items():
        tell(f"{table}: {number}")
    seconds = time.monotonic() - started
    tell(f"agent: {rows} rows in {seconds:.0f} s; the numbers of both databases are equal")
    if copy.replaced:
        tell(f"agent: NUL characters replaced by U+FFFD, which PostgreSQL can't store: {copy.replaced}")
    return 0


@contextmanager
def _lock_file(file: Path) -> Iterator[None]:
    """Lock the data directory's runtime, as the runtime does. Raises CopyRefused."""
    lock = HomeLock(file.with_suffix(".lock"))
    try:
        if not lock.take():
            raise CopyRefused(f"an agent runtime uses {file.parent}; stop it first")
        yield
    finally:
        lock.release()


def _require_unused(url: str) -> None:
    """Raise CopyRefused if an agent runtime uses the PostgreSQL database."""
    with open_copy_engine(url).connect() as connection:
        if not inspect(connection).has_table(processes.name):
            return
        if (found := find_live_process(connection)) is not None:
            raise CopyRefused(
                f"an agent runtime uses the database ({found.partition(' #')[0]}); stop it first. "
                f"One that was killed counts for {EXPIRES_AFTER:.0f} s"
            )


def _read_version(connection: Connection) -> str:
    return str(read_version(connection) or "")


def _create_tables(target: Path | str) -> None:
    engine = make_engine(target)
    with opening(engine):
        connection: Connection = engine.connect()
    try:
        engine.migrate(connection)
    finally:
        connection.close()
