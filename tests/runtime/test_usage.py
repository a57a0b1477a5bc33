"""Tokens of each run and thread, in their metadata."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.types import interrupt

from agent.factory import create_agent_graph
from agent.features import RuntimeFeatures
from roebot_testing.agent import Script, ScriptedChatModel, ToolUse
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block
THREAD = "0b1f9c3e-0000-4000-8000-000000000003"


@tool
async def careful() -> str:
    """Ask first."""
    return str(interrupt("really?"))


def counting() -> Any:
    """Each call of its model costs 10 tokens in and 2 out; `[tool=careful]` asks in between."""
    return create_agent_graph(
        ScriptedChatModel(script=Script(usage=(10, 2)), environ={}),
        [careful],
        features=RuntimeFeatures(sandbox=False),
    )


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    built = counting()
    failing = create_agent_graph(
        ScriptedChatModel(
            steps=(Script(tools=(ToolUse("unknown"),), usage=(10, 2)), Script(fail="overloaded")), environ={}
        ),
        features=RuntimeFeatures(sandbox=False),
    )
    async with serve(tmp_path, sources={"counting": lambda: built, "failing": lambda: failing}) as server:
        yield server


def tokens(calls: int) -> dict[str, int]:
    counts = {"input_tokens": 10 * calls, "output_tokens": 2 * calls, "total_tokens": 12 * calls}
    return {**counts, "cached_tokens": 0}


async def run(served: Served, text: str = "", graph: str = "counting", **more: Any) -> Any:
    """The metadata of a run that was waited for."""
    if text:
        more["input"] = {"messages": [{"role": "user", "content": text}]}
    made = await served.client.runs.create(
        THREAD, graph, if_not_exists="create", metadata={"mine": "kept"}, **more
    )
    await served.client.runs.join(THREAD, made["run_id"])
    return (await served.client.runs.get(THREAD, made["run_id"]))["metadata"]


async def total(served: Served) -> Any:
    return (await served.client.threads.get(THREAD))["metadata"].get("usage")


async def test_each_run_says_what_it_cost_and_the_thread_what_all_did(served: Served) -> None:
    first = await run(served, "hello")
    assert first["usage"] == tokens(1)
    assert first["mine"] == "kept"
    assert (await run(served, "again"))["usage"] == tokens(1)
    assert await total(served) == tokens(2)
    listed = await served.client.runs.list(THREAD)
    assert [one["metadata"]["usage"] for one in listed] == [tokens(1), tokens(1)]


async def test_a_question_in_between_splits_the_cost(served: Served) -> None:
    assert (await run(served, "[tool=careful]"))["usage"] == tokens(1)
    assert (await run(served, command={"resume": "yes"}))["usage"] == tokens(1)
    assert await total(served) == tokens(2)


async def test_an_answer_that_is_asked_for_again_cost_twice(served: Served) -> None:
    await run(served, "hello")
    history = await served.client.threads.get_history(THREAD)
    before = history[-1]["checkpoint"]["checkpoint_id"]
    assert (await run(served, "hello", checkpoint_id=before))["usage"] == tokens(1)
    state = await served.client.threads.get_state(THREAD)
    assert state["values"]["usage"] == tokens(1)
    assert await total(served) == tokens(2)


async def test_what_fails_cost_something_too(served: Served) -> None:
    assert (await run(served, "hello", "failing"))["usage"] == tokens(1)
    assert await total(served) == tokens(1)


async def test_a_run_cancelled_before_its_start_costs_nothing(served: Served) -> None:
    await run(served, "hello")
    text = {"messages": [{"role": "user", "content": "later"}]}
    made = await served.client.runs.create(THREAD, "counting", input=text, after_seconds=60)
    await served.client.runs.cancel(THREAD, made["run_id"], wait=True)
    assert "usage" not in (await served.client.runs.get(THREAD, made["run_id"]))["metadata"]
    assert await total(served) == tokens(1)


async def test_a_graph_that_counts_nothing_says_nothing(tmp_path: Path) -> None:
    async with serve(tmp_path) as server:
        assert "usage" not in await run(server, "hello", "chat")
        assert await total(server) is None
