"""Interrupts: which ones a run returns, and what its thread lists as waiting."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime import graphs
from tests.runtime.serving import Served


async def new_thread(served: Served) -> str:
    """Return the id of a new thread."""
    return (await served.client.threads.create())["thread_id"]


def values_of(interrupts: list[Any]) -> list[Any]:
    """Return the values of interrupts, sorted, since tasks of a step end in any order."""
    return sorted(item["value"] for item in interrupts)


async def waiting(served: Served, thread: str) -> tuple[str, list[Any]]:
    """Return a thread's status and the values of its interrupts, which its state lists as well."""
    row = await served.client.threads.get(thread)
    state = await served.client.threads.get_state(thread)
    found = [item for items in row["interrupts"].values() for item in items]
    assert values_of(found) == values_of(state["interrupts"])
    assert "__interrupt__" not in (row["values"] or {})
    return row["status"], values_of(found)


async def test_both_interrupts_of_a_step_are_returned(served: Served) -> None:
    thread = await new_thread(served)
    result = await served.client.runs.wait(thread, "asking_twice", input={"log": []})
    assert values_of(result["__interrupt__"]) == ["left?", "right?"]
    assert result["log"] == ["work"]
    assert await waiting(served, thread) == ("interrupted", ["left?", "right?"])
    run = (await served.client.runs.list(thread))[0]
    assert await served.client.runs.join(thread, run["run_id"]) == result


async def test_the_last_values_event_has_both_interrupts(served: Served) -> None:
    stream = served.client.runs.stream(await new_thread(served), "asking_twice", input={"log": []})
    values = [part.data async for part in stream if part.event == "values"]
    assert values_of(values[-1]["__interrupt__"]) == ["left?", "right?"]
    assert values[-1]["log"] == ["work"]


async def test_one_of_two_answers_leaves_the_other_waiting(served: Served) -> None:
    thread = await new_thread(served)
    first = await served.client.runs.wait(thread, "asking_twice", input={"log": []})
    left = next(item["id"] for item in first["__interrupt__"] if item["value"] == "left?")
    second = await served.client.runs.wait(thread, "asking_twice", command={"resume": {left: "A"}})
    assert values_of(second["__interrupt__"]) == ["right?"]
    assert await waiting(served, thread) == ("interrupted", ["right?"])
    done = await served.client.runs.wait(thread, "asking_twice", command={"resume": "B"})
    assert sorted(done["log"]) == ["after", "left A", "right B", "work"]
    assert await waiting(served, thread) == ("idle", [])


async def test_one_answer_to_two_questions_fails_and_leaves_both(served: Served) -> None:
    thread = await new_thread(served)
    await served.client.runs.wait(thread, "asking_twice", input={"log": []})
    with pytest.raises(Exception, match="multiple pending interrupts"):
        await served.client.runs.wait(thread, "asking_twice", command={"resume": "A"})
    assert await waiting(served, thread) == ("error", ["left?", "right?"])


async def test_a_failure_leaves_the_question_beside_it(served: Served) -> None:
    thread = await new_thread(served)
    run = await served.client.runs.create(thread, "asking_beside", input={"log": [], "ask": "fail"})
    await graphs.arrived("x").wait()
    graphs.gate("x").set()
    await served.client.runs.join(thread, run["run_id"])
    assert await waiting(served, thread) == ("error", ["which?"])


async def test_an_update_of_a_waiting_thread_keeps_it_interrupted(served: Served) -> None:
    thread = await new_thread(served)
    await served.client.runs.wait(thread, "asking", input={"log": []})
    command = {"update": {"log": ["set"]}, "goto": "after"}
    result = await served.client.runs.wait(thread, "asking", command=command)  # type: ignore[arg-type]
    assert {"set", "after"} <= set(result["log"])
    assert len(result["__interrupt__"]) == 1
    state = await served.client.threads.get_state(thread)
    assert (await served.client.threads.get(thread))["status"] == "interrupted"
    assert [item["id"] for item in state["interrupts"]] == [result["__interrupt__"][0]["id"]]


async def test_an_interrupt_beside_a_longer_branch_is_seen(served: Served) -> None:
    thread = await new_thread(served)
    run = await served.client.runs.create(thread, "asking_beside", input={"log": []})
    await graphs.arrived("x").wait()
    graphs.gate("x").set()
    result = await served.client.runs.join(thread, run["run_id"])
    assert result["log"] == ["slow"]
    assert values_of(result["__interrupt__"]) == ["which?"]
    assert await waiting(served, thread) == ("interrupted", ["which?"])


async def test_a_stateless_run_returns_its_interrupts(served: Served) -> None:
    result = await served.client.runs.wait(None, "asking_twice", input={"log": []})
    assert values_of(result["__interrupt__"]) == ["left?", "right?"]


@pytest.mark.parametrize("answers", [False, True], ids=["new input", "an answer"])
async def test_a_cancelled_run_leaves_its_thread_interrupted(served: Served, answers: bool) -> None:
    thread = await new_thread(served)
    if answers:
        await served.client.runs.wait(thread, "asking_gated", input={"ask": "x"})
    body: Any = {"command": {"resume": "A"}} if answers else {"input": {"ask": "x"}}
    graph = "asking_gated" if answers else "gated"
    run = await served.client.runs.create(thread, graph, **body)
    await graphs.arrived("x").wait()
    await served.client.runs.cancel(thread, run["run_id"], wait=True)
    assert await waiting(served, thread) == ("interrupted", [])
    assert (await served.client.threads.get_state(thread))["next"] == ["second"]


async def test_a_run_cancelled_before_its_start_leaves_the_interrupts(served: Served) -> None:
    thread = await new_thread(served)
    await served.client.runs.wait(thread, "asking", input={"log": []})
    run = await served.client.runs.create(thread, "asking", command={"resume": "A"}, after_seconds=60)
    await served.client.runs.cancel(thread, run["run_id"], wait=True)
    assert await waiting(served, thread) == ("interrupted", [{"question": "which?"}])
    empty = await new_thread(served)
    run = await served.client.runs.create(empty, "asking", input={"log": []}, after_seconds=60)
    await served.client.runs.cancel(empty, run["run_id"], wait=True)
    row = await served.client.threads.get(empty)
    assert (row["status"], row["values"]) == ("idle", None)
