"""A tool waits for a person: what it would do is shown, without the secrets, and their word lets it run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from langchain_core.tools import tool

from agent.factory import create_agent_graph
from agent.guardrails import AllowlistProvider
from agent.middleware.guardrail import GuardrailMiddleware
from agent.models.calls import ModelCalls
from tests.harness.agents import calls, says, scripted
from tests.harness.judge import until
from tests.harness.people import PLATFORMS, Driver, at_work, on_platform
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block

SECRET = "configured-key-0123456789"
deleted: list[str] = []


@tool
async def delete(path: str, header: str) -> str:
    """Delete."""
    deleted.append(path)
    return f"deleted {path}"


def guarded() -> object:
    """An agent that may delete only when somebody says so."""
    model = scripted(calls("delete", path="/tmp/**all**", header=f"k={SECRET}"), says("That is done."))
    guardrail = GuardrailMiddleware(provider=AllowlistProvider(ask=["delete"]))
    return create_agent_graph(
        model, [delete], middleware=[guardrail, ModelCalls(model_name="scripted")], name="guarded"
    )


@pytest.fixture(params=list(PLATFORMS))
async def driver(request: pytest.FixtureRequest) -> AsyncIterator[Driver]:
    async with on_platform(request.param) as person:
        yield person


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Served]:
    deleted.clear()
    graph = guarded()
    async with serve(tmp_path / "agent", sources={"guarded": lambda: graph}) as served:
        yield served


@pytest.mark.parametrize(
    ("answer", "effect"), [("approve", ["/tmp/**all**"]), ("rather not", [])], ids=["yes", "no"]
)
async def test_what_waits_is_shown_and_a_word_decides(
    tmp_path: Path, driver: Driver, agent: Served, answer: str, effect: list[str]
) -> None:
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: guarded, api_key: "{SECRET}"}}'
    async with at_work(tmp_path, driver, runtime):
        driver.writes("clean up")
        await until(lambda: len(driver.texts()) == 1, 20.0, lambda: f"{driver.texts()}")
        [question] = driver.texts()
        assert "delete" in question
        assert "path: /tmp/**all**" in question
        assert "header: k=***" in question
        assert SECRET not in question
        assert "May the agent use delete?" in question
        assert deleted == []
        driver.writes(answer)
        await until(lambda: len(driver.texts()) == 2, 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.5)
        assert driver.texts()[1:] == ["That is done."]
    assert deleted == effect
