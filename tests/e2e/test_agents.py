"""Agents of one's own, chosen in a chat, down to what the provider is asked."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from agent.shared.envelope import without_envelopes
from tests.harness.people import PlatformUser, at_work, on_platform, two_models
from tests.harness.waiters import until

pytestmark = [pytest.mark.may_block, pytest.mark.long]


@pytest.fixture
async def person(tmp_path: Path, llmock: LLMock) -> AsyncIterator[PlatformUser]:
    """Somebody on Telegram, where two agents of one's own and two models are at hand."""
    llmock.tool_mode("off")
    own(tmp_path, "coder", "You write code.", "description: Writes code.\nmodel: second\n")
    own(tmp_path, "poet", "You rhyme.", "")
    config = two_models(llmock.base_url())
    async with on_platform("telegram") as driver, at_work(tmp_path, driver, config):
        yield driver


def own(home: Path, name: str, soul: str, config: str) -> None:
    """An agent of one's own."""
    folder = home / "agents" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SOUL.md").write_text(soul)
    (folder / "config.yaml").write_text(config)


async def told(person: PlatformUser, text: str) -> str:
    """What the bot says to this."""
    before = len(person.texts())
    person.writes(text)
    await until(lambda: len(person.texts()) > before, 40.0, lambda: f"{text}: {person.texts()}")
    await asyncio.sleep(0.3)
    assert len(person.texts()) == before + 1, person.texts()
    return person.texts()[-1].replace("\\", "")


async def chosen(person: PlatformUser, name: str) -> None:
    """Choose an agent, as soon as the runtime is up."""
    said = ""
    while "This conversation will use" not in said:
        said = await told(person, f"/agent {name}")
        assert "This conversation will use" in said or "is not responding" in said


def asked(llmock: LLMock) -> tuple[str, str, list[str]]:
    """The model, the system prompt and what people said, of the newest request."""
    body: Any = llmock.last_request.body
    first, *others = body["messages"]
    return (
        llmock.last_request.model,
        first["content"],
        [without_envelopes(m["content"]) for m in others if m["role"] == "user"],
    )


@pytest.mark.parametrize("earlier", [True, False])
async def test_an_agent_that_is_gone_loses_nothing(
    person: PlatformUser, llmock: LLMock, tmp_path: Path, earlier: bool
) -> None:
    """The message that met no agent is answered by `/retry` once there is one, as the first or a later."""
    before = []
    await chosen(person, "coder")
    if earlier:
        llmock.reply("One.")
        assert await told(person, "hello") == "One."
        before = ["hello"]
    await asyncio.to_thread(shutil.rmtree, tmp_path / "agents" / "coder")
    said = await told(person, "remember 4711")
    assert 'There is no agent named "coder". Available: poet.' in said
    assert "/agent" in said
    assert "/retry" in said
    assert "no longer exists" in await told(person, "/agent")
    assert "This conversation will use" in await told(person, "/agent poet")
    llmock.reply("Kept in heaven, 4711.")
    person.writes("/retry")
    await until(lambda: person.texts()[-1].startswith("Kept"), 40.0, lambda: f"{person.texts()}")
    _, prompt, said_to_it = asked(llmock)
    assert "You rhyme." in prompt
    assert said_to_it == [*before, "remember 4711"]


async def test_an_agent_that_is_broken_says_what_is_wrong(
    person: PlatformUser, llmock: LLMock, tmp_path: Path
) -> None:
    await chosen(person, "poet")
    own(tmp_path, "poet", "You rhyme.", "modle: first\n")
    said = await told(person, "hello")
    assert "agents/poet/config.yaml" in said
    assert "modle" in said
    assert str(tmp_path) not in said
    assert "modle" in await told(person, "/agent")
    assert "modle" in await told(person, "/agent poet")
    own(tmp_path, "poet", "You rhyme.", "")
    llmock.reply("All is well.")
    assert await told(person, "hello?") == "All is well."
    assert "You rhyme." in asked(llmock)[1]
