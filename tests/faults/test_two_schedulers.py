"""Schedulers as processes of their own on one database, one of them killed: every firing has one row and one
turn, and none is missing.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.domain import Part, PartKind, PartState
from bot.features.schedules.run_history import list_runs_between
from bot.features.schedules.schedule_store import add_schedule, list_schedules
from bot.store import Database, open_database
from bot.store.read_models import count_open_turns
from bot.store.turns import PartChange, claim_turn, save_turn
from bot.turn import Turn, TurnState
from tests.contract.store.test_schedules import ONE
from tests.harness.machine import Deadline
from tests.harness.open_turns import list_open_lanes
from tests.harness.scheduling import Moment, up

pytestmark = [pytest.mark.fault, pytest.mark.may_block]

ROOT = Path(__file__).parents[2]
HOUR = 3600.0
# All of them are due each hour, on the hour.
SCHEDULES = 50
PATIENCE = 60.0


@dataclass
class Stage:
    """A database, the schedulers on it, and what they have opened. It says what time it is, and answers."""

    home: Path
    url: str
    db: Database
    hours: int = 0
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    answered: list[Turn] = field(default_factory=list)

    @property
    def now(self) -> float:
        return self.hours * HOUR

    def start(self, name: str, dies: str = "") -> subprocess.Popen[bytes]:
        """One scheduler more; see `tests.harness.scheduling`."""
        arguments = [str(self.home), self.url, name, dies]
        with self._log(name).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.harness.scheduling", *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                bufsize=0,
            )
        self.processes[name] = process
        self._tell(process)
        return process

    async def hours_until(self, so: Callable[[], bool]) -> None:
        """Hours pass until something is so; in each of them everything fires and is answered."""
        deadline = Deadline(PATIENCE)
        while not so():
            assert not deadline.passed, self.logs()
            self.hours += 1
            for process in self.processes.values():
                self._tell(process)
            await self._fired()
            await self._answer()

    async def ready(self) -> None:
        """Wait until each of them looks at the time."""
        deadline = Deadline(PATIENCE)
        while not all(up(self.home, name).exists() for name in self.processes):
            assert not deadline.passed, self.logs()
            await asyncio.sleep(0.01)

    def together(self, *names: str) -> bool:
        """Whether there was an hour in which each of these has opened a turn."""
        by_hour: dict[float, set[str]] = {}
        for turn in self.answered:
            by_hour.setdefault(turn.created_at, set()).add(turn.thread_id.partition("-")[0])
        return any(found >= set(names) for found in by_hour.values())

    def logs(self) -> str:
        """What they printed last."""
        return "\n".join(self._log(name).read_text()[-2000:] for name in self.processes)

    def end(self) -> None:
        """End them all."""
        for process in self.processes.values():
            process.kill()
            process.wait(PATIENCE)
            assert process.stdin is not None
            process.stdin.close()

    def _log(self, name: str) -> Path:
        return self.home / f"{name}.log"

    def _tell(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # the one that was killed
            process.stdin.write(f"{self.now}\n".encode())

    async def _fired(self) -> None:
        deadline = Deadline(PATIENCE)
        while len(await self.db.transact(list_runs_between, self.now, self.now + 1.0, SCHEDULES)) < SCHEDULES:
            assert not deadline.passed, self.logs()
            await asyncio.sleep(0.01)

    async def _answer(self) -> None:
        while open_ := await self.db.transact(list_open_lanes):
            for conversation in open_:
                turn = (await self.db.transact(claim_turn, conversation, self.now)).turn
                assert turn is not None
                text = Part(0, PartKind.TEXT, "done", PartState.FINAL, platform_id=f"m{turn.id}")
                await self.db.transact(save_turn, turn.id, [PartChange(text)], self.now, state=TurnState.DONE)
                self.answered.append(turn)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    database = await open_database(tmp_path, url or None)
    made = Stage(tmp_path, url, database)
    for _ in range(SCHEDULES):
        await made.db.transact(add_schedule, ONE, None, 0.0)
    yield made
    made.end()
    await database.close()


@pytest.mark.parametrize("moment", list(Moment))
async def test_each_firing_is_taken_once_though_one_process_is_killed(stage: Stage, moment: Moment) -> None:
    stage.start("first")
    second = stage.start("second", dies=moment)
    await stage.ready()
    await stage.hours_until(lambda: second.poll() is not None)
    assert second.returncode == -signal.SIGKILL, stage.logs()
    stage.start("third")
    await stage.ready()
    await stage.hours_until(lambda: stage.together("first", "third"))
    await check(stage)


async def check(stage: Stage) -> None:
    """One row and one turn for each schedule and hour, and nothing beside them."""
    schedules = [one.id for one in await stage.db.transact(list_schedules, limit=SCHEDULES + 1)]
    due = [(schedule, hour * HOUR) for hour in range(1, stage.hours + 1) for schedule in sorted(schedules)]
    rows = await stage.db.transact(list_runs_between, 0.0, stage.now + HOUR, 2 * len(due))
    assert sorted((row.due_at, row.schedule) for row in rows) == sorted((at, one) for one, at in due)
    assert not any(row.skipped or row.missed for row in rows)
    events = [message.event_id for turn in stage.answered for message in turn.messages]
    assert sorted(events) == sorted(f"schedule:{schedule}:{at:.0f}:1" for schedule, at in due)
    assert sorted(row.turn for row in rows) == sorted(turn.id for turn in stage.answered)
    assert await stage.db.transact(count_open_turns) == {}
