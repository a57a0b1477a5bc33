"""Memory seen from chats: who learns what from where, what `/memory` does, and what a kill costs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from roebot_testing.emulators.telegram import TelegramEmulator
from tests.harness.people import PlatformUser, at_work, on_platform
from tests.harness.service import PERSON, ServiceProcess, config_text
from tests.harness.waiters import answers, until

pytestmark = pytest.mark.may_block

MODEL = """models: [{name: scripted, use: "roebot_testing.agent.remembering:RememberingModel"}]
title: {enabled: false}"""
MINE = "person.telegram.telegram%3a1001.json"


def kept(path: Path) -> list[str]:
    """The facts in a memory's file."""
    if not path.exists():
        return []
    found: dict[str, Any] = json.loads(path.read_text())
    return [fact["content"] for fact in found["facts"]]


async def told(person: PlatformUser, text: str) -> str:
    """What the bot says to this."""
    before = len(person.texts())
    person.writes(text)
    await until(lambda: len(person.texts()) > before, 40.0, lambda: f"{person.texts()}")
    await asyncio.sleep(0.3)
    return person.texts()[-1]


@pytest.mark.long
async def test_a_scheduled_run_teaches_it_nothing(tmp_path: Path) -> None:
    """From the schedule to the memory's file: the text was written once, for every run."""
    config = f"{MODEL}\nmemory: {{debounce_seconds: 0.2}}"
    async with on_platform("telegram") as person, at_work(tmp_path, person, config):

        def files() -> list[str]:
            return sorted(fact for path in tmp_path.rglob(MINE) for fact in kept(path))

        await told(person, "I like tea.")
        await told(person, "/digest weekdays 9:00 I like rain.")
        assert "active" in await told(person, "/digest ok 1")
        before = len(person.texts())
        person.writes("/digest now 1")
        await until(lambda: len(person.texts()) >= before + 2, 40.0, lambda: f"{person.texts()}")
        await told(person, "I have a cat.")
        await until(lambda: "I have a cat." in files(), 20.0, lambda: f"{files()}")
        assert files() == ["I have a cat.", "I like tea."]


@pytest.mark.long
async def test_kill_9_after_the_answer_and_before_the_update(tmp_path: Path) -> None:
    """What was said is remembered after the restart, once."""
    async with TelegramEmulator.serve() as emulator:
        config = config_text(emulator, model=MODEL, extra="memory: {debounce_seconds: 4}")
        service = ServiceProcess(tmp_path / "home", config, is_forked=True)
        mine = tmp_path / "home" / "memory" / MINE
        try:
            service.start()
            await service.ready()
            emulator.people.says("I like tea.", user=PERSON)
            await until(
                lambda: [one.text for one in answers(emulator, PERSON)] == ["I like tea."],
                30.0,
                lambda: service.log(),
            )
            agent = service.agent()
            service.kill()
            if agent is not None and agent.is_running():
                agent.kill()
            assert kept(mine) == [], "the quiet seconds had not passed"
            assert "memory_model_asked" not in service.log()
            service.start()
            await service.ready()
            await until(lambda: kept(mine) == ["I like tea."], 30.0, lambda: service.log())
            await asyncio.sleep(1.0)
            emulator.people.says("/memory", user=PERSON)
            await until(
                lambda: (
                    "I like tea." in answers(emulator, PERSON)[-1].text.replace("\\", "")
                    and len(answers(emulator, PERSON)) == 2
                ),
                30.0,
                lambda: service.log(),
            )
            assert kept(mine) == ["I like tea."]
            assert service.log().count("memory_model_asked") == 1
            assert service.stop() == 0
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill()
