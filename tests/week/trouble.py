"""What goes wrong in the simulated week and when, made from its seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bot.faults import Step
from tests.week.plan import BUSY_HOURS, DAY, HOUR, MINUTE, rushes
from tests.week.team import PLATFORMS

STEPS = tuple(step for step in Step if step is not Step.ACKNOWLEDGED)
"""Where the bot is killed; what is acknowledged and how is each adapter's own."""


class Trouble(StrEnum):
    """What goes wrong."""

    KILL = "kill"
    KILL_AT_STEP = "kill at a step"
    KILL_AT_WRITE = "kill at a transaction"
    SHUTDOWN = "shutdown"
    AGENT = "agent away"
    ACCOUNT = "connection lost"
    PENALTY = "chats penalized"
    LIMITED = "account limited"


KILLS = (Trouble.KILL, Trouble.KILL_AT_STEP, Trouble.KILL_AT_WRITE, Trouble.SHUTDOWN)
A_DAY = {
    Trouble.KILL: 2,
    Trouble.KILL_AT_STEP: 6,
    Trouble.KILL_AT_WRITE: 8,
    Trouble.SHUTDOWN: 2,
    Trouble.AGENT: 4,
    Trouble.ACCOUNT: 6,
    Trouble.PENALTY: 8,
}
SHORT, NIGHT = (1.0, 90.0), (2 * DAY + 1.02 * HOUR, 2.9 * HOUR)
MORNING = (5 * DAY + 0.1 * HOUR, 7 * HOUR)
"""Two long absences: one after which everything is made up for, one after which 00:30 is too long ago."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something goes wrong, `at` seconds after the week began, for so many seconds.

    `where` is a platform; `step` and `count` say where a kill strikes.
    """

    at: float
    trouble: Trouble
    seconds: float
    where: str = ""
    step: Step | None = None
    count: int = 0


def troubles(seed: int, days: int) -> tuple[Event, ...]:
    """All of it, in order."""
    chance = random.Random(seed + 1)
    found = [*_troubles(chance, days), *_in_rushes(seed, days)]
    for at, seconds in (NIGHT, MORNING):
        if at + seconds < days * DAY:
            found.append(Event(at, Trouble.KILL, seconds))
    if days > 1:
        found.append(Event(DAY + 11 * HOUR, Trouble.AGENT, 5 * MINUTE))
    return tuple(sorted(found, key=lambda event: event.at))


def _troubles(chance: random.Random, days: int) -> Iterator[Event]:
    for day in range(days):
        for trouble, count in A_DAY.items():
            for _ in range(count):
                # Where nobody writes nothing strikes.
                at = day * DAY + (chance.choice(BUSY_HOURS) + chance.random()) * HOUR
                seconds = chance.uniform(*SHORT)
                step = chance.choice(STEPS) if trouble is Trouble.KILL_AT_STEP else None
                yield Event(at, trouble, seconds, chance.choice(PLATFORMS), step, chance.randint(1, 40))


def _in_rushes(seed: int, days: int) -> Iterator[Event]:
    """While everybody writes one account after the other is limited, or its connection breaks."""
    kinds = (Trouble.LIMITED, Trouble.LIMITED, Trouble.ACCOUNT)
    for number, begun in enumerate(rushes(seed, days)):
        where = PLATFORMS[number % len(PLATFORMS)]
        yield Event(begun - 1.0, kinds[number % len(kinds)], 40.0, where)
