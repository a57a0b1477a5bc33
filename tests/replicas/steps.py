"""Every step of a turn and of a run, and what may happen to the replica that has reached it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import psutil

from agent.runtime.faults import VARIABLE as RUN_VARIABLE
from agent.runtime.faults import RunStep
from bot.faults import SIGNAL_VARIABLE, VARIABLE, Step
from tests.faults.chats import ALWAYS
from tests.harness.assertions import check_answered, whole
from tests.harness.wires.base import Wire
from tests.replicas.crowd import Crowd

WORDS = " ".join(f"word{number}" for number in range(1, 25))
UNKNOWN = {Step.POST_INTENDED, Step.POSTED, Step.PART_SENT}
"""Steps after which the platform may show what the database does not know of."""
PAUSE = 20.0
"""Seconds for which a replica is paused."""
SECONDS = 60.0
"""Seconds in which a question must be answered."""


class Fault(StrEnum):
    """What happens to a replica that has stopped at a step."""

    KILL = "kill"
    PAUSE = "pause"
    DROP = "drop"
    CLOCK = "clock"
    """It is killed, and the clocks of the replicas are ten minutes apart."""


@dataclass(frozen=True)
class Cell:
    """A fault at a step of the bot or the agent."""

    step: Step | RunStep
    fault: Fault

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which a replica stops at the step."""
        variable = VARIABLE if isinstance(self.step, Step) else RUN_VARIABLE
        clock = {"ROEBOT_TEST_CLOCK": "300"} if self.fault is Fault.CLOCK else {}
        return {variable: self.step.value, SIGNAL_VARIABLE: "SIGSTOP", **clock}


def list_cells() -> list[Cell]:
    """All of them."""
    steps: Sequence[Step | RunStep] = [*ALWAYS, *RunStep]
    return [Cell(step, fault) for step in steps for fault in Fault]


@dataclass
class Outcome:
    """What happened in a cell: seconds from the fault to the answer, marked repeats, and a problem."""

    cell: Cell
    seconds: float = 0.0
    marked: int = 0
    problem: str = ""


class Matrix:
    """Runs cells with the replicas `a`, which meets the faults, and `b`."""

    def __init__(self, crowd: Crowd, wire: Wire) -> None:
        self._crowd = crowd
        self._wire = wire
        self._asked = 0
        self._person = 1
        self._answers: list[str] = []
        self._repeats = 0

    async def run(self, cell: Cell) -> Outcome:
        """Ask, let the fault happen when `a` has reached the step, and judge the whole chat."""
        outcome = Outcome(cell)
        try:
            await self._prepare(cell)
            place = self._ask()
            stopped = await self._reach_step(cell)
            began = time.monotonic()
            await self._harm(cell, stopped)
            await self._answered(place)
            outcome.seconds = time.monotonic() - began
            if cell.fault is Fault.PAUSE:
                await asyncio.sleep(max(0.0, PAUSE - outcome.seconds))
                self._crowd.resume("a")
            await asyncio.sleep(2.0)
            self._repeats += int(self._wire.repeats and cell.step in UNKNOWN)
            standing = self._wire.standing(place)
            outcome.marked = check_answered(standing, self._answers, repeated=self._repeats)
            if late := self._crowd.late_writes():
                outcome.problem = f"late writes: {late}"
        except (AssertionError, TimeoutError) as error:
            outcome.problem = f"{type(error).__name__}: {str(error)[:400]}"
        if outcome.problem:  # the next cells are judged in a chat of their own
            self._person, self._answers, self._repeats = self._person + 1, [], 0
        return outcome

    async def _prepare(self, cell: Cell) -> None:
        """Restart `a` so that it stops at the step, as the owner of the account."""
        crowd = self._crowd
        crowd.kill("a")
        crowd.rows("DELETE FROM late_writes")
        await crowd.add("a", **cell.environment)
        if crowd.is_at_work("b"):
            crowd.kill("b")
        await crowd.owned(self._wire.platform, by="a")
        await crowd.add("b", **({"ROEBOT_TEST_CLOCK": "-300"} if cell.fault is Fault.CLOCK else {}))

    def _ask(self) -> str:
        self._asked += 1
        answer = f"answer{self._asked} {WORDS}!"
        self._answers.append(answer)
        return self._wire.asks(f"[every=0.05] [reply={answer}]", person=self._person)

    async def _reach_step(self, cell: Cell) -> psutil.Process:
        """Wait until the bot or the agent of `a` has stopped itself; return it."""
        is_bot = isinstance(cell.step, Step)
        async with asyncio.timeout(SECONDS):
            while True:
                with suppress(psutil.NoSuchProcess):
                    for process in self._crowd.processes("a")[: 1 if is_bot else None]:
                        if process.status() == psutil.STATUS_STOPPED:
                            return process
                await asyncio.sleep(0.02)

    async def _harm(self, cell: Cell, stopped: psutil.Process) -> None:
        crowd = self._crowd
        match cell.fault:
            case Fault.KILL | Fault.CLOCK if isinstance(cell.step, Step):
                crowd.kill("a")
            case Fault.KILL | Fault.CLOCK:
                stopped.kill()
            case Fault.PAUSE:
                crowd.pause("a")
            case Fault.DROP:
                await asyncio.to_thread(crowd.drop_connections)
                stopped.resume()

    async def _answered(self, place: str) -> None:
        async with asyncio.timeout(SECONDS):
            while not whole(self._wire.standing(place), self._answers[-1]) or self._crowd.open_turns():
                await asyncio.sleep(0.1)
