"""A text that broke off leaves the chat when what comes instead of it only calls a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from langchain_core.tools import tool

from agent.factory import create_agent_graph
from agent.models.calls import ModelCalls
from agent.models.retry import ModelRetry
from roebot_testing.agent import Script
from tests.harness.agents import calls, says, scripted
from tests.harness.people import Driver, at_work
from tests.harness.waiters import until
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block

EARLY = "I look into it right now, and what I see there at once is that nothing of it is"
FINAL = "It is all there."


@dataclass
class Gates:
    """Where the agent waits for the test."""

    again: asyncio.Event = field(default_factory=asyncio.Event)
    worked: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
def gates() -> Gates:
    return Gates()


@pytest.fixture
async def agent(tmp_path: Path, gates: Gates) -> AsyncIterator[Served]:
    @tool
    async def look() -> str:
        """Look."""
        await gates.worked.wait()
        return "all of it"

    async def pause(_: float) -> None:
        await gates.again.wait()

    model = scripted(Script(reply=EARLY, fail="overloaded", after=16), calls("look"), says(FINAL))
    around = [ModelRetry(sleep=pause), ModelCalls(model_name="scripted")]
    graph = create_agent_graph(model, [look], middleware=around, name="breaking")
    async with serve(tmp_path / "agent", sources={"breaking": lambda: graph}) as served:
        yield served


def ever(driver: Driver, text: str) -> bool:
    """Whether this was the whole text of a message at any time."""
    return any(text == found.strip("\u2060\u200b \n") for found in driver.versions())


async def test_it_is_gone_while_the_tool_works(
    tmp_path: Path, driver: Driver, agent: Served, gates: Gates
) -> None:
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: breaking, api_key: {agent.token}}}'
    async with at_work(tmp_path, driver, runtime):
        driver.writes("is it there?")
        await until(
            lambda: any("I look into it" in found for found in driver.versions()),
            20.0,
            lambda: f"{driver.versions()}",
        )
        gates.again.set()
        await until(lambda: ever(driver, "…"), 20.0, lambda: f"{driver.versions()}")
        gates.worked.set()
        await until(lambda: driver.texts() == [FINAL], 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.5)
        assert driver.texts() == [FINAL]
