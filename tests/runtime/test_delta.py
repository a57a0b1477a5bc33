"""Forks, copies, rollbacks and history of a thread whose messages are kept as differences."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.runtime.serving import Served


def ask(text: str) -> Any:
    """One question."""
    return {"messages": [{"role": "user", "content": text}]}


def texts(values: Any) -> list[str]:
    """The questions in a state."""
    return [message["content"] for message in values["messages"] if message["type"] == "human"]


@pytest.fixture
async def thread(served: Served) -> str:
    """A thread of eight turns, so that a snapshot lies between."""
    thread = (await served.client.threads.create())["thread_id"]
    for number in range(8):
        await served.client.runs.wait(thread, "delta", input=ask(f"q{number}"))
    return thread


async def ends(served: Served, thread: str) -> list[Any]:
    """The states after each turn, oldest first."""
    history = await served.client.threads.get_history(thread, limit=100)
    return [state for state in reversed(history) if not state["next"] and state["values"]["messages"]]


async def test_every_state_of_the_history_is_whole(served: Served, thread: str) -> None:
    found = await ends(served, thread)
    assert [texts(state["values"]) for state in found] == [[f"q{n}" for n in range(k + 1)] for k in range(8)]


@pytest.mark.parametrize("turn", [0, 3, 6])
async def test_a_fork_goes_on_from_its_checkpoint(served: Served, thread: str, turn: int) -> None:
    at = (await ends(served, thread))[turn]["checkpoint"]
    values = await served.client.runs.wait(thread, "delta", input=ask("fork"), checkpoint=at)
    assert texts(values) == [*(f"q{n}" for n in range(turn + 1)), "fork"]
    assert texts((await served.client.threads.get_state(thread))["values"]) == texts(values)
    more = await served.client.runs.wait(thread, "delta", input=ask("more"))
    assert texts(more) == [*texts(values), "more"]


async def test_a_copy_is_whole_and_on_its_own(served: Served, thread: str) -> None:
    copy: Any = (await served.http.post(f"/threads/{thread}/copy")).json()
    values = await served.client.runs.wait(copy["thread_id"], "delta", input=ask("copied"))
    assert texts(values) == [*(f"q{n}" for n in range(8)), "copied"]
    assert len(texts((await served.client.threads.get_state(thread))["values"])) == 8


async def test_pruned_states_leave_the_thread_whole(served: Served, thread: str) -> None:
    whole = [f"q{n}" for n in range(8)]
    length = len(await served.client.threads.get_history(thread, limit=100))
    await served.client.threads.prune([thread], strategy="keep_latest")
    assert texts((await served.client.threads.get_state(thread))["values"]) == whole
    assert len(await served.client.threads.get_history(thread, limit=100)) < length
    assert texts(await served.client.runs.wait(thread, "delta", input=ask("more"))) == [*whole, "more"]


async def test_a_rolled_back_run_leaves_no_message(served: Served, thread: str) -> None:
    run = await served.client.runs.create(
        thread, "slow_delta", input=ask("undone"), stream_mode="messages-tuple", stream_resumable=True
    )
    async for part in served.client.runs.join_stream(thread, run["run_id"], last_event_id="-1"):
        if part.id == "1-5":
            break
    await served.client.runs.cancel(thread, run["run_id"], wait=True, action="rollback")
    state = await served.client.threads.get_state(thread)
    assert texts(state["values"]) == [f"q{n}" for n in range(8)]
    values = await served.client.runs.wait(thread, "delta", input=ask("next"))
    assert texts(values)[-2:] == ["q7", "next"]


@pytest.mark.parametrize("yields", range(0, 60, 4))
async def test_a_rollback_at_any_moment_leaves_it_whole(served: Served, thread: str, yields: int) -> None:
    run = await served.client.runs.create(thread, "delta", input=ask("undone"))
    for _ in range(yields):
        await asyncio.sleep(0)
    await served.http.post(
        f"/threads/{thread}/runs/{run['run_id']}/cancel", params={"wait": "1", "action": "rollback"}
    )
    questions = [f"q{n}" for n in range(8)]
    state = await served.client.threads.get_state(thread)
    assert texts(state["values"]) in (questions, [*questions, "undone"])


async def test_a_state_update_adds_to_the_messages(served: Served, thread: str) -> None:
    await served.client.threads.update_state(thread, ask("by hand"), as_node="call")
    values = await served.client.runs.wait(thread, "delta", input=ask("then"))
    assert texts(values)[-2:] == ["by hand", "then"]
