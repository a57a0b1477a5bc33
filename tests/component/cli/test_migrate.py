"""`roebot migrate`: the bot's data between SQLite and PostgreSQL, and both halves in one command."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Table, insert

from agent.runtime.domain import Thread, ThreadStatus, new_id
from agent.runtime.store import threads
from agent.runtime.store.database import RuntimeDatabase
from agent.shared.table_copy import CopyRefused, CopyStep, open_copy_engine
from bot.app.home import lock_home, prepare_home
from bot.cli.migrate import migrate_store
from bot.errors import StartError
from bot.store import leases as lease_module
from bot.store.schema import leases, metadata
from bot.store.schema_version import return_to
from tests.harness.postgres import pgbouncer
from tests.harness.store_templates import copy_store, create_schema, feature_tables

pytestmark = [pytest.mark.postgres, pytest.mark.may_block]
ROWS = 3
STEPS = [(CopyStep.BEGUN, 1), (CopyStep.ROWS_COPIED, 1), (CopyStep.ROWS_COPIED, 9), (CopyStep.COUNTED, 1)]


def _copied_tables() -> list[Table]:
    return [*(table for table in metadata.sorted_tables if table is not leases), *feature_tables()]


def _make_value(table: Table, name: str, number: int) -> Any:
    kind = table.c[name].type.python_type
    if kind is str:
        return f"{name} é {number}"
    return number + 0.25 if kind is float else number


def _fill(home: Path, rows: int = ROWS) -> None:
    """Store rows with distinct values in all tables of a new `bot.db`."""
    home.mkdir(parents=True)
    copy_store(home)
    engine = open_copy_engine(home / "bot.db")
    with engine.begin() as connection:
        for table in _copied_tables():
            made = [
                {column.name: _make_value(table, column.name, number) for column in table.columns}
                for number in range(1, rows + 1)
            ]
            connection.execute(insert(table), made)


def _read_rows(home: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(home / "bot.db")) as connection:
        return {
            table.name: connection.execute(f"SELECT * FROM {table.name} ORDER BY 1, 2").fetchall()
            for table in _copied_tables()
        }


def _silent(_line: str) -> None:
    return


def test_a_round_trip_changes_nothing(tmp_path: Path, postgres_url: str) -> None:
    home, back = tmp_path / "home", tmp_path / "back"
    _fill(home)
    rows = _read_rows(home)
    assert all(len(found) == ROWS for found in rows.values())
    assert migrate_store(home, postgres_url, "postgres", _silent)
    assert _read_rows(home) == rows
    back.mkdir()
    assert migrate_store(back, postgres_url, "sqlite", _silent)
    assert _read_rows(back) == rows


def test_new_ids_follow_the_copied_ones(tmp_path: Path, postgres_url: str) -> None:
    _fill(tmp_path / "home")
    migrate_store(tmp_path / "home", postgres_url, "postgres", _silent)
    with psycopg.connect(postgres_url) as connection:
        added = connection.execute("INSERT INTO languages VALUES ('x', 'y')")
        assert added.rowcount == 1
        statement = "INSERT INTO inbound (account, event_id) VALUES ('x', 'y') RETURNING id"
        assert connection.execute(statement).fetchone() == (ROWS + 1,)


def test_text_with_nul_gets_a_replacement(tmp_path: Path, postgres_url: str) -> None:
    home = tmp_path / "home"
    _fill(home)
    with closing(sqlite3.connect(home / "bot.db")) as connection:
        connection.execute("UPDATE record SET text = 'a' || char(0) || char(0)")
        connection.commit()
    lines: list[str] = []
    migrate_store(home, postgres_url, "postgres", lines.append)
    assert lines[-1] == f"bot: NUL characters replaced by U+FFFD, which PostgreSQL can't store: {2 * ROWS}"
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT DISTINCT text FROM record").fetchall() == [("a\ufffd\ufffd",)]


def test_a_target_with_rows_is_refused_and_stays_as_it_is(tmp_path: Path, postgres_url: str) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    _fill(home)
    _fill(other, rows=1)
    rows = _read_rows(other)
    assert migrate_store(home, postgres_url, "postgres", _silent)
    assert not migrate_store(home, postgres_url, "postgres", _silent)
    with pytest.raises(CopyRefused, match=f"a copy of .*:{home}, not of .*:{other}"):
        migrate_store(other, postgres_url, "postgres", _silent)
    with pytest.raises(CopyRefused, match="not empty: its table accounts has rows"):
        migrate_store(other, postgres_url, "sqlite", _silent)
    assert _read_rows(other) == rows


def test_an_older_source_is_upgraded_in_a_copy(tmp_path: Path, postgres_url: str) -> None:
    home = tmp_path / "home"
    _fill(home)
    rows = _read_rows(home)
    with open_copy_engine(home / "bot.db").begin() as connection:
        return_to(connection, "0034")
    assert migrate_store(home, postgres_url, "postgres", _silent)
    with closing(sqlite3.connect(home / "bot.db")) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0034",)
    assert [path.name for path in home.iterdir() if ".tmp" in path.name] == []
    (tmp_path / "back").mkdir()
    assert migrate_store(tmp_path / "back", postgres_url, "sqlite", _silent)
    assert _read_rows(tmp_path / "back") == {**rows, "api_tokens": []}


def test_a_newer_source_and_an_older_postgres_are_refused(tmp_path: Path, postgres_url: str) -> None:
    home = tmp_path / "home"
    _fill(home)
    with closing(sqlite3.connect(home / "bot.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    with pytest.raises(CopyRefused, match="newer version"):
        migrate_store(home, postgres_url, "postgres", _silent)
    create_schema(postgres_url)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    with pytest.raises(CopyRefused, match="the source has version 0001 of the tables"):
        migrate_store(tmp_path / "back", postgres_url, "sqlite", _silent)


def test_a_value_that_postgres_refuses_is_named(tmp_path: Path, postgres_url: str) -> None:
    _fill(tmp_path / "home")
    with closing(sqlite3.connect(tmp_path / "home" / "bot.db")) as connection:
        connection.execute(f"UPDATE turns SET size = {2**40} WHERE id = 1")
        connection.commit()
    with pytest.raises(CopyRefused, match=f"rows 1 to {ROWS} of turns: .*out of range"):
        migrate_store(tmp_path / "home", postgres_url, "postgres", _silent)


def test_a_copy_works_through_pgbouncer(tmp_path: Path, postgres_server: str, postgres_url: str) -> None:
    _fill(tmp_path / "home", rows=2_500)
    rows = _read_rows(tmp_path / "home")
    name = str(psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"])
    with pgbouncer(postgres_server, name) as url:
        assert migrate_store(tmp_path / "home", url, "postgres", _silent)
        (tmp_path / "back").mkdir()
        assert migrate_store(tmp_path / "back", url, "sqlite", _silent)
    assert _read_rows(tmp_path / "back") == rows


def _run_killed(home: Path, url: str, to: str, step: CopyStep, count: int) -> int:
    arguments = [str(home), url, to, step.value, str(count)]
    command = [sys.executable, "-m", "tests.component.cli.killed_migrate", *arguments]
    return subprocess.run(command, check=False, capture_output=True).returncode


def test_a_killed_copy_is_continued(tmp_path: Path, postgres_url: str) -> None:
    home, back = tmp_path / "home", tmp_path / "back"
    _fill(home)
    back.mkdir()
    for folder, to in ((home, "postgres"), (back, "sqlite")):
        for step, count in STEPS if to == "postgres" else STEPS[1::2]:
            assert _run_killed(folder, postgres_url, to, step, count) == -signal.SIGKILL
        assert migrate_store(folder, postgres_url, to, _silent)
    assert _read_rows(back) == _read_rows(home)


def _run_roebot(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bot.cli", *words, "--home", str(home)]
    command += ["--config", str(home.parent / "config.yaml")]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env={**os.environ}
    )


def _write_config(home: Path, url: str) -> None:
    (home.parent / "config.yaml").write_text(f"config_version: 1\ndatabase:\n  url: {url}\n")


async def _add_thread(home: Path) -> None:
    database = RuntimeDatabase(home / "agent.db")
    await database.open()
    thread = Thread(new_id(), ThreadStatus.IDLE, {}, 1.0, 1.0, 1.0, {}, None)
    await database.write(threads.create_thread, thread, if_exists="raise")
    await database.close()


def test_the_command_copies_both_halves_once(tmp_path: Path, postgres_url: str) -> None:
    home = tmp_path / "home"
    _fill(home)
    asyncio.run(_add_thread(home))
    _write_config(home, postgres_url)
    refused = _run_roebot(home, "run", "--port", "0")
    assert refused.returncode == 1
    assert "bot.db in the data directory has turns" in refused.stderr
    assert "`roebot migrate --to postgres`" in refused.stderr
    # Variables of the service may be unset in this terminal.
    with (tmp_path / "config.yaml").open("a") as file:
        file.write("server:\n  token: $UNSET_TOKEN\n")
    copied = _run_roebot(home, "migrate", "--to", "postgres")
    assert (copied.returncode, copied.stderr) == (0, "")
    assert f"· turns: {ROWS}\n" in copied.stdout
    assert "· threads: 1\n" in copied.stdout
    assert "Next, start the service" in copied.stdout
    again = _run_roebot(home, "migrate", "--to", "postgres")
    assert again.returncode == 1
    assert "there was nothing to copy" in again.stderr


def test_the_command_needs_a_postgres_url_and_a_service_that_is_stopped(
    tmp_path: Path, postgres_url: str
) -> None:
    home = tmp_path / "home"
    _fill(home)
    prepare_home(home)
    (tmp_path / "config.yaml").write_text("config_version: 1\n")
    for words in (("migrate",), ("agent", "migrate")):
        found = _run_roebot(home, *words, "--to", "postgres")
        assert (found.returncode, "set database.url" in found.stderr) == (1, True)
    _write_config(home, postgres_url)
    with lock_home(home):
        for words in (("migrate",), ("agent", "migrate")):
            found = _run_roebot(home, *words, "--to", "postgres")
            assert (found.returncode, "another service uses" in found.stderr) == (1, True)


def test_a_service_of_another_host_that_uses_the_database_stops_the_copy(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(tmp_path / "home")
    (tmp_path / "other").mkdir()
    migrate_store(tmp_path / "home", postgres_url, "postgres", _silent)
    monkeypatch.setattr(lease_module, "LOOK_EVERY", 0.05)

    def renew(*_arguments: object) -> None:
        with psycopg.connect(postgres_url) as connection:
            connection.execute(
                "INSERT INTO leases VALUES ('service', 'x', 'elsewhere', extract(epoch FROM now())) "
                "ON CONFLICT (name) DO UPDATE SET holder = 'x', place = 'elsewhere', "
                "renewed_at = extract(epoch FROM clock_timestamp())"
            )

    renew()
    stop = threading.Event()

    def keep() -> None:
        while not stop.wait(0.02):
            renew()

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        with pytest.raises(StartError, match="another service uses this database"):
            migrate_store(tmp_path / "other", postgres_url, "sqlite", _silent)
    finally:
        stop.set()
        thread.join()
