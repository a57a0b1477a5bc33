"""Text beside a tool call is progress on every platform; the end has the answer alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langchain_core.tools import tool

from agent.factory import create_agent_graph
from agent.models.calls import ModelCalls
from roebot_testing.agent import Script, ToolUse
from tests.harness.agents import says, scripted
from tests.harness.people import Driver, at_work
from tests.harness.waiters import until
from tests.runtime.serving import Served, serve

pytestmark = [pytest.mark.may_block, pytest.mark.long]

QUICK = "Let me check the clock."
SLOW = "I look into every single one of them now."
FINAL = "It is five."
STEP = ToolUse("look", {}, "c1")


@pytest.fixture
def gate() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def agent(tmp_path: Path, gate: asyncio.Event) -> AsyncIterator[Served]:
    @tool
    async def look() -> str:
        """Look."""
        await gate.wait()
        return "all of it"

    @tool
    async def glance() -> str:
        """Look for a moment."""
        return "some of it"

    model = scripted(
        Script(reply=QUICK, tools=(ToolUse("glance", {}, "c0"),)),
        Script(reply=SLOW, every=0.3, tools=(STEP,)),
        says(FINAL),
    )
    graph = create_agent_graph(
        model, [look, glance], middleware=[ModelCalls(model_name="scripted")], name="remarks"
    )
    async with serve(tmp_path / "agent", sources={"remarks": lambda: graph}) as served:
        yield served


async def test_remarks_go_and_the_answer_stays(
    tmp_path: Path, driver: Driver, agent: Served, gate: asyncio.Event
) -> None:
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: remarks, api_key: {agent.token}}}'
    async with at_work(tmp_path, driver, runtime):
        driver.writes("what time is it?")
        await until(
            lambda: any("I look into" in found for found in driver.versions()),
            20.0,
            lambda: f"{driver.versions()}",
        )
        await asyncio.sleep(1.0)
        gate.set()
        await until(lambda: driver.texts() == [FINAL], 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.5)
        assert driver.texts() == [FINAL]
        assert not any(QUICK in found for found in driver.versions())
