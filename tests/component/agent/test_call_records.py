"""Metrics of model calls and tool calls, through a compiled agent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.exceptions import ModelRateLimitError
from langchain_core.tools import tool
from langgraph.types import interrupt

from agent.core.run_meter import Price, RunLimits
from agent.middleware.run_limits import RunLimitsMiddleware
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from agent.models.resolve import set_model_name
from agent.shared.metrics import REGISTRY
from roebot_testing.agent import Script
from tests.harness.agents import LoopTurns, calls, chain, say, says, scripted


@tool
async def look(word: str) -> str:
    """Look a word up."""
    if word == "bad":
        raise ValueError("no such word")
    return word


@tool
async def ask() -> str:
    """Ask a person."""
    return str(interrupt("really?"))


class Added:
    """What metrics have counted since this was made."""

    def __init__(self) -> None:
        self._before = self._read()

    def _read(self) -> Mapping[tuple[Any, ...], float]:
        return {
            (sample.name, *sorted(sample.labels.values())): sample.value
            for family in REGISTRY.collect()
            for sample in family.samples
            if sample.name.startswith(("roebot_model", "roebot_tool")) and "le" not in sample.labels
        }

    def counts(self, name: str) -> dict[tuple[str, ...], float]:
        """The series of a metric that grew, by their labels' values."""
        changes = {key: value - self._before.get(key, 0) for key, value in self._read().items()}
        return {key[1:]: round(value, 9) for key, value in changes.items() if key[0] == name and value}


def agent(*steps: Script, name: str, **fields: Any) -> Any:
    model = scripted(*steps, **fields)
    set_model_name(model, name)
    price = Price(input=10.0, output=100.0)
    outer = RunLimitsMiddleware(limits=RunLimits(prices={name: price}, currency="EUR"))
    return chain(model, outer, ToolErrorHandlingMiddleware(), tools=[look, ask])


async def test_tokens_and_cost_are_counted_by_model() -> None:
    added = Added()
    await say(agent(says("hello", usage=(100, 20)), name="priced"), "go")
    assert added.counts("roebot_model_call_seconds_count") == {("ok", "priced"): 1}
    tokens = added.counts("roebot_model_tokens_total")
    assert tokens == {("input", "priced"): 100, ("output", "priced"): 20}
    cost = (100 * 10.0 + 20 * 100.0) / 1_000_000
    assert added.counts("roebot_model_cost_total") == {("EUR", "priced"): round(cost, 9)}


async def test_failed_calls_are_counted_by_their_error() -> None:
    added = Added()
    with pytest.raises(ModelRateLimitError):
        await say(agent(Script(fail="rate_limit"), name="failing"), "go")
    assert added.counts("roebot_model_call_seconds_count") == {("ModelRateLimitError", "failing"): 1}


async def test_a_call_that_is_cancelled_is_counted() -> None:
    added = Added()
    never = agent(says("late", delay=1.0), name="slow", sleep=LoopTurns(0))
    task = asyncio.create_task(say(never, "go"))
    for _ in range(200):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert added.counts("roebot_model_call_seconds_count") == {("cancelled", "slow"): 1}


async def test_tool_calls_are_counted_by_outcome() -> None:
    added = Added()
    steps = (calls("look", word="a"), calls("look", word="bad"), calls("unheard_of"), calls("ask"))
    await say(agent(*steps, name="tools"), "go")
    assert added.counts("roebot_tool_call_seconds_count") == {
        ("look", "ok"): 1,
        ("error", "look"): 1,
        ("error", "unknown"): 1,
        ("ask", "interrupted"): 1,
    }
