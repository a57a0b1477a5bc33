"""Plan mode and the choice of a model, by command, down to what the provider is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from bot.dispatch.reply import streaming
from tests.harness.people import PlatformUser, at_work, on_platform, two_models
from tests.harness.waiters import until

pytestmark = pytest.mark.may_block

TODOS = [
    {"content": "Read the figures", "status": "completed"},
    {"content": "Write it up", "status": "in_progress"},
]


@pytest.fixture
async def person(tmp_path: Path, llmock: LLMock) -> AsyncIterator[PlatformUser]:
    """Somebody on Telegram; the agent has two models of the same provider."""
    llmock.tool_mode("off")
    config = two_models(llmock.base_url())
    async with on_platform("telegram") as driver, at_work(tmp_path, driver, config):
        yield driver


async def told(person: PlatformUser, text: str, count: int = 1) -> list[str]:
    """What the bot says to this."""
    before = len(person.texts())
    person.writes(text)
    await until(lambda: len(person.texts()) >= before + count, 40.0, lambda: f"{person.texts()}")
    await asyncio.sleep(0.3)
    return person.texts()[before:]


def offered(llmock: LLMock) -> list[str]:
    """The tools that the provider's model could call."""
    body: Any = llmock.last_request.body
    return [tool["function"]["name"] for tool in body.get("tools", [])]


async def test_plan_mode_gives_the_agent_its_list_and_the_list_is_shown(
    person: PlatformUser, llmock: LLMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "PROGRESS_AFTER", 0.3)
    llmock.reply("Without.")
    assert await told(person, "hello") == ["Without."]
    assert "write_todos" not in offered(llmock)
    [said] = await told(person, "/plan on")
    assert said.startswith("Plan mode")
    [said] = await told(person, "/plan")
    assert said.startswith("Plan mode: on")
    llmock.call_tool("write_todos", {"todos": TODOS}).reply("Sales went up.")
    llmock.slow_first_token(1.5, times=2)
    person.writes("how did we do?")
    await until(lambda: person.texts()[-1] == "Sales went up.", 40.0, lambda: f"{person.texts()}")
    assert "write_todos" in offered(llmock)
    listed = [found.replace("\\", "") for found in person.versions()]
    assert any("✓ Read the figures" in found and "Write it up" in found for found in listed), listed
    [said] = await told(person, "/plan off")
    assert said.startswith("Plan mode")
    llmock.reply("Without again.")
    assert (await told(person, "and now?"))[-1:] == ["Without again."]
    assert "write_todos" not in offered(llmock)
