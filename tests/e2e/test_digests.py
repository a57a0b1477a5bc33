"""What is scheduled in a chat comes to that chat, through the real SDKs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.app.service import BotService
from bot.features.schedules.run_history import list_scheduled_runs
from roebot_testing.agent.graphs import echo
from tests.harness.people import Driver, at_work
from tests.harness.waiters import until
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Served]:
    async with serve(tmp_path / "agent", sources={"echo": lambda: echo}) as served:
        yield served


async def told(driver: Driver, text: str, begins: str) -> str:
    """What the bot says to that, once it begins so."""

    def found() -> list[str]:
        return [one for one in driver.texts() if re.search(begins, one)]

    before = len(found())
    driver.writes(text)
    await until(lambda: len(found()) > before, 20.0, lambda: f"{driver.texts()}")
    return found()[-1]


async def settled(service: BotService, number: int) -> None:
    """Wait until the only run of a schedule is delivered, which is stored after people see its message."""
    [firing] = await service.db.transact(list_scheduled_runs, number)
    async with asyncio.timeout(20.0):
        while firing.problem == "delivering":
            [firing] = await service.db.transact(list_scheduled_runs, number)
    assert (firing.delivered, firing.problem) == (True, "")


async def test_a_schedule_is_made_fired_and_deleted(tmp_path: Path, driver: Driver, agent: Served) -> None:
    runtime = f'runtime: {{url: "{agent.url}", assistant_id: echo, api_key: {agent.token}}}'
    async with at_work(tmp_path, driver, runtime) as service:
        driver.writes("hello")
        await until(lambda: bool(driver.texts()), 20.0, lambda: "no answer")
        drafted = await told(driver, "/digest daily 9:00 say Good morning, team", "I'll post")
        assert drafted.count("09:00 UTC") == 5
        await told(driver, "/digest ok 1", "Schedule 1 is active")
        await told(driver, "/digest now 1", "^Good morning, team$")
        await told(driver, "/digest weekdays 17:00 Asia/Tokyo What is open?", "the agent will answer")
        await told(driver, "/digest ok 2", "Schedule 2 is active")
        answer = await told(driver, "/digest now 2", "(?s)Scheduled run: .*What is open")
        assert "weekdays 17:00" in answer
        for number in (1, 2):
            await settled(service, number)
        shown = await told(driver, "/digest show 2", "Recent runs")
        assert "delivered" in shown
        await told(driver, "/digest delete 1", "Schedule 1 has been deleted")
        assert "Good morning" not in await told(driver, "/digest", "Schedules in this chat")
