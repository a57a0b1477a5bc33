"""Real minutes of the week: `roebot run` with the four SDKs against emulators of their platforms, killed and
disturbed while people ask, plan, decide, change what they wrote and send files.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from bot.dispatch.reply.sender import REPEATED_COUNTER
from tests.harness.service import ServiceProcess
from tests.harness.sqlite import closed_texts, counted, open_turns, turns
from tests.harness.waiters import until
from tests.harness.wires import WIRES, Wire
from tests.week.actors.person import Asked
from tests.week.actors.roster import cast
from tests.week.service_setup import config, furnished

SCALE = 0.2
"""Periods of the platforms' limits, and of their redelivery, are so much shorter for them and the bot."""
KILL_EVERY, FAULT_EVERY = (15.0, 45.0), (2.0, 8.0)
STARTING = 0.6
"""A runtime that is killed so early has not taken a run up again yet (seconds)."""
MOST_CUTS = 2
"""The runtime gives a run up that was cut off three times."""
PATIENCE = 120.0
MEETING = 2.0
"""Seconds within which the bot has stored what it was sent."""


class Minutes:
    """One run. `play` takes its time, `judged` says what came of it."""

    def __init__(self, seed: int, wires: dict[str, Wire], home: Path) -> None:
        self.wires = wires
        self.service = ServiceProcess(home, config(wires))
        self.chance = random.Random(seed)
        self.people = [*cast(seed, wires, home, furnished(home))]
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.closing = False
        """Whether nobody begins anything new."""

    async def play(self, seconds: float) -> None:
        """Let everybody act for so long, then wait until everything is answered."""
        self.service.start()
        await self.service.ready()
        acting = asyncio.create_task(self._act())
        trouble: list[asyncio.Task[None]] = []
        try:
            await self._met(acting)
            trouble += [asyncio.create_task(one) for one in (self._disturb(), self._kill())]
            await _for(seconds, acting, *trouble)
            self.closing = True
            await _cancelled(*trouble)
            if self.service.process is None or self.service.process.poll() is not None:
                self.service.start()
            await until(lambda: acting.done() or not self._open(), PATIENCE, self._never_came)
        except AssertionError as error:
            self.wrong.append(f"{error}\n{self.service.log()}")
        finally:
            await _cancelled(acting, *trouble)
        await asyncio.sleep(3.0)

    async def _met(self, acting: asyncio.Task[None]) -> None:
        """Wait until the bot has heard of everybody: Discord lists direct messages nowhere, so the very first
        one of a person can't be found again where the bot dies over it.
        """
        missing = (one.name for one in self.people if not one.done)
        await until(
            lambda: acting.done() or all(one.done for one in self.people), PATIENCE, lambda: str([*missing])
        )
        await asyncio.sleep(MEETING)

    def _never_came(self) -> str:
        return f"never came: {self._open()}"

    def _open(self) -> list[str]:
        """What is still to come."""
        closed = closed_texts(self.service.home)
        late = [one for person in self.people for one in person.late(closed)]
        return [*late, *["a turn"] * open_turns(self.service.home)]

    def _unanswered(self) -> list[Asked]:
        closed = closed_texts(self.service.home)
        return [one for person in self.people for one in person.pending(closed)]

    async def _act(self) -> None:
        """Whoever is on a platform that hears them does the next thing; at the end only what was begun."""
        while True:
            hearing = {name for name, wire in self.wires.items() if wire.connected()}
            for person in self.people:
                if person.wire.platform in hearing and (person.busy or not self.closing):
                    person.acts()
            await asyncio.sleep(0.5)

    async def _disturb(self) -> None:
        """Connections break, answers of calls are lost, chats are penalized, events come again."""
        while True:
            await asyncio.sleep(self.chance.uniform(*FAULT_EVERY))
            wire = self.chance.choice([*self.wires.values()])
            kind = self.chance.choice(("cut", "again", "drop", "close", "penalty"))
            if not wire.connected():
                continue
            self.counts[kind] += 1
            if kind == "cut":
                wire.cut()
            elif kind == "again":
                wire.again(2)
            elif kind == "penalty":
                places = [one.place for one in self.people if one.wire is wire and one.place]
                if places:
                    wire.penalize(self.chance.choice(places), self.chance.uniform(0.5, 4.0))
            else:
                wire.fault(kind, self.chance.choice((*wire.posts, *wire.changes)))

    async def _kill(self) -> None:
        """kill -9 of the service, or of the agent alone."""
        born = time.monotonic()
        while True:
            await asyncio.sleep(self.chance.uniform(*KILL_EVERY))
            tired = [one for one in self._unanswered() if one.cuts >= MOST_CUTS]
            await self._answered(tired)
            for one in self._unanswered():
                one.cuts += time.monotonic() - born > STARTING
            agent = self.service.agent() if self.chance.random() < 1 / 3 else None
            self.counts["agent killed" if agent else "service killed"] += 1
            if agent is not None:
                agent.kill()
                continue
            self.service.kill()
            await asyncio.sleep(self.chance.uniform(0.0, 3.0))
            self.service.start()
            born = time.monotonic()

    async def _answered(self, tired: list[Asked]) -> None:
        """Wait for these: one more death, and the runtime gives them up."""
        texts = {one.text for one in tired}
        await until(
            lambda: not texts & {one.text for one in self._unanswered()}, PATIENCE, lambda: f"open: {texts}"
        )

    def judged(self) -> tuple[list[str], list[str]]:
        """The figures, and what is wrong."""
        wrong, marked = [*self.wrong], 0
        for person in self.people:
            try:
                marked += person.judge()
            except AssertionError as error:
                wrong.append(f"{person.name}: {error}"[:2000])
        if left := open_turns(self.service.home):
            wrong.append(f"{left} turns are open")
        done = Counter(type(person).__name__ for person in self.people for _ in range(person.done))
        struck = {name: wire.struck() for name, wire in self.wires.items()}
        limited = {name: wire.limited() for name, wire in self.wires.items()}
        told = counted(self.service.home, REPEATED_COUNTER)
        refused = {name: wire.refused() for name, wire in self.wires.items()}
        for name, wire in self.wires.items():
            broken = [one for one in refused[name] if one.partition(": ")[2].startswith(tuple(wire.rules))]
            wrong += [f"{name} refused {one} for a rule" for one in broken]
        return [
            f"people, platforms            {len(self.people)}, {len(self.wires)}",
            f"asked, by whom               {dict(done)}",
            f"turns                        {turns(self.service.home)}",
            f"what was done to it          {dict(self.counts)}",
            f"faults that struck           {struck}",
            f"429, penalties among them    {limited}",
            f"refused for other reasons    { {name: dict(found) for name, found in refused.items()} }",
            f"marked repeats               {marked}, counted by the service: {told}",
        ], wrong


async def _for(seconds: float, *tasks: asyncio.Task[None]) -> None:
    """Let these work for so long. Raises what they raise."""
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def minutes(count: float, seed: int, kept: Path | None = None) -> int:
    """Play so many minutes and print what came of it; 0 where all of it was right. What the service wrote is
    `kept` in that folder, where one is named.
    """
    async with AsyncExitStack() as stack:
        folder = kept or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wires = {name: await stack.enter_async_context(wire.serve(SCALE)) for name, wire in WIRES.items()}
        at = Minutes(seed, wires, folder / "home")
        try:
            await at.play(60 * count)
            said, wrong = at.judged()
        finally:
            if at.service.process is not None and at.service.process.poll() is None:
                at.service.stop()
    print(
        "\n".join([f"{count:g} real minutes, seed {seed}", *said, f"wrong: {len(wrong) or 'none'}", *wrong])
    )
    return int(bool(wrong))
