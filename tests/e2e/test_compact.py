"""`/compact` in the chat of each platform, down to what the provider is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from bot.app.service import BotService
from tests.harness.people import Driver, at_work, two_models
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]
LONG = "The invoice of supplier {number} is {amount} euros. " + "It came by post. " * 120


@pytest.fixture
async def service(tmp_path: Path, driver: Driver, llmock: LLMock) -> AsyncIterator[BotService]:
    """The service with an account on a platform; nothing is said of summaries in its configuration."""
    llmock.tool_mode("off")
    async with at_work(tmp_path, driver, two_models(llmock.base_url())) as made:
        yield made


async def told(driver: Driver, text: str, before: int) -> str:
    """What the bot says to this, after so many answers."""
    driver.writes(text)
    await until(lambda: len(driver.texts()) > before, 40.0, lambda: f"{driver.texts()}")
    await asyncio.sleep(0.3)
    return driver.texts()[-1].replace("\\", "")


def asked(llmock: LLMock) -> list[str]:
    """The texts of the last request."""
    body: Any = llmock.last_request.body
    return [str(one["content"]) for one in body["messages"]]


async def test_the_thread_gets_short_and_the_conversation_goes_on(
    driver: Driver, service: BotService, llmock: LLMock
) -> None:
    assert (await told(driver, "/compact", 0)).startswith("There is nothing to compact")
    for number in range(3):
        llmock.reply("Noted.")
        await told(driver, LONG.format(number=number, amount=number * 7919), number + 1)
    llmock.reply("Invoices of three suppliers.")
    said = await told(driver, "/compact keep the amounts", 4)
    assert said.startswith("I summarized"), said
    assert "earlier messages" in said
    [request] = asked(llmock)
    assert "keep above all: keep the amounts" in request
    assert "7919 euros" in request
    llmock.reply("Three.")
    assert await told(driver, "How many suppliers?", 5) == "Three."
    texts = asked(llmock)
    assert "Invoices of three suppliers." in texts[1]
    assert "The invoice of supplier 0" not in "".join(texts)
    assert sum(map(len, texts[1:])) < 6_000
