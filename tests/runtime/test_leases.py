"""Several processes on one PostgreSQL database: which one executes a run, and whose writes count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph_sdk.client import LangGraphClient

from agent.runtime.domain import AttemptOutcome, MultitaskStrategy, NewRun, Run, RunSpec, RunStatus, new_id
from agent.runtime.postgres_saver import PostgresRuntimeSaver
from agent.runtime.store import leases, runs
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.events import LogChunk, append_events
from agent.runtime.store.leases import LeaseLost, lease_of
from agent.shared.metrics import REGISTRY
from tests.runtime.graphs import arrived, gate
from tests.runtime.serving import Served, serve

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]
EXPIRE = "UPDATE agent_processes SET until = 0"


@pytest.fixture
async def two(tmp_path: Path, runtime_postgres: str) -> AsyncIterator[tuple[Served, Served]]:
    """Two servers on one database, each with its own data directory."""
    async with AsyncExitStack() as stack:
        yield (
            await stack.enter_async_context(
                serve(tmp_path / "a", settings={"database_url": runtime_postgres})
            ),
            await stack.enter_async_context(
                serve(tmp_path / "b", settings={"database_url": runtime_postgres})
            ),
        )


async def _begin(client: LangGraphClient, ask: str, **options: Any) -> tuple[str, str]:
    """Start a run that waits for the gate `ask`. Return its thread and its id."""
    thread = await client.threads.create()
    run = await client.runs.create(thread["thread_id"], "gated", input={"ask": ask}, **options)
    await arrived(ask).wait()
    return thread["thread_id"], run["run_id"]


async def _log(client: LangGraphClient, thread_id: str) -> Any:
    return (await client.threads.get_state(thread_id))["values"]["log"]


async def test_runs_of_a_thread_keep_their_order_over_processes(two: tuple[Served, Served]) -> None:
    a, b = (one.client for one in two)
    thread_id, _ = await _begin(a, "one")
    second = asyncio.create_task(b.runs.wait(thread_id, "gated", input={"ask": "two"}))
    while len(await a.runs.list(thread_id)) < 2:
        await asyncio.sleep(0.01)
    third = await a.runs.create(thread_id, "gated", input={"ask": "three"})
    gate("two").set()
    gate("three").set()
    assert [run["status"] for run in await b.runs.list(thread_id)] == ["pending", "pending", "running"]
    gate("one").set()
    result = await second
    assert isinstance(result, dict)
    assert result["log"][:4] == ["first one", "second one", "first two", "second two"]
    await b.runs.join(thread_id, third["run_id"])
    assert await _log(b, thread_id) == [
        f"{place} {name}" for name in ("one", "two", "three") for place in ("first", "second")
    ]


async def test_a_run_is_followed_and_joined_at_any_process(two: tuple[Served, Served]) -> None:
    a, b = (one.client for one in two)
    thread_id, run_id = await _begin(a, "one", stream_mode=["values", "custom"], stream_resumable=True)

    async def follow(client: LangGraphClient) -> list[Any]:
        stream = client.runs.join_stream(thread_id, run_id, last_event_id="0")
        return [(part.id, part.event, part.data) async for part in stream]

    following = [asyncio.create_task(follow(client)) for client in (a, b)]
    joining = asyncio.create_task(b.runs.join(thread_id, run_id))
    await asyncio.sleep(0)
    gate("one").set()
    here, there = [await one for one in following]
    assert here == there
    assert here[-1][1] == "end"
    assert (await joining)["log"] == ["first one", "second one"]


@pytest.mark.parametrize("wait", [False, True])
async def test_a_run_is_cancelled_at_any_process(two: tuple[Served, Served], wait: bool) -> None:
    a, b = (one.client for one in two)
    thread_id, run_id = await _begin(a, "one")
    await b.runs.cancel(thread_id, run_id, wait=wait)
    if not wait:
        await b.runs.join(thread_id, run_id)
    assert (await b.runs.get(thread_id, run_id))["status"] == "interrupted"


async def test_a_run_that_interrupts_one_of_another_process_comes_next(two: tuple[Served, Served]) -> None:
    a, b = (one.client for one in two)
    thread_id, run_id = await _begin(a, "one")
    gate("two").set()
    await b.runs.wait(thread_id, "gated", input={"ask": "two"}, multitask_strategy="interrupt")
    assert (await b.runs.get(thread_id, run_id))["status"] == "interrupted"
    assert await _log(b, thread_id) == ["first one", "first two", "second two"]


async def test_a_process_that_lost_its_lease_changes_nothing(
    two: tuple[Served, Served], runtime_postgres: str
) -> None:
    """The first process still executes the run when the second one has taken it over."""
    a, b = (one.client for one in two)
    thread_id, run_id = await _begin(a, "one", stream_resumable=True)
    with psycopg.connect(runtime_postgres, autocommit=True) as admin:
        # As the other process does when it finds that the lease has expired.
        taken = admin.execute(
            "UPDATE runs SET fence = 2, owner = p.owner FROM agent_processes AS p WHERE p.owner <> runs.owner"
        )
        assert taken.rowcount == 1
    gate("one").set()
    assert (await b.runs.join(thread_id, run_id))["log"] == ["first one", "second one"]
    events = [part async for part in b.runs.join_stream(thread_id, run_id, last_event_id="0")]
    assert [part.event for part in events].count("end") == 1
    with psycopg.connect(runtime_postgres, autocommit=True) as admin:
        assert admin.execute("SELECT status, fence, attempt FROM runs").fetchall() == [("success", 2, 2)]
        ends = admin.execute("SELECT attempt FROM events WHERE body LIKE '%event: end%'").fetchall()
        assert ends == [(2,)]


SPEC = RunSpec(graph_id="gated", assistant_id="a", input={})
ENDED = AttemptOutcome(RunStatus.SUCCESS)
CHUNK = LogChunk(1, 1, 1, b"event: x\r\ndata: {}\r\n\r\n")


async def _saves_a_checkpoint(_: RuntimeDatabase, saver: PostgresRuntimeSaver, run: Run) -> None:
    place = {"thread_id": run.thread_id, "checkpoint_ns": "", "run_id": run.run_id}
    await saver.aput({"configurable": place}, empty_checkpoint(), {}, {})


async def _saves_writes(_: RuntimeDatabase, saver: PostgresRuntimeSaver, run: Run) -> None:
    place = {"thread_id": run.thread_id, "checkpoint_ns": "", "checkpoint_id": "c", "run_id": run.run_id}
    await saver.aput_writes({"configurable": place}, [("said", "x")], "task")


WRITES: dict[str, Callable[[RuntimeDatabase, PostgresRuntimeSaver, Run], Awaitable[Any]]] = {
    "start": lambda db, _, run: db.write(runs.start_run, run, now=2.0, chunk=CHUNK),
    "events": lambda db, _, run: db.write(append_events, lease_of(run), CHUNK),
    "finish": lambda db, _, run: db.write(runs.finish_run, run, ENDED, now=2.0, chunk=CHUNK),
    "discard": lambda db, _, run: db.write(runs.discard_run, run, now=2.0, outcome=ENDED),
    "erase": lambda db, _, run: db.write(runs.erase_run_thread, run),
    "checkpoint": _saves_a_checkpoint,
    "writes": _saves_writes,
    "roll back": lambda _, saver, run: saver.roll_back_run(run.thread_id, run.run_id, None, None),
}
TABLES = ("runs", "threads", "events", "checkpoints", "checkpoint_writes", "checkpoint_blobs")


def _count_refused() -> float:
    return REGISTRY.get_sample_value("roebot_writes_refused_total", {"lease": "run"}) or 0.0


def _read_all(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES]  # type: ignore[arg-type]


@pytest.mark.parametrize("is_lost", [True, False])
@pytest.mark.parametrize("name", WRITES)
async def test_each_write_of_a_run_needs_its_lease(runtime_postgres: str, name: str, is_lost: bool) -> None:
    database = RuntimeDatabase(runtime_postgres)
    await database.open()
    async with PostgresRuntimeSaver.open(runtime_postgres) as saver:
        await database.write(leases.start_owner, "first")
        new = NewRun(new_id(), new_id(), SPEC, MultitaskStrategy.ENQUEUE, if_not_exists="create")
        run = (await database.write(runs.add_run, new, owner="first", now=1.0, start=False, chunk=None)).run
        saver.begin_run(lease_of(run))
        if is_lost:
            with psycopg.connect(runtime_postgres, autocommit=True) as admin:
                admin.execute(EXPIRE)
            await database.write(leases.renew_owner, "second")
        before = _read_all(runtime_postgres)
        if is_lost:
            refused = _count_refused()
            with pytest.raises(LeaseLost):
                await WRITES[name](database, saver, run)
            assert _read_all(runtime_postgres) == before
            assert _count_refused() == refused + 1
        else:
            await WRITES[name](database, saver, run)
            assert (_read_all(runtime_postgres) != before) is (name != "roll back")
    await database.close()


async def test_a_takeover_waits_for_a_write_under_way(runtime_postgres: str) -> None:
    """Otherwise the write would be committed after the takeover."""
    database = RuntimeDatabase(runtime_postgres)
    await database.open()
    await database.write(leases.start_owner, "first")
    new = NewRun(new_id(), new_id(), SPEC, MultitaskStrategy.ENQUEUE, if_not_exists="create")
    run = (await database.write(runs.add_run, new, owner="first", now=1.0, start=False, chunk=None)).run
    async with await psycopg.AsyncConnection.connect(runtime_postgres) as writing:
        await writing.execute(leases.SELECT_HOLDER.replace("?", "%s") + " FOR SHARE", [run.run_id])
        with psycopg.connect(runtime_postgres, autocommit=True) as admin:
            admin.execute(EXPIRE)
        takeover = asyncio.create_task(database.write(leases.renew_owner, "second"))
        done, _ = await asyncio.wait({takeover}, timeout=0.2)  # time enough to take the run
        assert not done
        await writing.commit()
    assert [(one.run_id, one.fence) for one in await takeover] == [(run.run_id, 2)]
    await database.close()
