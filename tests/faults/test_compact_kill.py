"""kill -9 of bot and agent in the middle of a summary on request: it is made once and reported once."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.harness.people import PlatformUser
from tests.harness.service import ServiceProcess, config_text
from tests.harness.sqlite import open_turns, turns
from tests.harness.wires import TelegramWire

pytestmark = [pytest.mark.fault, pytest.mark.may_block]
PATIENCE = 40.0
MODEL = """models:
  - {name: scripted, use: "roebot_testing.agent.model:ScriptedChatModel"}
  - {name: writer, use: "roebot_testing.agent.model:ScriptedChatModel", script: {reply: Suppliers., delay: 2}}
summarization: {model_name: writer}
memory: {enabled: false}"""
SAID = "[reply=Noted.] The invoice of supplier {number} came by post. " + "It was long. " * 40
RUNS = "SELECT status FROM runs WHERE idempotency_key LIKE '%:compact'"


@pytest.fixture
def services() -> Iterator[list[ServiceProcess]]:
    started: list[ServiceProcess] = []
    yield started
    for service in started:
        if service.process is not None and service.process.poll() is None:
            service.kill()


def summaries(service: ServiceProcess) -> list[str]:
    """The states of the runs that summarize."""
    file = service.home / "agent.db"
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5.0)) as database:
        return [str(row[0]) for row in database.execute(RUNS).fetchall()]


async def until(done: object, service: ServiceProcess) -> None:
    deadline = service.deadline(PATIENCE)
    while not done():  # type: ignore[operator]
        assert not deadline.passed, service.log()
        await asyncio.sleep(0.05)


async def test_killed_in_the_middle_of_a_summary(tmp_path: Path, services: list[ServiceProcess]) -> None:
    async with TelegramWire.serve() as wire:
        person = PlatformUser(wire)
        service = ServiceProcess(tmp_path / "home", config_text(wire.emulator, model=MODEL))
        services.append(service)
        service.start()
        await service.ready()
        for number in range(6):
            person.writes(SAID.format(number=number))
            await until(lambda number=number: len(person.texts()) == number + 1, service)
        person.writes("/compact keep the suppliers")
        await until(lambda: summaries(service) == ["running"], service)
        await asyncio.sleep(0.5)
        agent = service.agent()
        assert agent is not None
        agent.kill()
        service.kill()
        assert len(person.texts()) == 6
        service.start()
        await service.ready()
        await until(lambda: turns(service.home) == 7 and open_turns(service.home) == 0, service)
        assert summaries(service) == ["success"]
        assert [text.startswith("I summarized") for text in person.texts()] == [False] * 6 + [True]
        person.writes("[reply=Still here.] And now?")
        await until(lambda: person.texts()[-1].startswith("Still here"), service)
        assert service.stop() == 0
