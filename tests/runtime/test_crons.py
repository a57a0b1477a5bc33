"""Crons: their routes, and the runs that they start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.errors import BadRequestError, NotFoundError, UnprocessableEntityError

from roebot_testing.clock import ManualClock
from tests.runtime import graphs
from tests.runtime.serving import Served, serve

NOW = datetime(2026, 11, 29, 12, 0, 30, tzinfo=UTC)
MINUTE = 60.0
EVERY_MINUTE = "* * * * *"


@pytest.fixture
def clock() -> ManualClock:
    """A clock half a minute after noon."""
    return ManualClock(NOW.timestamp())


@pytest.fixture
async def served(tmp_path: Path, clock: ManualClock) -> AsyncIterator[Served]:
    graphs.gate("x").set()
    async with serve(tmp_path, clock=clock.now, sleep=clock.sleep) as server:
        yield server


async def wait_for_runs(served: Served, clock: ManualClock, thread: str, count: int) -> list[Any]:
    """Move the clock on a minute, and return the thread's runs once there are so many that succeeded."""
    await clock.advance(MINUTE)
    async with asyncio.timeout(20):
        while len(found := await served.client.runs.list(thread, status="success")) < count:
            await clock.advance(0.0)
            await asyncio.sleep(0.02)
    return list(found)


async def test_a_cron_starts_a_run_of_its_thread_each_time(served: Served, clock: ManualClock) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    made: Any = await served.client.crons.create_for_thread(
        thread, "gated", schedule=EVERY_MINUTE, input={"ask": "x"}, metadata={"a": 1}
    )
    assert made["next_run_date"] == (NOW + timedelta(seconds=30)).isoformat(timespec="microseconds")
    assert await served.client.runs.list(thread) == []
    for number in (1, 2):
        runs = await wait_for_runs(served, clock, thread, number)
        assert len(runs) == number
    assert runs[0]["metadata"]["a"] == 1
    assert runs[0]["metadata"]["cron_id"] == made["cron_id"]
    assert len((await served.client.threads.get_state(thread))["values"]["log"]) == 4


async def test_runs_without_a_thread_have_one_each(served: Served, clock: ManualClock) -> None:
    for keep in ("keep", "delete"):
        await served.client.crons.create(
            "gated", schedule=EVERY_MINUTE, input={"ask": "x"}, metadata={"kind": keep}, on_run_completed=keep
        )
    async with asyncio.timeout(20):
        await clock.advance(MINUTE)
        while len(rows := await served.client.threads.search(status="idle")) < 1:
            await asyncio.sleep(0.02)
    assert [row["values"]["log"] for row in rows] == [["first x", "second x"]]


async def test_times_that_passed_while_the_server_was_down_start_one_run(
    tmp_path: Path, clock: ManualClock
) -> None:
    graphs.gate("x").set()
    async with serve(tmp_path, clock=clock.now, sleep=clock.sleep) as served:
        thread = (await served.client.threads.create())["thread_id"]
        await served.client.crons.create_for_thread(
            thread, "gated", schedule=EVERY_MINUTE, input={"ask": "x"}
        )
    clock.set(clock.now() + 10 * MINUTE)
    async with serve(tmp_path, clock=clock.now, sleep=clock.sleep) as served:
        async with asyncio.timeout(20):
            while not (runs := await served.client.runs.list(thread, status="success")):
                await asyncio.sleep(0.02)
        assert len(runs) == 1
        assert len(await wait_for_runs(served, clock, thread, 2)) == 2


async def test_a_disabled_or_ended_cron_starts_nothing(served: Served, clock: ManualClock) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    create = served.client.crons.create_for_thread
    running: Any = await create(thread, "gated", schedule=EVERY_MINUTE, input={"ask": "x"})
    await create(thread, "gated", schedule=EVERY_MINUTE, input={"ask": "x"}, enabled=False)
    await create(thread, "gated", schedule=EVERY_MINUTE, input={"ask": "x"}, end_time=NOW)
    assert len(await wait_for_runs(served, clock, thread, 1)) == 1
    await served.client.crons.update(running["cron_id"], enabled=False)
    await clock.advance(3 * MINUTE)
    assert len(await served.client.runs.list(thread)) == 1
    await served.client.crons.update(running["cron_id"], enabled=True)
    assert len(await wait_for_runs(served, clock, thread, 2)) == 2


async def test_a_cron_without_a_further_time_is_disabled(served: Served, clock: ManualClock) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    last: Any = await served.client.crons.create_for_thread(
        thread, "gated", schedule="1 12 29 11 * 0 2026", input={"ask": "x"}
    )
    other: Any = await served.client.crons.create_for_thread(
        thread, "gated", schedule=EVERY_MINUTE, input={"ask": "x"}
    )
    assert len(await wait_for_runs(served, clock, thread, 2)) == 2
    assert len(await wait_for_runs(served, clock, thread, 3)) == 3
    enabled = {cron["cron_id"]: cron["enabled"] for cron in await served.client.crons.search()}
    assert enabled == {last["cron_id"]: False, other["cron_id"]: True}


async def test_a_cron_is_found_changed_and_deleted(served: Served) -> None:
    client, thread = served.client.crons, (await served.client.threads.create())["thread_id"]
    made: Any = await client.create(
        "gated", schedule="0 9 * * mon", timezone="Asia/Tokyo", metadata={"a": 1}, input={"ask": "x"}
    )
    assert made["next_run_date"] == "2026-11-30T00:00:00.000000+00:00"
    assert made["payload"]["input"] == {"ask": "x"}
    await client.create_for_thread(thread, "chat", schedule="0 8 1 12 *")
    found = await client.search(sort_by="next_run_date", sort_order="asc")
    assert [cron["schedule"] for cron in found] == ["0 9 * * mon", "0 8 1 12 *"]
    assert [cron["cron_id"] for cron in await client.search(metadata={"a": 1})] == [made["cron_id"]]
    assert await client.count(thread_id=thread) == 1
    changed: Any = await client.update(
        made["cron_id"], schedule="30 6 1 1 *", timezone="UTC", metadata={"b": 2}, end_time=NOW
    )
    assert changed["next_run_date"] == "2027-01-01T06:30:00.000000+00:00"
    assert changed["metadata"] == {"a": 1, "b": 2}
    assert changed["end_time"] == NOW.isoformat(timespec="microseconds")
    await client.delete(made["cron_id"])
    with pytest.raises(NotFoundError):
        await client.delete(made["cron_id"])
    await served.client.threads.delete(thread)
    assert await client.count() == 0


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"schedule": "often"}, 422),
        ({"schedule": "0 0 30 2 *"}, 400),
        ({"schedule": "0 " * 500}, 422),
        ({"timezone": "Moon/Base"}, 422),
        ({"timezone": "../../etc/passwd"}, 422),
        ({"timezone": "America"}, 422),
        ({"assistant_id": "nobody"}, 404),
        ({"on_run_completed": "archive"}, 422),
        ({"config": {"recursion_limit": "x"}}, 422),
        ({"config": {"configurable": {"a": 1}}, "context": {"a": 1}}, 400),
        ({"webhook": "http://127.0.0.1/x"}, 422),
    ],
)
async def test_a_wrong_cron_is_refused(served: Served, change: dict[str, Any], status: int) -> None:
    body = {"assistant_id": "chat", "schedule": "@daily", **change}
    answer = await served.http.post("/runs/crons", json=body)
    assert answer.status_code == status, answer.text
    assert await served.client.crons.count() == 0


async def test_a_wrong_change_is_refused(served: Served) -> None:
    made: Any = await served.client.crons.create("chat", schedule="@daily")
    path = f"/runs/crons/{made['cron_id']}"
    for body, status in (({}, 400), ({"schedule": "often"}, 422), ({"enabled": "maybe"}, 422)):
        assert (await served.http.patch(path, json=body)).status_code == status
    assert (await served.http.get(path)).json() == made
    with pytest.raises(UnprocessableEntityError):
        await served.client.crons.search(limit=0)
    with pytest.raises(BadRequestError):
        await served.client.crons.update(made["cron_id"])
    with pytest.raises(NotFoundError):
        await served.client.crons.create_for_thread(made["cron_id"], "chat", schedule="@daily")
