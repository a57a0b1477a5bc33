"""kill -9 around a call of the agent to the service, whose answer starts the turn's second run.

Nothing of the first run is lost: its file, its steps, its tokens, and a message that joined it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from bot.faults import VARIABLE, Step
from tests.faults.chats import SCALE, connection
from tests.harness.reading_agent import AGENT, ANSWER, STEPS, TOKENS
from tests.harness.service import ServiceProcess
from tests.harness.sqlite import open_turns, turns
from tests.harness.steering_agent import TRACES, Gate
from tests.harness.wires import TelegramWire
from tests.harness.wires.base import Standing

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

PATIENCE = 60.0
SIGN = "added while working:"
# A turn passes the creation of a run twice.
POINTS = (
    Step.SERVICE_ANSWERED.value,
    f"{Step.RUN_CREATED.value}:2",
    Step.FINAL_COMPOSED.value,
    Step.RECORDED.value,
)


@dataclass
class Stage:
    """A group in which somebody asks, and adds something while the agent works."""

    wire: TelegramWire
    service: ServiceProcess
    gate: Gate
    traces: Path
    group: str

    async def starts(self, **env: str) -> None:
        self.service.start(**{TRACES: str(self.traces)}, **env)
        await self.service.ready()
        await connection(self.wire)

    async def works(self) -> None:
        """The agent has shown its file and is held."""
        self.wire.asks("how are sales?", group=self.group)
        await self.eventually(self.gate.reached)

    async def adds(self) -> None:
        """A message waits in the run's inbox."""
        self.wire.asks("and what did they say?", group=self.group)
        await self.eventually(lambda: rows(self.service.home / "agent.db", INBOX) == [(1,)])

    def standing(self) -> list[Standing]:
        return self.wire.standing(self.group)

    async def eventually(self, done: Callable[[], object]) -> None:
        deadline = self.service.deadline(PATIENCE)
        while not done():
            assert not deadline.passed, f"{self.standing()}\n{self.service.log()}"
            await asyncio.sleep(0.02)

    async def settled(self, count: int) -> None:
        """All turns are closed, and the service has ended: then nothing can follow."""
        home = self.service.home
        await self.eventually(lambda: turns(home) == count and not open_turns(home))
        assert self.service.stop() == 0


INBOX = "SELECT count(*) FROM store WHERE prefix LIKE 'steer.%'"
KEYS = "SELECT idempotency_key, status FROM runs ORDER BY idempotency_key"
KEPT = "SELECT steps, total_tokens FROM turns ORDER BY id LIMIT 1"


def rows(file: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=5.0)) as database:
        return database.execute(query).fetchall()


@asynccontextmanager
async def staged(folder: Path) -> AsyncIterator[Stage]:
    async with TelegramWire.serve(SCALE) as wire:
        config = f"""
config_version: 1
{AGENT}
server: {{port: 0}}
channels: {{telegram: {{{wire.entry}, busy: steer, isolation: chat}}}}
access: {{default: allow}}
"""
        service = ServiceProcess(folder / "home", config)
        try:
            yield Stage(wire, service, Gate(folder / "traces"), folder / "traces", wire.group())
        finally:
            if service.process is not None and service.process.poll() is None:
                service.kill()


def check_whole(stage: Stage, *, joined: bool) -> None:
    """One answer stands with its file; the turn knows all that its runs did."""
    home, standing = stage.service.home, stage.standing()
    whole = [seen for seen in standing if ANSWER in seen.text]
    assert whole, standing
    assert (SIGN in whole[-1].text) is joined, standing
    assert [seen.text for seen in standing if seen.file][-1:] == ["report.md"], standing
    # Telegram offers no way to find a post of unknown outcome.
    assert len(standing) <= 2 + stage.wire.repeats, standing
    [(steps, tokens)] = rows(home / "bot.db", KEPT)
    assert [one[0] for one in orjson.loads(str(steps))] == list(STEPS)
    assert tokens == TOKENS
    assert [row[0] for row in rows(home / "agent.db", KEYS)] == ["1:1", "1:2"]


@pytest.mark.parametrize("point", POINTS)
async def test_kill_of_the_service_around_the_call(point: str, tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.starts(**{VARIABLE: point})
        await stage.works()
        await stage.adds()
        stage.gate.open()
        assert await stage.service.died(PATIENCE) == -9, stage.service.log()
        await stage.starts()
        await stage.settled(2)
        check_whole(stage, joined=True)


async def test_kill_of_the_service_in_the_second_run(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.starts()
        await stage.works()
        await stage.adds()
        stage.gate.open()
        await stage.eventually(lambda: any("word2" in seen.text for seen in stage.standing()))
        stage.service.kill()
        await stage.starts()
        await stage.settled(2)
        check_whole(stage, joined=True)


async def test_kill_of_the_agent_after_it_has_shown_a_file(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage:
        await stage.starts()
        await stage.works()
        agent = stage.service.agent()
        assert agent is not None
        agent.kill()
        stage.gate.open()
        await stage.settled(1)
        standing = stage.standing()
        assert [seen.text for seen in standing if seen.file] == ["report.md"], standing
        assert [ANSWER in seen.text for seen in standing if not seen.file] == [True], standing


@pytest.mark.parametrize("point", POINTS[:2])
async def test_a_stop_before_a_crash_holds_for_the_second_run(point: str, tmp_path: Path) -> None:
    """The stop is stored while the service is down, as if it had died right after it stored it."""
    async with staged(tmp_path) as stage:
        await stage.starts(**{VARIABLE: point})
        await stage.works()
        stage.gate.open()
        assert await stage.service.died(PATIENCE) == -9, stage.service.log()
        with closing(sqlite3.connect(stage.service.home / "bot.db")) as database, database:
            database.execute("UPDATE turns SET stopped = 1")
        await stage.starts()
        await stage.settled(1)
        assert not any(ANSWER in seen.text for seen in stage.standing()), stage.standing()
        states = dict(rows(stage.service.home / "agent.db", KEYS))
        assert states.get("1:2", "interrupted") == "interrupted"
