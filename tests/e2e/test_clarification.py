"""The agent asks and the run waits; a click on a native button, or the next message, lets it go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.store.conversations import list_conversations
from roebot_testing.agent.graphs import interrupting
from tests.harness.people import COLOURS, Driver, at_work
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


async def shown(driver: Driver, *texts: str) -> None:
    """Wait until exactly these messages of the bot stand, then see that nothing follows."""
    await until(lambda: driver.texts() == list(texts), 20.0, lambda: f"{driver.texts()}")
    await asyncio.sleep(1.0)
    assert driver.texts() == list(texts)


async def test_a_click_is_the_answer_and_the_run_goes_on(
    tmp_path: Path, driver: Driver, agent: Served
) -> None:
    async with at_work(tmp_path, driver, asking(agent)) as service:
        driver.writes("the car")
        await shown(driver, QUESTION)
        assert driver.buttons() == COLOURS
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


@pytest.mark.fault
async def test_the_next_message_is_the_answer_too(tmp_path: Path, driver: Driver, agent: Served) -> None:
    async with at_work(tmp_path, driver, asking(agent)):
        driver.writes("the car")
        await shown(driver, QUESTION)
        driver.writes("the green one")
        await until(
            lambda: (
                driver.texts()[1:] == ["You chose the green one."] and "✓ Answered by" in driver.texts()[0]
            ),
            20.0,
            lambda: f"{driver.texts()}",
        )
        await asyncio.sleep(1.0)
        assert driver.texts()[0].startswith(f"{QUESTION}\n\n✓ Answered by ")
        assert driver.texts()[1:] == ["You chose the green one."]
        assert driver.buttons() == []


@pytest.mark.fault
async def test_a_click_after_a_restart_of_the_service(tmp_path: Path, driver: Driver, agent: Served) -> None:
    async with at_work(tmp_path, driver, asking(agent)):
        driver.writes("the car")
        await shown(driver, QUESTION)
    async with at_work(tmp_path, driver, asking(agent)):
        driver.presses("red")
        await until(lambda: len(driver.texts()) == 2, 20.0, lambda: f"{driver.texts()}")
        assert driver.texts()[1] == "You chose red."


def chosen(driver: Driver) -> list[str]:
    return [text for text in driver.texts() if text.startswith("You chose ")]


def told(driver: Driver) -> list[str]:
    return [text for text in driver.told() if "This question has already been answered" in text]


@pytest.mark.fault
async def test_a_second_click_does_nothing_and_says_so(tmp_path: Path, driver: Driver, agent: Served) -> None:
    async with at_work(tmp_path, driver, asking(agent)) as service:
        driver.writes("the car")
        await shown(driver, QUESTION)
        driver.presses("red")
        driver.presses("blue")
        await until(
            lambda: len(chosen(driver)) == 1 and len(told(driver)) == 1,
            20.0,
            lambda: f"{driver.texts()} {driver.told()}",
        )
        await asyncio.sleep(1.0)
        assert (len(chosen(driver)), len(told(driver))) == (1, 1)
        assert driver.buttons() == []
        answer = chosen(driver)[0].removeprefix("You chose ").removesuffix(".")
        [vain] = set(COLOURS) - {answer}
        assert vain not in driver.texts()[0]
        [view] = await service.db.transact(list_conversations, driver.entry.partition(":")[0])
        assert len(await agent.client.runs.list(view.thread_id)) == 2
