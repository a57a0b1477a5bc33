"""Copies of a runtime's data between SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agent.errors import HomeInUse
from agent.runtime.app import open_runtime
from agent.runtime.exact_integers import ExactSerializer
from agent.runtime.migration.checkpoints import make_versions_unique, strip_versions
from agent.runtime.migration.command import NOTHING_TO_COPY, migrate
from agent.runtime.run_saver import compressing_serde
from agent.runtime.settings import RuntimeSettings
from agent.shared.table_copy import CopyRefused, CopyStep
from tests.harness.postgres import pgbouncer
from tests.runtime.serving import SOURCES, Served, serve
from tests.runtime.test_delta import ask, texts

pytestmark = pytest.mark.postgres
FILES = ("agent.db", "checkpoints.db")
NOT_COPIED = ("agent_processes", "database_copies", "probes", "sqlite_sequence", "store_migrations")
States = Mapping[str, Any]


def _silent(_line: str) -> None:
    return


async def _migrate(home: Path, url: str, to: str) -> int:
    return await asyncio.to_thread(migrate, home, url, to, _silent)


async def _talk(served: Served, graph: str, *inputs: Any) -> str:
    thread: str = (await served.client.threads.create())["thread_id"]
    for one in inputs:
        await served.client.runs.wait(thread, graph, input=one, raise_error=False)
    return thread


async def _fork(served: Served, thread: str, graph: str) -> None:
    """Continue a thread from the state after its first turn."""
    history = await served.client.threads.get_history(thread, limit=100)
    first = [one for one in history if not one["next"] and len(texts(one["values"])) == 1]
    await served.client.runs.wait(thread, graph, input=ask("fork"), checkpoint=first[0]["checkpoint"])


async def _fill(home: Path) -> None:
    """Store something in every table and of every kind."""
    async with serve(home) as served:
        client = served.client
        forked = await _talk(served, "chat", ask("q0"), ask("q1"), ask("q2"))
        await _fork(served, forked, "chat")
        delta = await _talk(served, "delta", *(ask(f"q{number}") for number in range(8)))
        await _fork(served, delta, "delta")
        await _talk(served, "nested", {"ask": "x"})
        await _talk(served, "asking", {"ask": "x"})
        await _talk(served, "failing", {"ask": "x"})
        streamed = await _talk(served, "chat")
        async for _ in client.runs.stream(streamed, "chat", input=ask("x"), stream_resumable=True):
            pass
        await client.threads.update(forked, metadata={"title": "a\0b", "n": 2**60, "f": 1e30})
        await client.threads.create(ttl=5)
        assistant = await client.assistants.create("chat", config={"recursion_limit": 3}, name="É")
        await client.assistants.update(assistant["assistant_id"], description="second")
        await client.crons.create_for_thread(forked, "chat", schedule="0 0 1 1 *", input=ask("cron"))
        await client.store.put_item(("people", "ab"), "key", {"b": [1, {"c": None}], "a": 1.5})


async def _start(home: Path, url: str | None) -> None:
    """Open and close a runtime. Raises HomeInUse."""
    async with open_runtime(RuntimeSettings(home, url), SOURCES):
        pass


async def _read_states(served: Served) -> States:
    threads = await served.client.threads.search(limit=100, sort_by="created_at", sort_order="asc")
    states: dict[str, Any] = {"threads": threads}
    for thread in threads:
        thread_id = thread["thread_id"]
        history = await served.client.threads.get_history(thread_id, limit=1000)
        states[thread_id] = [
            history,
            await served.client.threads.get_state(thread_id, subgraphs=True),
            await served.client.runs.list(thread_id, limit=100),
        ]
    # Those of the graphs are made by each process.
    made = await served.client.assistants.search(limit=100)
    states["assistants"] = [one for one in made if one["metadata"].get("created_by") != "system"]
    states["versions"] = [
        await served.client.assistants.get_versions(one["assistant_id"]) for one in states["assistants"]
    ]
    states["crons"] = await served.client.crons.search(limit=100)
    items = (await served.client.store.search_items(()))["items"]
    states["items"] = [{**one, "created_at": one["created_at"].partition("+")[0]} for one in items]
    states["items"] = [{**one, "updated_at": one["updated_at"].partition("+")[0]} for one in states["items"]]
    return states


def _read_rows(home: Path) -> dict[str, Any]:
    """The rows of all tables of both files; checkpoints, metadata and items are decoded."""
    rows: dict[str, Any] = {}
    for name in FILES:
        with closing(sqlite3.connect(home / name)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                if table not in NOT_COPIED:
                    rows[table] = sorted(connection.execute(f"SELECT * FROM {table}"), key=repr)
    serde = compressing_serde(ExactSerializer())
    rows["checkpoints"] = [
        (*row[:4], serde.loads_typed(row[4:6]), json.loads(row[6])) for row in rows["checkpoints"]
    ]
    rows["store"] = [(*row[:2], json.loads(row[2]), *row[3:]) for row in rows["store"]]
    return rows


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with something in every table. It is copied, not used."""
    home = tmp_path_factory.mktemp("filled") / "home"
    asyncio.run(_fill(home))
    return home


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(filled, tmp_path / "home")


async def test_a_round_trip_changes_nothing(home: Path, tmp_path: Path, runtime_postgres: str) -> None:
    back = tmp_path / "back"
    async with serve(home) as served:
        before = await _read_states(served)
    rows = _read_rows(home)
    assert all(rows[table] for table in rows if table != "webhook_deliveries")
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    assert _read_rows(home) == rows
    async with serve(tmp_path / "other", settings={"database_url": runtime_postgres}) as served:
        assert await _read_states(served) == before
    assert await _migrate(back, runtime_postgres, "sqlite") == 0
    async with serve(back) as served:
        assert await _read_states(served) == before
    assert _read_rows(back) == rows


async def _read_branches(served: Served, thread: str) -> list[list[str]]:
    """The questions at the end of each branch of a thread."""
    history = await served.client.threads.get_history(thread, limit=100)
    continued = {one["parent_checkpoint"]["checkpoint_id"] for one in history if one["parent_checkpoint"]}
    heads = [one for one in history if one["checkpoint"]["checkpoint_id"] not in continued]
    return sorted(texts(one["values"]) for one in heads)


@pytest.mark.parametrize("graph", ["chat", "delta"])
async def test_both_branches_of_a_fork_keep_their_values_and_go_on(
    tmp_path: Path, runtime_postgres: str, graph: str
) -> None:
    home = tmp_path / "home"
    async with serve(home) as served:
        thread = await _talk(served, graph, ask("q0"), ask("q1"))
        await _fork(served, thread, graph)
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    async with serve(tmp_path / "other", settings={"database_url": runtime_postgres}) as served:
        assert await _read_branches(served, thread) == [["q0", "fork"], ["q0", "q1"]]
        await _continue_older(served, thread, graph)
        grown = [["q0", "fork"], ["q0", "q1", "on", "more"]]
        assert await _read_branches(served, thread) == grown
    assert await _migrate(tmp_path / "back", runtime_postgres, "sqlite") == 0
    async with serve(tmp_path / "back") as served:
        assert await _read_branches(served, thread) == grown
        await _continue_older(served, thread, graph)
        assert await _read_branches(served, thread) == [*grown, grown[-1]]


async def _continue_older(served: Served, thread: str, graph: str) -> None:
    """Continue the branch that is not the latest, by two runs."""
    history = await served.client.threads.get_history(thread, limit=100)
    older = next(one for one in history if texts(one["values"]) == ["q0", "q1"] and not one["next"])
    at = older["checkpoint"]
    values = await served.client.runs.wait(thread, graph, input=ask("on"), checkpoint=at)
    assert texts(values) == ["q0", "q1", "on"]
    values = await served.client.runs.wait(thread, graph, input=ask("more"))
    assert texts(values) == ["q0", "q1", "on", "more"]


def test_what_a_node_has_seen_stays_seen(home: Path) -> None:
    """A version is newer than the one that a node has seen exactly if it was before."""

    def compare(checkpoint: Any) -> list[bool]:
        current = checkpoint["channel_versions"]
        seen = checkpoint["versions_seen"]
        return [current[name] > seen[node][name] for node in seen for name in seen[node] if name in current]

    two, three = f"{2:032}", f"{3:032}"
    example = {
        "channel_values": {"value": 1},
        "channel_versions": {"value": three, "empty": three},
        "versions_seen": {"old": {"value": two, "empty": two}, "new": {"value": three, "gone": two}},
    }
    unique = set()
    for checkpoint in (example, *(row[4] for row in _read_rows(home)["checkpoints"])):
        changed = make_versions_unique(checkpoint)
        assert compare(changed) == compare(checkpoint)
        assert strip_versions(changed) == checkpoint
        unique |= {*changed["channel_versions"].values()} - {*checkpoint["channel_versions"].values()}
    assert len(unique) > 20


async def test_the_agents_data_is_copied_through_pgbouncer(
    home: Path, tmp_path: Path, postgres_server: str, postgres_url: str
) -> None:
    rows = _read_rows(home)
    name = str(psycopg.conninfo.conninfo_to_dict(postgres_url)["dbname"])
    with pgbouncer(postgres_server, name) as url:
        assert await _migrate(home, url, "postgres") == 0
        assert await _migrate(tmp_path / "back", url, "sqlite") == 0
    assert _read_rows(tmp_path / "back") == rows


async def test_a_question_that_waits_is_answered_on_the_copy(tmp_path: Path, runtime_postgres: str) -> None:
    home = tmp_path / "home"
    async with serve(home) as served:
        thread = await _talk(served, "asking", {"ask": "x"})
        assert (await served.client.threads.get_state(thread))["tasks"][0]["interrupts"]
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    async with serve(tmp_path / "other", settings={"database_url": runtime_postgres}) as served:
        await served.client.runs.wait(thread, "asking", command={"resume": "yes"})
        state = await served.client.threads.get_state(thread)
        assert not state["next"] and not state["tasks"]
        run = await served.client.runs.create(thread, "asking", input={"ask": "again"})
        await served.client.runs.join(thread, run["run_id"])


async def test_a_target_with_other_content_is_refused(
    home: Path, tmp_path: Path, runtime_postgres: str
) -> None:
    other = tmp_path / "other"
    async with serve(other, settings={"database_url": runtime_postgres}) as served:
        thread = await _talk(served, "chat", ask("q0"))
    with pytest.raises(CopyRefused, match=r"not empty: its table \w+ has rows"):
        await _migrate(home, runtime_postgres, "postgres")
    with pytest.raises(CopyRefused, match=r"not empty: its table \w+ has rows"):
        await _migrate(home, runtime_postgres, "sqlite")
    async with serve(other, settings={"database_url": runtime_postgres}) as served:
        assert [one["thread_id"] for one in await served.client.threads.search()] == [thread]


async def test_checkpoints_alone_are_content_too(home: Path, tmp_path: Path, runtime_postgres: str) -> None:
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    back = tmp_path / "back"
    back.mkdir()
    shutil.copy(home / "checkpoints.db", back)
    with pytest.raises(CopyRefused, match="it has checkpoints"):
        await _migrate(back, runtime_postgres, "sqlite")


async def test_a_finished_copy_and_one_of_another_source_are_not_touched(
    home: Path, tmp_path: Path, runtime_postgres: str
) -> None:
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    assert await _migrate(home, runtime_postgres, "postgres") == NOTHING_TO_COPY
    moved = shutil.copytree(home, tmp_path / "moved")
    with pytest.raises(CopyRefused, match=f"a copy of .*:{home}, not of .*:{moved}"):
        await _migrate(moved, runtime_postgres, "postgres")
    assert await _migrate(tmp_path / "empty", runtime_postgres, "postgres") == NOTHING_TO_COPY


async def test_a_source_that_is_used_or_of_a_newer_version_is_refused(
    home: Path, runtime_postgres: str
) -> None:
    async with serve(home):
        with pytest.raises(CopyRefused, match="an agent runtime uses"):
            await _migrate(home, runtime_postgres, "postgres")
    with closing(sqlite3.connect(home / "agent.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(CopyRefused, match=r"version 99 of the tables.* newer version"):
        await _migrate(home, runtime_postgres, "postgres")


async def test_a_postgres_database_that_an_agent_uses_is_refused(
    home: Path, tmp_path: Path, runtime_postgres: str
) -> None:
    other = tmp_path / "other"
    async with serve(other, settings={"database_url": runtime_postgres}):
        for folder, to in ((home, "postgres"), (tmp_path / "back", "sqlite")):
            with pytest.raises(CopyRefused, match=f"an agent runtime uses the database .*{other}"):
                await _migrate(folder, runtime_postgres, to)
    assert await _migrate(tmp_path / "back", runtime_postgres, "sqlite") == 0


async def test_an_older_source_is_upgraded_in_a_copy(
    home: Path, tmp_path: Path, runtime_postgres: str
) -> None:
    rows = _read_rows(home)
    with closing(sqlite3.connect(home / "agent.db")) as connection:
        connection.execute("DROP TABLE webhook_deliveries")
        connection.execute("PRAGMA user_version = 4")
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    assert await _migrate(tmp_path / "back", runtime_postgres, "sqlite") == 0
    assert _read_rows(tmp_path / "back") == rows
    with closing(sqlite3.connect(home / "agent.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)
    assert [path.name for path in home.iterdir() if ".tmp" in path.name] == []


async def test_rows_that_are_lost_on_the_way_are_an_error(home: Path, runtime_postgres: str) -> None:
    def steal(step: CopyStep) -> None:
        if step is CopyStep.WRITES_COPIED:
            with psycopg.connect(runtime_postgres) as connection:
                connection.execute('DELETE FROM runs WHERE "order" = 1')

    with pytest.raises(CopyRefused, match="runs: the source has 17 rows, the target 16"):
        await asyncio.to_thread(migrate, home, runtime_postgres, "postgres", _silent, steal)
    with pytest.raises(HomeInUse, match="unfinished copy"):
        await _start(home, runtime_postgres)


async def test_text_with_nul_is_copied_with_a_replacement(home: Path, runtime_postgres: str) -> None:
    with closing(sqlite3.connect(home / "agent.db")) as connection:
        connection.execute("UPDATE crons SET timezone = 'a' || char(0) || 'b'")
        connection.execute("UPDATE store SET value = ?", (json.dumps({"a\0": ["b\0\0"]}),))
        connection.commit()
    lines: list[str] = []
    assert await asyncio.to_thread(migrate, home, runtime_postgres, "postgres", lines.append) == 0
    assert lines[-1] == "agent: NUL characters replaced by U+FFFD, which PostgreSQL can't store: 4"
    with psycopg.connect(runtime_postgres) as connection:
        assert connection.execute("SELECT timezone FROM crons").fetchone() == ("a\ufffdb",)
        assert connection.execute("SELECT value FROM store").fetchone() == ({"a\ufffd": ["b\ufffd\ufffd"]},)


async def test_runs_go_on_in_order_after_the_copied_ones(
    home: Path, tmp_path: Path, runtime_postgres: str
) -> None:
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    async with serve(tmp_path / "other", settings={"database_url": runtime_postgres}) as served:
        thread = await _talk(served, "chat", ask("new"))
    with psycopg.connect(runtime_postgres) as connection:
        found = connection.execute('SELECT thread_id FROM runs ORDER BY "order" DESC LIMIT 1').fetchone()
    assert found == (thread,)


async def test_an_agent_does_not_start_on_an_empty_database_while_its_threads_are_elsewhere(
    home: Path, runtime_postgres: str
) -> None:
    with pytest.raises(HomeInUse, match=r"`roebot agent migrate --to postgres`, or move agent\.db away"):
        await _start(home, runtime_postgres)
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    await _start(home, runtime_postgres)
    with psycopg.connect(runtime_postgres) as connection:
        connection.execute("DELETE FROM threads")
    await _start(home, runtime_postgres)
    with psycopg.connect(runtime_postgres) as connection:
        connection.execute("DELETE FROM database_copies")
    with pytest.raises(HomeInUse):
        await _start(home, runtime_postgres)
    (home / "agent.db").rename(home / "away.db")
    await _start(home, runtime_postgres)


async def _run_killed(home: Path, url: str, to: str, step: CopyStep, count: int) -> int:
    """Copy in a process that is killed at a step."""
    arguments = [str(home), url, to, step.value, str(count)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.runtime.killed_migration", *arguments
    )
    return await process.wait()


STEPS = [
    (CopyStep.BEGUN, 1),
    (CopyStep.ROWS_COPIED, 1),
    (CopyStep.ROWS_COPIED, 5),
    (CopyStep.CHECKPOINT_COPIED, 1),
    (CopyStep.CHECKPOINT_COPIED, 20),
    (CopyStep.WRITES_COPIED, 1),
    (CopyStep.COUNTED, 1),
]


async def test_a_killed_copy_is_continued(home: Path, tmp_path: Path, runtime_postgres: str) -> None:
    rows, back = _read_rows(home), tmp_path / "back"
    for step, count in STEPS:
        assert await _run_killed(home, runtime_postgres, "postgres", step, count) == -signal.SIGKILL
        with pytest.raises(HomeInUse, match="unfinished copy"):
            await _start(tmp_path / "other", runtime_postgres)
    assert await _migrate(home, runtime_postgres, "postgres") == 0
    for step, count in STEPS[1::2]:
        assert await _run_killed(back, runtime_postgres, "sqlite", step, count) == -signal.SIGKILL
        with pytest.raises(HomeInUse, match="--to sqlite"):
            await _start(back, None)
    assert await _migrate(back, runtime_postgres, "sqlite") == 0
    assert _read_rows(back) == rows
