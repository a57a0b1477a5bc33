"""A scheduler as a process of its own, which fires what is due and answers nothing:
`python -m tests.harness.scheduling HOME URL NAME DIES`.

Each line that comes in is the time now, in seconds since the epoch; it ends with its input. URL "" is the
file in the home. NAME begins the threads that it opens. DIES "" is never, else the moment of its fifth firing
at which it ends itself by SIGKILL.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from bot.schedules.scheduled_runs import SchedulerHooks
from bot.schedules.scheduler import Scheduler
from bot.store import open_database
from bot.store.schedules import Schedule
from bot.testing.clock import QuickClock
from bot.texts import texts_for

FIFTH = 5
NAP = 0.02
CATCH_UP = 6 * 3600.0


class Moment(StrEnum):
    """Where a firing is cut off: before its transaction, or after it, when nobody was told of its turn."""

    BEFORE = "before"
    AFTER = "after"


class ToldClock(QuickClock):
    """The time is what was told last; waits are short."""

    def __init__(self) -> None:
        super().__init__(lambda seconds: min(seconds, NAP))
        self.told = 0.0

    def now(self) -> float:
        return self.told


def up(home: Path, name: str) -> Path:
    """The file that says that this one looks at the time."""
    return home / f"{name}.up"


def ending(dies: str) -> Callable[[Moment], None]:
    """Says that a moment is reached; the process ends there where it is to."""
    count = itertools.count(1)

    def reached(moment: Moment) -> None:
        if moment == dies and next(count) == FIFTH:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def host(name: str, dies: str) -> SchedulerHooks:
    """A service in which everything is allowed."""
    numbers, reached = itertools.count(1), ending(dies)

    def new_id() -> str:
        reached(Moment.BEFORE)
        return f"{name}-{next(numbers)}"

    async def spent(_schedule: Schedule) -> str:
        return ""

    return SchedulerHooks(
        open_=lambda _opened: reached(Moment.AFTER),
        allowed=lambda _schedule: True,
        runs=lambda _account: True,
        spent=spent,
        texts=lambda _account: texts_for("en"),
        model=lambda _account: "",
        new_id=new_id,
        catch_up=lambda: CATCH_UP,
    )


async def main(home: str, url: str, name: str, dies: str) -> None:
    """Fire until the input ends."""
    database = await open_database(Path(home), url or None)
    clock = ToldClock()
    work = asyncio.create_task(Scheduler(database, clock, host(name, dies)).run())
    up(Path(home), name).touch()
    while line := await asyncio.to_thread(sys.stdin.readline):
        clock.told = float(line)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
