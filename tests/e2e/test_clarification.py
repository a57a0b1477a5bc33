"""The agent asks and the run waits; a click on a native button, or the next message, lets it go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store.conversations import list_conversations
from roebot_testing.agent.graphs import interrupting
from tests.harness.people import PlatformUser, at_work
from tests.harness.waiters import until
from tests.runtime.serving import Served, serve

pytestmark = pytest.mark.may_block

QUESTION = "Which one do you mean: the car?"


def asking(agent: Served) -> str:
    """The agent that asks."""
    return f'runtime: {{url: "{agent.url}", assistant_id: asking, api_key: {agent.token}}}'


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Served]:
    async with serve(tmp_path / "agent", sources={"asking": lambda: interrupting}) as served:
        yield served


async def shown(driver: PlatformUser, *texts: str) -> None:
    """Wait until exactly these messages of the bot stand, then see that nothing follows."""
    await until(lambda: driver.texts() == list(texts), 20.0, lambda: f"{driver.texts()}")
    await asyncio.sleep(1.0)
    assert driver.texts() == list(texts)


async def test_a_click_is_the_answer_and_the_run_goes_on(
    tmp_path: Path, driver: PlatformUser, agent: Served
) -> None:
    async with at_work(tmp_path, driver, asking(agent)) as service:
        driver.writes("the car")
        await shown(driver, QUESTION)
        assert driver.buttons() == ["red", "blue"]
        driver.presses("blue")
        await until(lambda: len(driver.texts()) == 2, 20.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(1.0)
        assert driver.texts()[1:] == ["You chose blue."]
        assert driver.texts()[0].startswith(QUESTION)
        assert driver.buttons() == []
        [view] = await service.db.transact(list_conversations, driver.entry.partition(":")[0])
        state = await agent.client.threads.get_state(view.thread_id)
        assert state["next"] == []
        humans = [message for message in state["values"]["messages"] if message["type"] == "human"]
        assert len(humans) == 1
