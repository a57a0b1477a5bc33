"""kill -9 while a message joins a run: of the whole service at the named steps, of the agent between them.

Each message is covered by one answer: that of the run which took it in, or that of the next turn.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.faults import VARIABLE, Step
from tests.faults.chats import SCALE, connection
from tests.harness.service import ServiceProcess
from tests.harness.sqlite import open_turns, turns
from tests.harness.steering_agent import AGENT, TRACES, Gate
from tests.harness.wires import WIRES, Standing, Wire

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

PLACES = ("telegram", "slack")
ANSWER = " ".join(f"word{number}" for number in range(1, 17))
JOINS = f"[every=0.1] [reply={ANSWER}] second"
PATIENCE = 60.0
SIGN = "added while working:"
# From the offer on the message is in the inbox, or the thread has it.
STEPS = (Step.OFFERED, Step.JOINED, Step.MID_STREAM, Step.FINAL_COMPOSED, Step.RECORDED)


@dataclass
class Stage:
    """One chat, in which somebody writes while the agent works."""

    wire: Wire
    service: ServiceProcess
    gate: Gate
    traces: Path
    place: str = ""

    async def starts(self, **env: str) -> None:
        self.service.start(**{TRACES: str(self.traces)}, **env)
        await self.service.ready()
        await connection(self.wire)

    async def works(self) -> None:
        """The agent is held in its work."""
        self.place = self.wire.asks(self.gate.ask)
        await self.eventually(self.gate.reached)

    def writes(self) -> None:
        self.wire.asks(JOINS)

    def standing(self) -> list[Standing]:
        return self.wire.standing(self.place)

    def shown(self, text: str) -> bool:
        return any(text in seen.text for seen in self.standing())

    async def eventually(self, done: Callable[[], object]) -> None:
        deadline = self.service.deadline(PATIENCE)
        while not done():
            assert not deadline.passed, f"{self.standing()}\n{self.service.log()}"
            await asyncio.sleep(0.02)

    async def settled(self) -> None:
        """Both are answered, and the service has ended: then nothing can follow."""
        await self.eventually(lambda: turns(self.service.home) == 2 and not open_turns(self.service.home))
        assert self.service.stop() == 0


@asynccontextmanager
async def staged(place: str, folder: Path) -> AsyncIterator[Stage]:
    async with WIRES[place].serve(SCALE) as wire:
        config = f"""
config_version: 1
{AGENT}
server: {{port: 0}}
channels: {{{wire.platform}: {{{wire.entry}, busy: steer}}}}
access: {{default: allow}}
"""
        service = ServiceProcess(folder / "home", config)
        try:
            yield Stage(wire, service, Gate(folder / "traces"), folder / "traces")
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill()


def check_joined(stage: Stage) -> None:
    """One answer stands, and it covers both; a post of unknown outcome may stand before it, once."""
    whole = [seen for seen in stage.standing() if ANSWER in seen.text and not seen.open]
    assert whole, stage.standing()
    assert SIGN in whole[-1].text, stage.standing()
    assert len(stage.standing()) <= 1 + stage.wire.repeats, stage.standing()


def check_answered_once(stage: Stage) -> None:
    """The second message was read by one run: joined, or in a turn of its own."""
    parts = [seen for seen in stage.standing() if ANSWER in seen.text and not seen.open]
    assert len(parts) == 1, stage.standing()
    assert len(stage.standing()) == (1 if SIGN in parts[0].text else 2), stage.standing()


def offered(home: Path) -> bool:
    """Whether a message is in an inbox."""
    file = f"{(home / 'agent.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(file, uri=True, timeout=5.0)) as database:
        found = database.execute("SELECT count(*) FROM store WHERE prefix LIKE 'steer.%'").fetchone()
    return bool(found[0])


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("place", PLACES)
async def test_kill_of_the_service_at_each_step(place: str, step: Step, tmp_path: Path) -> None:
    async with staged(place, tmp_path) as stage:
        await stage.starts(**{VARIABLE: step.value})
        await stage.works()
        stage.writes()
        if step is not Step.OFFERED:
            await stage.eventually(lambda: offered(stage.service.home))
            stage.gate.open()
        assert await stage.service.died(PATIENCE) == -9, stage.service.log()
        stage.gate.open()
        await stage.starts()
        await stage.settled()
        check_joined(stage)


@pytest.mark.parametrize("step", [Step.RECEIVED, Step.STORED, Step.ACKNOWLEDGED])
@pytest.mark.parametrize("place", PLACES)
async def test_kill_of_the_service_before_it_is_offered(place: str, step: Step, tmp_path: Path) -> None:
    async with staged(place, tmp_path) as stage:
        await stage.starts(**{VARIABLE: f"{step.value}:2"})
        await stage.works()
        stage.writes()
        assert await stage.service.died(PATIENCE) == -9, stage.service.log()
        stage.gate.open()
        await stage.starts()
        await stage.settled()
        check_answered_once(stage)


@pytest.mark.parametrize("place", PLACES)
async def test_kill_of_the_agent_between_offer_and_taking_in(place: str, tmp_path: Path) -> None:
    async with staged(place, tmp_path) as stage:
        await stage.starts()
        await stage.works()
        stage.writes()
        await stage.eventually(lambda: offered(stage.service.home))
        kill_agent(stage)
        await stage.settled()
        check_joined(stage)


@pytest.mark.parametrize("place", PLACES)
async def test_kill_of_the_agent_after_it_took_the_message_in(place: str, tmp_path: Path) -> None:
    async with staged(place, tmp_path) as stage:
        await stage.starts()
        await stage.works()
        stage.writes()
        await stage.eventually(lambda: offered(stage.service.home))
        stage.gate.open()
        await stage.eventually(lambda: stage.shown(SIGN))
        kill_agent(stage)
        await stage.settled()
        check_joined(stage)


def kill_agent(stage: Stage) -> None:
    agent = stage.service.agent()
    assert agent is not None
    agent.kill()
