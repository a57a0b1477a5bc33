"""What is written while the agent works joins that work: one run reads both, one answer covers both."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent.shared.envelope import without_envelopes
from bot.app.service import BotService
from bot.runtime.client import LangGraphRuntime
from bot.store.conversations import list_conversations
from tests.harness.people import Driver, at_work
from tests.harness.steering_agent import AGENT, TRACES, Gate
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block

QUEUED = "I wait for nobody"


def steered(driver: Driver) -> Driver:
    """The account with `busy: steer`."""
    driver.entry = f"{driver.entry.removesuffix('}')}, busy: steer}}"
    return driver


def client_of(service: BotService) -> Any:
    assert isinstance(service.runtime, LangGraphRuntime)
    return service.runtime._client


async def offers(service: BotService) -> int:
    """How many messages are in inboxes."""
    return len((await client_of(service).store.search_items(("steer",)))["items"])


async def eventually(service: BotService, count: int) -> None:
    """Wait until so many are."""
    async with asyncio.timeout(20):
        while await offers(service) != count:
            await asyncio.sleep(0.02)


async def humans(service: BotService, account: str) -> list[str]:
    """What the agent was told in the latest conversation."""
    view = (await service.db.transact(list_conversations, account))[0]
    state = await client_of(service).threads.get_state(view.thread_id)
    return [
        without_envelopes(message["content"])
        for message in state["values"]["messages"]
        if message["type"] == "human"
    ]


async def test_it_is_taken_in_after_the_tool_and_answered_once(
    tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACES, str(tmp_path / "traces"))
    gate = Gate(tmp_path / "traces")
    account = driver.entry.partition(":")[0]
    async with at_work(tmp_path, steered(driver), AGENT) as service:
        driver.writes(gate.ask)
        await until(gate.reached, 90.0, lambda: "the tool does not run")
        driver.writes("also this")
        await eventually(service, 1)
        gate.open()
        # Until then the message shows the progress ("✓ gate"), on a slow machine for seconds.
        await until(
            lambda: "".join(driver.texts()).count("also this") == 2, 60.0, lambda: f"{driver.texts()}"
        )
        await asyncio.sleep(1.0)
        [answer] = driver.texts()
        assert answer.count("also this") == 2, "the line that says it joined, and the echo"
        assert "added while working:" in answer
        assert await humans(service, account) == [gate.ask, "also this"]
        [view] = await service.db.transact(list_conversations, account)
        assert len(await client_of(service).runs.list(view.thread_id)) == 1
        assert await offers(service) == 0
        driver.writes("and now?")
        await until(lambda: len(driver.texts()) == 2, 60.0, lambda: f"{driver.texts()}")
        assert driver.texts()[1] == "and now?"


async def test_what_comes_too_late_is_answered_next(
    tmp_path: Path, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TRACES, str(tmp_path / "traces"))
    account = driver.entry.partition(":")[0]
    async with at_work(tmp_path, steered(driver), AGENT) as service:
        driver.writes("[tokens=30] [every=0.1] last words")
        await until(lambda: "word2" in "".join(driver.versions()), 60.0, lambda: f"{driver.versions()}")
        driver.writes(QUEUED)
        await until(lambda: len(driver.texts()) == 2, 60.0, lambda: f"{driver.texts()}")
        await asyncio.sleep(0.5)
        assert driver.texts()[1] == QUEUED
        assert "added while working" not in driver.texts()[0]
        assert (await humans(service, account))[1:] == [QUEUED]
