"""`roebot migrate` and `roebot agent migrate`: copy the data between SQLite and PostgreSQL, or return to the
schema of an earlier version.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from platform import node

from sqlalchemy.exc import SQLAlchemyError

from agent.config.database import read_database_url
from agent.config.reader import find_config
from agent.shared.table_copy import (
    CopyRefused,
    CopyState,
    CopyStep,
    TableCopy,
    describe_url,
    ignore_step,
    open_copy_engine,
    open_source,
)
from bot.app.features import create_missing_tables, load_features
from bot.app.home import lock_home, prepare_home
from bot.app.service import describe_place
from bot.cli.common import home_folder, run_loop
from bot.clock import SystemClock
from bot.errors import StartError, StoreError
from bot.store import open_database
from bot.store.database import PostgresDatabase, SqliteDatabase
from bot.store.leases import ServiceLease
from bot.store.schema import leases, metadata
from bot.store.schema_version import HEAD, current, return_to
from bot.store.schema_version import migrate as create_schema

DATABASES = ("postgres", "sqlite")
NOTHING_TO_COPY = 3
"""Exit code of the agent's process if its data is not there, or was copied before."""


def migrate_command(home: Path | None, file: Path | None, to: str) -> int:
    """Copy the bot's and the agent's data to a database, or return to a schema. Return the exit code.

    Raises ConfigErrors and StartError.
    """
    folder = home_folder(home)
    url = read_database_url(file, os.environ, Path.cwd(), folder)
    if to not in DATABASES:
        return _return_to_schema(folder, url, to)
    if url is None:
        raise StartError("set database.url in the configuration file to a PostgreSQL database first")
    prepare_home(folder)
    os.umask(0o077)
    with lock_home(folder):
        try:
            is_copied = migrate_store(folder, url, to, _tell)
        except (CopyRefused, SQLAlchemyError) as error:
            reason = " ".join(str(getattr(error, "orig", None) or error).split())
            raise StartError(f"the bot's data was not copied: {reason}") from error
        code = _copy_agent_data(folder, file, to)
    if code not in (0, NOTHING_TO_COPY):
        return code
    if code and not is_copied:
        raise StartError("there was nothing to copy")
    kept = "bot.db, agent.db and checkpoints.db" if to == "postgres" else "the PostgreSQL database"
    then = "" if to == "postgres" else "remove database.url from the configuration file, then "
    print(f"Copied. Next, {then}start the service. The data in {kept} is unchanged; delete it yourself.")
    return 0


def agent_migrate_command(home: Path | None, file: Path | None, to: str) -> int:
    """Do the same for the agent's data, and return the exit code. Raises StartError."""
    folder = home_folder(home)
    prepare_home(folder)
    with lock_home(folder):
        code = _copy_agent_data(folder, file, to)
    if code == NOTHING_TO_COPY:
        raise StartError("there was nothing to copy")
    return code


def _return_to_schema(home: Path, url: str | None, schema: str) -> int:
    file = home / "bot.db"
    if url is None and not file.exists():
        raise StartError(f"{file} does not exist")
    prepare_home(home)
    with lock_home(home):
        database = PostgresDatabase(url) if url else SqliteDatabase(file)
        try:
            dropped = run_loop(database.schema(partial(return_to, revision=schema)))
        except (StoreError, SQLAlchemyError) as error:
            raise StartError(f"nothing was changed: {getattr(error, 'orig', None) or error}") from error
    _tell(f"bot: the tables have schema {schema}; dropped: {', '.join(dropped) or 'nothing'}")
    return 0


def migrate_store(
    home: Path,
    url: str,
    to: str,
    tell: Callable[[str], None],
    reach: Callable[[CopyStep], None] = ignore_step,
) -> bool:
    """Copy the bot's data and return whether there was anything to copy. Blocking.

    Raises CopyRefused, and StartError if a service uses the database.
    """
    file = home / "bot.db"
    source, target = (file, url) if to == "postgres" else (url, file)
    with open_source(source, current, HEAD, _create_schema) as engine:
        if engine is None:
            tell("bot: nothing to copy, because no service has used the source")
            return False
        tables = [
            *(table for table in metadata.sorted_tables if table is not leases),
            *load_features().tables,
        ]
        origin = f"{node()}:{home}" if to == "postgres" else describe_url(url)
        opened = open_copy_engine(target)
        copy = TableCopy(engine, opened, tables, part="bot", origin=origin, tell=tell, reach=reach)
        if copy.check() is CopyState.FINISHED:
            tell("bot: the copy was complete already; nothing was changed")
            return False
        _create_schema(target)
        started = time.monotonic()
        rows = run_loop(_copy_leased(copy, home, url))
    tell(f"bot: {rows} rows in {time.monotonic() - started:.0f} s; the numbers of both databases are equal")
    if copy.replaced:
        tell(f"bot: NUL characters replaced by U+FFFD, which PostgreSQL can't store: {copy.replaced}")
    return True


def _create_schema(place: Path | str) -> None:
    """Create or upgrade the tables. Raises StoreError if the database is newer."""
    with open_copy_engine(place).begin() as connection:
        create_schema(connection)
        create_missing_tables(load_features().tables, connection)


async def _copy_leased(copy: TableCopy, home: Path, url: str) -> int:
    """Copy while no service can use the PostgreSQL database, and return the number of rows."""
    database = await open_database(home, url)
    try:
        place = await asyncio.to_thread(describe_place, home)
        lease = ServiceLease(database, SystemClock(), place, secrets.token_hex(8))
        await lease.claim()
        keeping = asyncio.create_task(lease.keep())
        try:
            return await asyncio.to_thread(_copy_rows, copy)
        finally:
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
            await lease.release()
    finally:
        await database.close()


def _copy_rows(copy: TableCopy) -> int:
    copy.begin()
    copy.copy_rows()
    return copy.finish(time.time())


def _copy_agent_data(home: Path, file: Path | None, to: str) -> int:
    """Run the agent's own command, since the bot never imports the agent's code."""
    command = [sys.executable, "-P", "-m", "agent.runtime.migration", "--home", str(home), "--to", to]
    found = file or find_config(None, os.environ, Path.cwd(), home)
    command += ["--config", str(found)] if found else []
    return subprocess.run(command, check=False).returncode  # noqa: S603 - our own interpreter and module


def _tell(line: str) -> None:
    print(f"· {line}", flush=True)
