"""What a run of the simulated week does, by the word that it is asked with."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from bot.domain import ProgressItem, ProgressState
from bot.runtime.interface import (
    ArtifactsPresented,
    AttemptStarted,
    EventsMissing,
    RunEnded,
    RunFailed,
    TodosUpdated,
    TokenUsage,
    UsageReported,
)
from roebot_testing.clock import ManualClock
from roebot_testing.runtime import ScriptedRun

if TYPE_CHECKING:
    from tests.week.agent import Agent

OUTPUTS = "/mnt/user-data/outputs"
COLOURS, WORDS = ("red", "blue"), ("approve", "reject")
"""What can be answered to a question, and to an approval."""
PARAGRAPH = "A paragraph of an answer that takes more room than one message of a platform has. " * 5


class Over(Exception):
    """The run was cancelled."""


class Cut(Exception):
    """The runtime's process died under the run."""


class Job:
    """One attempt of a run. `head` is how its answer begins."""

    def __init__(
        self, run: ScriptedRun, agent: Agent, clock: ManualClock, chance: random.Random, head: str
    ) -> None:
        self.run = run
        self.agent = agent
        self.chance = chance
        self.head = head
        self._clock = clock
        self._deaths = agent.deaths
        self._said = ""

    async def pause(self, least: float, most: float) -> None:
        """Think. Raises Over and Cut."""
        await self._clock.sleep(self.chance.uniform(least, most))
        if self.run.cancelled:
            raise Over
        if self.agent.down or self.agent.deaths != self._deaths:
            raise Cut

    def say(self, text: str) -> None:
        """Go on with the answer."""
        self._said += text
        self.run.say(text)

    def end(self) -> None:
        """The answer is complete."""
        self.agent.answers[self.run.id] = self._said
        count = len(self._said.split())
        self.run.emit(UsageReported(TokenUsage(10, count, 10 + count)))
        self.run.end()


Doing = Callable[[Job], Awaitable[None]]


async def say(job: Job) -> None:
    """Answer after a moment."""
    await job.pause(0.2, 1.5)
    job.say(f"{job.head} certainly.")
    job.end()


async def _words(job: Job, count: int, *pause: float) -> None:
    await job.pause(0.3, 1.5)
    job.say(job.head)
    for number in range(count):
        await job.pause(*pause)
        job.say(f" word{number}")


async def grow(job: Job) -> None:
    """An answer of some seconds."""
    await _words(job, job.chance.randint(8, 30), 0.2, 0.6)
    job.end()


async def long(job: Job) -> None:
    """An answer of a minute or two."""
    await _words(job, job.chance.randint(60, 120), 0.7, 1.3)
    job.end()


async def slow(job: Job) -> None:
    """Work before the answer."""
    for state in (ProgressState.ACTIVE, ProgressState.DONE):
        job.run.emit(TodosUpdated((ProgressItem("1", "look it up", state),)))
        await job.pause(4.0, 20.0)
    job.say(f"{job.head} found.")
    job.end()


async def big(job: Job) -> None:
    """An answer of several messages."""
    await job.pause(0.3, 1.0)
    job.say(job.head)
    for _ in range(job.chance.randint(6, 14)):
        await job.pause(0.2, 0.6)
        job.say(f"\n\n{PARAGRAPH.strip()}")
    job.end()


async def ask(job: Job) -> None:
    """Which of two?"""
    await job.pause(0.3, 2.0)
    job.agent.ask(job.run, {"question": f"{job.head} ask-{job.run.id} which?", "options": list(COLOURS)})
    job.run.emit(RunEnded("interrupted"))


async def approve(job: Job) -> None:
    """A tool waits for a word."""
    await job.pause(0.3, 2.0)
    question = f"{job.head} ask-{job.run.id} may it?"
    call = {"type": "approval", "tool": "delete", "args": {"path": "a"}}
    job.agent.ask(job.run, {**call, "question": question, "options": list(WORDS)})
    job.run.emit(RunEnded("interrupted"))


async def file(job: Job) -> None:
    """An answer with a file."""
    await job.pause(0.3, 2.0)
    path = f"{OUTPUTS}/{job.run.id}.txt"
    job.agent.artifacts[path] = job.head.encode()
    job.run.emit(ArtifactsPresented((path,)))
    job.say(f"{job.head} here it is.")
    job.end()


async def fail(job: Job) -> None:
    """An answer that breaks off."""
    await _words(job, 4, 0.2, 0.5)
    job.agent.failed.add(job.run.id)
    job.run.emit(RunFailed("Boom", "it broke"))
    job.run.end("error")


async def mute(job: Job) -> None:
    """An end without an answer."""
    await job.pause(0.3, 2.0)
    job.agent.failed.add(job.run.id)
    job.run.end()


async def lose(job: Job) -> None:
    """The runtime forgets the run in its middle."""
    await _words(job, 4, 0.2, 0.5)
    job.agent.lose(job.run)
    raise Over


async def crash(job: Job) -> None:
    """The first attempt dies in its middle; the next ones come through."""
    await _words(job, 6, 0.2, 0.5)
    if sum(isinstance(event, AttemptStarted) for event in job.run.log) == 1:
        raise Cut
    job.end()


async def gap(job: Job) -> None:
    """Some of the events are lost."""
    await _words(job, 6, 0.2, 0.5)
    job.run.emit(EventsMissing())
    job.end()


DOING: Mapping[str, Doing] = {
    "say": say,
    "grow": grow,
    "long": long,
    "slow": slow,
    "big": big,
    "ask": ask,
    "approve": approve,
    "file": file,
    "fail": fail,
    "mute": mute,
    "lose": lose,
    "crash": crash,
    "gap": gap,
}
