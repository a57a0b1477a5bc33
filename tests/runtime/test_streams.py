"""Following a run: from any event on, together, late, slowly, and after its log is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.runtime.settings import LogSettings
from tests.harness.credentials import AGENT_SIGNED
from tests.runtime import graphs
from tests.runtime.serving import Served, serve

ASK = {"messages": [{"role": "user", "content": "hi"}]}
Event = tuple[str | None, str, Any]


async def collect(stream: Any) -> list[Event]:
    """Ids, names and data of a stream."""
    return [(part.id, part.event, part.data) async for part in stream]


async def long_run(served: Served) -> tuple[str, str, list[Event]]:
    """A finished resumable run of 200 tokens: thread, run, all its events."""
    thread = (await served.client.threads.create())["thread_id"]
    stream = served.client.runs.stream(
        thread, "long", input=ASK, stream_mode="messages-tuple", stream_resumable=True
    )
    events = await collect(stream)
    return thread, events[0][2]["run_id"], events


async def test_joining_after_each_event_gives_exactly_the_rest(served: Served) -> None:
    thread, run, events = await long_run(served)
    assert sum(event[1] == "messages" for event in events) >= 200
    for position, (event_id, _, _) in enumerate(events):
        rest = await collect(served.client.runs.join_stream(thread, run, last_event_id=event_id))
        assert rest == events[position + 1 :]


@pytest.mark.parametrize("start", ["-1", "0"])
async def test_joining_from_the_start_replays_everything(served: Served, start: str) -> None:
    thread, run, events = await long_run(served)
    assert await collect(served.client.runs.join_stream(thread, run, last_event_id=start)) == events


async def test_joining_a_finished_run_without_an_id_gives_only_its_end(served: Served) -> None:
    thread, run, _ = await long_run(served)
    rest = await collect(served.client.runs.join_stream(thread, run))
    assert rest == [(None, "end", {"run_id": run, "status": "success"})]


@pytest.mark.parametrize("unknown", ["1-99999", "7-1", "nonsense", "1700000000000-0"])
async def test_an_unknown_id_is_a_gap(served: Served, unknown: str) -> None:
    thread, run, _ = await long_run(served)
    rest = await collect(served.client.runs.join_stream(thread, run, last_event_id=unknown))
    facts = {"run_id": run, "status": "success"}
    assert rest == [(None, "gap", facts), (None, "end", facts)]


async def test_an_unknown_id_of_a_live_run_is_a_gap_and_then_what_comes(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    run = await served.client.runs.create(
        thread, "gated", input={"ask": "x"}, stream_mode="updates", stream_resumable=True
    )
    async for part in served.client.runs.join_stream(thread, run["run_id"], last_event_id="-1"):
        if part.event == "updates":
            break
    stream = served.client.runs.join_stream(thread, run["run_id"], last_event_id="9-9")
    first = await anext(stream)
    assert (first.event, first.data) == ("gap", {"run_id": run["run_id"], "status": "running"})
    graphs.gate("x").set()
    assert [event[1] for event in await collect(stream)] == ["updates", "end"]


async def test_joining_modes_filters_events(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    modes: Any = ["messages-tuple", "updates", "values"]
    events = await collect(
        served.client.runs.stream(thread, "long", input=ASK, stream_mode=modes, stream_resumable=True)
    )
    run = events[0][2]["run_id"]
    for wanted, names in (("updates", {"updates"}), (["values", "messages-tuple"], {"values", "messages"})):
        stream = served.client.runs.join_stream(thread, run, last_event_id="-1", stream_mode=wanted)
        assert {event[1] for event in await collect(stream)} == {"metadata", "end"} | names


async def test_two_clients_see_the_same_from_different_moments(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    run = await served.client.runs.create(
        thread, "slow", input=ASK, stream_mode="messages-tuple", stream_resumable=True
    )

    async def follow(last: str) -> list[Event]:
        return await collect(served.client.runs.join_stream(thread, run["run_id"], last_event_id=last))

    early = asyncio.create_task(follow("-1"))
    stream = served.client.runs.join_stream(thread, run["run_id"], last_event_id="-1")
    async for part in stream:
        if part.id == "1-20":
            break
    late = asyncio.create_task(follow("1-10"))
    async for part in served.client.runs.join_stream(thread, run["run_id"], last_event_id="1-10"):
        if part.id == "1-40":
            break
    await served.client.runs.cancel(thread, run["run_id"], wait=True)
    whole = await early
    assert [event[0] for event in whole] == [f"1-{number}" for number in range(1, len(whole) + 1)]
    assert await late == whole[10:]


async def test_a_slow_reader_loses_nothing_and_holds_up_nobody(tmp_path: Path) -> None:
    settings = {"log": LogSettings(tail_bytes=2_000)}
    async with serve(tmp_path, settings=settings) as served:
        thread = (await served.client.threads.create())["thread_id"]
        run = await served.client.runs.create(
            thread, "long", input=ASK, stream_mode="messages-tuple", stream_resumable=True
        )
        path = f"/threads/{thread}/runs/{run['run_id']}/stream"
        async with served.http.stream("GET", path, headers={"Last-Event-ID": "-1"}) as slow:
            pieces = slow.aiter_raw(64)
            seen = await anext(pieces)
            await served.client.runs.join(thread, run["run_id"])
            seen += b"".join([piece async for piece in pieces])
        ids = [int(line[6:]) for line in seen.splitlines() if line.startswith(b"id: 1-")]
        assert ids == list(range(1, len(ids) + 1))
        assert seen.count(b"event: messages") >= 200


async def test_a_run_without_a_log_shows_only_what_comes(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    run = await served.client.runs.create(thread, "gated", input={"ask": "x"}, stream_mode="updates")
    await graphs.arrived("x").wait()
    stream = served.client.runs.join_stream(thread, run["run_id"])
    joined = asyncio.create_task(collect(stream))
    async with httpx.AsyncClient(base_url=served.url, headers=AGENT_SIGNED) as http:
        path = f"/threads/{thread}/runs/{run['run_id']}/stream"
        async with http.stream("GET", path, headers={"Last-Event-ID": "1-1"}) as second:
            pieces = second.aiter_bytes()
            assert b"event: gap" in await anext(pieces)
            graphs.gate("x").set()
            rest = b"".join([piece async for piece in pieces])
    assert b'"second x"' in rest
    assert [event[1] for event in await joined][-1] == "end"


async def test_finished_logs_are_pruned_by_age(tmp_path: Path) -> None:
    moment = [1_000_000.0]
    settings = {"log": LogSettings(keep_seconds=10, prune_every=0.01)}
    async with serve(tmp_path, settings=settings, clock=lambda: moment[0]) as served:
        thread, run, events = await long_run(served)
        assert await collect(served.client.runs.join_stream(thread, run, last_event_id="-1")) == events
        moment[0] += 11
        while True:
            rest = await collect(served.client.runs.join_stream(thread, run, last_event_id=events[3][0]))
            if rest[0][1] == "gap":
                break
    assert [event[1] for event in rest] == ["gap", "end"]


async def test_finished_logs_are_pruned_by_count(tmp_path: Path) -> None:
    settings = {"log": LogSettings(keep_events=300, prune_every=0.01)}
    async with serve(tmp_path, settings=settings) as served:
        old = await long_run(served)
        new = await long_run(served)
        while True:
            rest = await collect(served.client.runs.join_stream(old[0], old[1], last_event_id="1-3"))
            if rest[0][1] == "gap":
                break
        assert await collect(served.client.runs.join_stream(new[0], new[1], last_event_id="-1")) == new[2]


async def test_an_idempotency_key_makes_one_run(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    headers = {"Idempotency-Key": "turn-1:1"}
    body: Any = {"input": {"ask": "x"}}
    graphs.gate("x").set()
    made = await asyncio.gather(
        *(
            served.client.runs.create(thread, "gated", headers=headers, stream_resumable=True, **body)
            for _ in range(20)
        )
    )
    assert len({run["run_id"] for run in made}) == 1
    assert made[0]["metadata"]["idempotency_key"] == "turn-1:1"
    values = await served.client.runs.wait(thread, "gated", input={"ask": "x"}, headers=headers)
    assert values["log"] == ["first x", "second x"]
    events = await collect(served.client.runs.stream(thread, "gated", input={"ask": "x"}, headers=headers))
    assert events[0][1] == "metadata"
    assert events[-1][1] == "end"
    assert len(await served.client.runs.list(thread)) == 1
    other = (await served.client.threads.create())["thread_id"]
    await served.client.runs.create(other, "gated", input={"ask": "x"}, headers=headers)
    assert len(await served.client.runs.list(other)) == 1


async def test_a_stream_with_a_known_key_joins_the_live_run(served: Served) -> None:
    thread = (await served.client.threads.create())["thread_id"]
    headers = {"Idempotency-Key": "k"}
    options: Any = {
        "input": {"ask": "x"},
        "stream_mode": "updates",
        "stream_resumable": True,
        "headers": headers,
    }
    first = asyncio.create_task(collect(served.client.runs.stream(thread, "gated", **options)))
    await graphs.arrived("x").wait()
    second = served.client.runs.stream(thread, "gated", **options)
    start = await anext(second)
    graphs.gate("x").set()
    assert [start.id] + [event[0] for event in await collect(second)] == [event[0] for event in await first]
