"""Two processes on one PostgreSQL database, of which one is killed, paused or stopped during a run."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.runtime.processes import Process, runtime
from tests.runtime.test_crash import ASK, OPTIONS, THREAD, calls

pytestmark = [pytest.mark.fault, pytest.mark.postgres, pytest.mark.may_block]
TAKEOVER = 10.0
"""Most seconds until another process continues the run of one that does not answer."""
TEXT = "".join(f"t{number} " for number in range(40))


@pytest.fixture
async def two(tmp_path: Path, postgres_url: str) -> AsyncIterator[tuple[Process, Process]]:
    """Two processes, each with its own data directory."""
    config = tmp_path / "config.yaml"
    config.write_text(f"database: {{url: '{postgres_url}'}}\n")
    async with AsyncExitStack() as stack:
        yield (
            await stack.enter_async_context(runtime(tmp_path / "a", arguments=("--config", str(config)))),
            await stack.enter_async_context(runtime(tmp_path / "b", arguments=("--config", str(config)))),
        )


async def _begin(process: Process) -> str:
    """Start a run that talks for seconds, and return its id once it has begun to talk."""
    client = process.client
    options: Any = {name: OPTIONS[name] for name in OPTIONS if name not in ("input", "headers")}
    run = await client.runs.create(THREAD, "patient", input=ASK, **options)
    async for part in client.runs.join_stream(THREAD, run["run_id"], last_event_id="0"):
        if part.event == "messages":
            break
    return run["run_id"]


async def _listen(process: Process, run_id: str) -> list[str]:
    """The names of the run's events as a process sends them in one stream."""
    stream = process.client.runs.join_stream(THREAD, run_id, last_event_id="0")
    return [part.event async for part in stream]


async def _check(url: str, process: Process, run_id: str, tmp_path: Path) -> None:
    """One answer, one end, and the tool ran once."""
    thread = await process.client.threads.get(THREAD)
    assert [message["content"] for message in thread["values"]["messages"]] == ["hi", "tool done", TEXT]
    events = [part async for part in process.client.runs.join_stream(THREAD, run_id, last_event_id="0")]
    assert [part.event for part in events].count("end") == 1
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT status, fence FROM runs").fetchall() == [("success", 2)]
    assert calls(tmp_path / "a") == 1
    assert not (tmp_path / "b" / "calls.txt").exists()


async def test_the_run_of_a_killed_process_continues_at_another(
    two: tuple[Process, Process], postgres_url: str, tmp_path: Path
) -> None:
    first, second = two
    run_id = await _begin(first)
    first.process.kill()
    began = time.monotonic()
    while (await second.client.runs.get(THREAD, run_id))["status"] == "running":
        with psycopg.connect(postgres_url) as connection:
            if connection.execute("SELECT attempt FROM runs").fetchall() == [(2,)]:
                break
        await asyncio.sleep(0.05)
    assert time.monotonic() - began < TAKEOVER
    await second.client.runs.join(THREAD, run_id)
    await _check(postgres_url, second, run_id, tmp_path)


async def test_a_process_that_was_paused_writes_nothing_more(
    two: tuple[Process, Process], postgres_url: str, tmp_path: Path
) -> None:
    first, second = two
    run_id = await _begin(first)
    listening = asyncio.create_task(_listen(first, run_id))
    await asyncio.sleep(0.2)
    first.process.send_signal(signal.SIGSTOP)
    await second.client.runs.join(THREAD, run_id)
    await _check(postgres_url, second, run_id, tmp_path)
    with psycopg.connect(postgres_url) as connection:
        before = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("runs", "events")]
    first.process.send_signal(signal.SIGCONT)
    # Who listens to it gets the rest of the run from its log.
    heard = await asyncio.wait_for(listening, 20)
    assert heard[-1] == "end"
    assert heard.count("metadata") == 2
    # It gives the run up, and serves others.
    other = await first.client.threads.create()
    result = await first.client.runs.wait(other["thread_id"], "counted", input=ASK)
    assert isinstance(result, dict)
    assert result["messages"][-1]["content"] == TEXT
    with psycopg.connect(postgres_url) as connection:
        after = [
            connection.execute(f"SELECT * FROM {table} WHERE run_id = %s", [run_id]).fetchall()
            for table in ("runs", "events")
        ]
    assert after == before
    assert (await first.client.threads.get(THREAD))["values"] == (await second.client.threads.get(THREAD))[
        "values"
    ]


async def test_the_run_of_a_process_that_stops_continues_at_once(
    two: tuple[Process, Process], postgres_url: str, tmp_path: Path
) -> None:
    first, second = two
    run_id = await _begin(first)
    began = time.monotonic()
    assert await first.terminate() == 0
    while (await second.client.runs.get(THREAD, run_id))["status"] != "success":
        await asyncio.sleep(0.05)
    # It drains for a second, then the other process looks within a second and talks for four.
    assert time.monotonic() - began < TAKEOVER
    await _check(postgres_url, second, run_id, tmp_path)
