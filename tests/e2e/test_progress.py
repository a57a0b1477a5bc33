"""The agent works before it answers: people see on what, and in the end only the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.testing.graphs_working import ANSWER, SUBAGENT, working
from bot.dispatch import frames
from tests.harness.judge import until
from tests.harness.people import PLATFORMS, Driver, at_work, on_platform
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block


@pytest.fixture(params=list(PLATFORMS))
async def driver(request: pytest.FixtureRequest) -> AsyncIterator[Driver]:
    async with on_platform(request.param) as person:
        yield person


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Served]:
    async with serve(tmp_path / "agent", sources={"working": lambda: working}) as served:
        yield served


async def test_the_work_is_listed_while_it_lasts(
    tmp_path: Path, driver: Driver, agent: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "PROGRESS_AFTER", 0.5)
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: working}}'
    async with at_work(tmp_path, driver, runtime):
        driver.writes("[pace=1.5] what happened?")
        await until(lambda: driver.texts() == [ANSWER], 30.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.5)
        assert driver.texts() == [ANSWER]
    listed = driver.versions()
    assert any("Ask a colleague" in found for found in listed)
    assert any(SUBAGENT in found.replace("\\", "") for found in listed)
    assert any("✓ Read the *figures*" in found.replace("\\", "") for found in listed)
