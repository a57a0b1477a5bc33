"""Several runs of one thread, and cancelling."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk.errors import ConflictError, NotFoundError

from tests.runtime import graphs
from tests.runtime.serving import Served, serve


async def start(served: Served, thread: str, name: str, **options: Any) -> str:
    """A run of `gated` that waits for the gate `name`."""
    run = await served.client.runs.create(thread, "gated", input={"ask": name}, **options)
    return run["run_id"]


async def status(served: Served, thread: str, run_id: str) -> str:
    """The run's status."""
    return (await served.client.runs.get(thread, run_id))["status"]


@pytest.fixture
async def thread(served: Served) -> str:
    """An empty thread."""
    return (await served.client.threads.create())["thread_id"]


async def test_enqueue_runs_one_after_the_other_in_order(served: Served, thread: str) -> None:
    first = await start(served, thread, "a")
    others = [await start(served, thread, name) for name in ("b", "c")]
    await graphs.arrived("a").wait()
    assert [await status(served, thread, run) for run in others] == ["pending", "pending"]
    for name in ("c", "b", "a"):
        graphs.gate(name).set()
    await served.client.runs.join(thread, others[-1])
    state = await served.client.threads.get_state(thread)
    assert state["values"]["log"] == [f"{step} {name}" for name in "abc" for step in ("first", "second")]
    assert await status(served, thread, first) == "success"
    assert (await served.client.threads.get(thread))["status"] == "idle"


async def test_a_queued_run_takes_its_thread_when_it_starts(served: Served, thread: str) -> None:
    first = await start(served, thread, "a")
    queued = await served.client.runs.create(thread, "failing", input={"log": []})
    await graphs.arrived("a").wait()
    assert queued["metadata"]["graph_id"] == "failing"
    assert (await served.client.threads.get(thread))["metadata"]["graph_id"] == "gated"
    assert "ask" in (await served.client.threads.get_state(thread))["values"]
    graphs.gate("a").set()
    await served.client.runs.join(thread, first)
    assert "__error__" in await served.client.runs.join(thread, queued["run_id"])
    assert (await served.client.threads.get(thread))["metadata"]["graph_id"] == "failing"


async def test_a_run_inherits_the_metadata_of_its_thread(served: Served) -> None:
    made = await served.client.threads.create(metadata={"of": "thread", "both": 1})
    run = await served.client.runs.create(made["thread_id"], "chat", input={}, metadata={"both": 2})
    assert run["metadata"]["of"] == "thread"
    assert run["metadata"]["both"] == 2
    await served.client.runs.join(made["thread_id"], run["run_id"])
    state = await served.client.threads.get_state(made["thread_id"])
    assert state["metadata"]["of"] == "thread"  # type: ignore[index]


async def test_reject_leaves_the_running_one_alone(served: Served, thread: str) -> None:
    first = await start(served, thread, "a")
    with pytest.raises(ConflictError):
        await start(served, thread, "b", multitask_strategy="reject")
    graphs.gate("a").set()
    await served.client.runs.join(thread, first)
    assert len(await served.client.runs.list(thread)) == 1
    graphs.gate("b").set()
    await served.client.runs.join(thread, await start(served, thread, "b", multitask_strategy="reject"))


async def test_interrupt_keeps_what_the_old_run_did(served: Served, thread: str) -> None:
    first = await start(served, thread, "a")
    queued = await start(served, thread, "q")
    await graphs.arrived("a").wait()
    graphs.gate("b").set()
    second = await start(served, thread, "b", multitask_strategy="interrupt")
    done = await served.client.runs.join(thread, second)
    assert done["log"] == ["first a", "first b", "second b"]
    assert [await status(served, thread, run) for run in (first, queued)] == ["interrupted", "interrupted"]
    assert not graphs.arrived("q").is_set()


async def test_rollback_undoes_the_old_run(served: Served, thread: str) -> None:
    graphs.gate("z").set()
    await served.client.runs.wait(thread, "gated", input={"ask": "z"})
    first = await start(served, thread, "a")
    await graphs.arrived("a").wait()
    graphs.gate("b").set()
    second = await start(served, thread, "b", multitask_strategy="rollback")
    done = await served.client.runs.join(thread, second)
    assert done["log"] == ["first z", "second z", "first b", "second b"]
    with pytest.raises(NotFoundError):
        await served.client.runs.get(thread, first)
    history = await served.client.threads.get_history(thread, limit=100)
    assert first not in {state["metadata"]["run_id"] for state in history}


async def test_rollback_of_an_answer_leaves_the_question_open(served: Served, thread: str) -> None:
    asked = await served.client.runs.wait(thread, "asking_gated", input={"log": [], "ask": "g"})
    answer = await served.client.runs.create(thread, "asking_gated", command={"resume": "one"})
    await graphs.arrived("g").wait()
    await served.client.runs.cancel(thread, answer["run_id"], wait=True, action="rollback")
    state = await served.client.threads.get_state(thread)
    assert [item["id"] for item in state["interrupts"]] == [asked["__interrupt__"][0]["id"]]
    graphs.gate("g").set()
    done = await served.client.runs.wait(thread, "asking_gated", command={"resume": "two"})
    assert done["log"] == ["two", "second g"]


async def test_cancel_ends_a_run_that_waits_for_its_model(served: Served, thread: str) -> None:
    run = await served.client.runs.create(
        thread, "slow", input={"messages": []}, stream_mode="messages-tuple", stream_resumable=True
    )
    stream = served.client.runs.join_stream(thread, run["run_id"], last_event_id="-1")
    assert (await anext(stream)).event == "metadata"
    assert (await anext(stream)).event == "messages"
    result: Any = await served.client.runs.cancel(thread, run["run_id"], wait=True)
    assert result == {}
    assert await status(served, thread, run["run_id"]) == "interrupted"
    assert (await served.client.threads.get(thread))["status"] == "interrupted"
    events = [part async for part in stream]
    assert events[-1].event == "end"
    with pytest.raises(NotFoundError):
        await served.client.runs.cancel(thread, run["run_id"])


async def test_cancel_of_a_queued_run_never_starts_it(served: Served, thread: str) -> None:
    first = await start(served, thread, "a")
    queued = await start(served, thread, "b")
    delayed = await start(served, thread, "c", after_seconds=600)
    await served.client.runs.cancel(thread, queued, wait=True)
    await served.client.runs.cancel(thread, delayed, wait=True)
    graphs.gate("a").set()
    done = await served.client.runs.join(thread, first)
    assert done["log"] == ["first a", "second a"]
    assert [await status(served, thread, run) for run in (queued, delayed)] == ["interrupted", "interrupted"]
    assert not graphs.arrived("b").is_set()


async def test_cancel_with_rollback_forgets_the_run(served: Served, thread: str) -> None:
    run = await start(served, thread, "a")
    await graphs.arrived("a").wait()
    await served.client.runs.cancel(thread, run, wait=True, action="rollback")
    assert await served.client.threads.get_history(thread) == []
    assert await served.client.runs.list(thread) == []
    assert (await served.client.threads.get(thread))["status"] == "idle"


async def test_a_cancelled_run_leaves_its_state_in_the_thread(served: Served, thread: str) -> None:
    run = await start(served, thread, "a")
    await graphs.arrived("a").wait()
    await served.client.runs.cancel(thread, run, wait=True)
    assert (await served.client.threads.get(thread))["values"]["log"] == ["first a"]


async def test_cancel_many(served: Served, thread: str) -> None:
    runs = [await start(served, thread, name) for name in ("a", "b")]
    other = (await served.client.threads.create())["thread_id"]
    third = await start(served, other, "c")
    await served.client.runs.cancel_many(thread_id=thread, run_ids=[runs[1]])
    await served.client.runs.join(thread, runs[1])
    await served.client.runs.cancel_many(status="all")
    for where, run in ((thread, runs[0]), (other, third)):
        await served.client.runs.join(where, run)
        assert await status(served, where, run) == "interrupted"
    with pytest.raises(NotFoundError):
        await served.client.runs.cancel_many(thread_id=thread, run_ids=runs)
    for body in ({}, {"run_ids": runs}, {"thread_id": thread, "run_ids": runs, "status": "all"}):
        assert (await served.http.post("/runs/cancel", json=body)).status_code == 422
    bad = await served.http.post("/runs/cancel", json={"status": "all"}, params={"action": "explode"})
    assert bad.status_code == 422


async def test_deleting_a_running_run_ends_it(served: Served, thread: str) -> None:
    run = await start(served, thread, "a")
    await graphs.arrived("a").wait()
    await served.client.runs.delete(thread, run)
    assert await served.client.runs.list(thread) == []


async def test_the_limit_holds_over_threads_and_nobody_is_passed_over(tmp_path: Path) -> None:
    async with serve(tmp_path, settings={"max_runs": 2}) as served:
        threads = [(await served.client.threads.create())["thread_id"] for _ in range(4)]
        runs = [await start(served, thread, name) for thread, name in zip(threads, "abcd", strict=True)]
        await graphs.arrived("a").wait()
        await graphs.arrived("b").wait()
        assert [await status(served, *pair) for pair in zip(threads[2:], runs[2:], strict=True)] == [
            "pending"
        ] * 2
        graphs.gate("a").set()
        await graphs.arrived("c").wait()
        assert not graphs.arrived("d").is_set()
        for name in "bcd":
            graphs.gate(name).set()
        for thread, run in zip(threads, runs, strict=True):
            await served.client.runs.join(thread, run)


async def test_a_graph_that_ignores_cancelling_does_not_hold_its_run(tmp_path: Path) -> None:
    stubborn = asyncio.Event()
    release = asyncio.Event()

    async def node(state: graphs.Steps) -> graphs.Steps:
        stubborn.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return {"log": ["late"]}

    def make() -> Any:
        from langgraph.graph import START, StateGraph

        graph = StateGraph(graphs.Steps)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        return graph

    sources = {"stubborn": make}
    async with serve(tmp_path, sources=sources, settings={"cancel_grace": 0.05}) as served:
        thread = (await served.client.threads.create())["thread_id"]
        run = await served.client.runs.create(thread, "stubborn", input={"log": []})
        await stubborn.wait()
        await served.client.runs.cancel(thread, run["run_id"], wait=True)
        assert await status(served, thread, run["run_id"]) == "interrupted"
        second = await served.client.runs.create(thread, "stubborn", input={"log": []})
        assert second["status"] == "pending"
        release.set()
        await served.client.runs.join(thread, second["run_id"])
        assert await status(served, thread, second["run_id"]) == "success"


async def test_cancel_by_status_needs_a_run(served: Served) -> None:
    with pytest.raises(NotFoundError):
        await served.client.runs.cancel_many(status="all")
