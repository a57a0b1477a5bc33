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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from bot.access import AccessPolicy
from bot.account_state import AccountState, Live
from bot.account_view import AccountView
from bot.app.features import load_features
from bot.clock import Clock
from bot.config import AccessConfig, Config
from bot.features.schedules.scheduler import Scheduler
from bot.store import Database, open_database
from bot.turn import OpenedTurn
from bot.wiring import Core
from roebot_testing.adapter import MANIFEST
from roebot_testing.clock import QuickClock
from roebot_testing.runtime import ScriptedRuntime

FIFTH = 5
NAP = 0.02


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


class OneAccount:
    """Runs every account."""

    agent = ""
    manifest = MANIFEST

    def get(self, account: str) -> OneAccount:
        return self

    def state(self, account: str) -> AccountState:
        return AccountState(Live.LIVE)

    def states(self) -> Mapping[str, tuple[str, AccountState]]:
        return {}

    def restart(self, account: str) -> bool:
        return False


class OpenCore(Core):
    """A service in which everybody has access."""

    def account(self, name: str) -> AccountView:
        return replace(
            super().account(name), policy=AccessPolicy(AccessConfig(default="allow")), configured=True
        )


@dataclass
class EndsAfter:
    """Instead of the dispatcher, the end of the process."""

    reached: Callable[[Moment], None]

    def dispatch_turn(self, _opened: OpenedTurn) -> None:
        self.reached(Moment.AFTER)


def scheduler(database: Database, clock: Clock, name: str, dies: str) -> Scheduler:
    """A scheduler that ends its process at a moment."""
    numbers, reached = itertools.count(1), ending(dies)

    def new_id() -> str:
        reached(Moment.BEFORE)
        return f"{name}-{next(numbers)}"

    core = OpenCore(Config(), database, clock, ScriptedRuntime(), OneAccount(), Path(), new_id)
    core.runs = EndsAfter(reached)
    return Scheduler(core)


async def main(home: str, url: str, name: str, dies: str) -> None:
    """Fire until the input ends."""
    await asyncio.to_thread(load_features)
    database = await open_database(Path(home), url or None)
    clock = ToldClock()
    work = asyncio.create_task(scheduler(database, clock, name, dies).run())
    up(Path(home), name).touch()
    while line := await asyncio.to_thread(sys.stdin.readline):
        clock.told = float(line)
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
