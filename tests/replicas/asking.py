"""People who ask on several platforms, one thing after the other, and what stands in their chats."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.dispatch.reply.diff import REPEATED_MARK
from tests.harness.assertions import plain
from tests.harness.wires.base import Standing, Wire

PAUSE = 0.1
"""Seconds between two looks at whether people have their answers."""


@dataclass
class Asked:
    """A message, its whole answer, and when it was written and answered (s, 0: not yet)."""

    key: str
    text: str
    answer: str
    at: float
    answered_at: float = 0.0


@dataclass
class Asker:
    """A person with a private chat, who asks again soon after each answer."""

    wire: Wire
    number: int
    chance: random.Random
    place: str = ""
    asked: list[Asked] = field(default_factory=list)

    def ask(self) -> None:
        """Write the next message."""
        key = f"{self.wire.platform}{self.number}m{len(self.asked)}"
        words = " ".join(f"{key}w{number}" for number in range(self.chance.choice((1, 12, 30))))
        answer = f"{key} {words}"
        delay = self.chance.uniform(0, 1.5) if self.chance.random() < 0.7 else 0.0
        text = f"[delay={delay:.2f}] [every={self.chance.choice((0.0, 0.02, 0.05))}] [reply={answer}]"
        self.asked.append(Asked(key, text, answer, time.monotonic()))
        self.place = self.wire.asks(text, person=self.number)

    def look(self) -> Asked | None:
        """The message that has no complete answer yet."""
        if not self.asked:
            return None
        last = self.asked[-1]
        if not last.answered_at and any(is_whole(seen, last) for seen in self.wire.standing(self.place)):
            last.answered_at = time.monotonic()
        return None if last.answered_at else last

    def judge(self) -> tuple[list[str], int]:
        """What is wrong in the chat, and how many answers are marked as possible repeats."""
        standing = self.wire.standing(self.place) if self.place else []
        problems, marked, order = [], 0, []
        for one in self.asked:
            mine = [seen for seen in standing if one.key in plain(seen).split()]
            complete = [seen for seen in mine if is_whole(seen, one)]
            repeats = [seen for seen in mine if seen.text.startswith(REPEATED_MARK)]
            if not complete:
                problems.append(f"lost: {one.text} -> {mine}")
            elif len(mine) > 1 + len(repeats) or len(repeats) > 1:
                problems.append(f"doubled: {mine}")
            marked += len(repeats)
            order += [standing.index(seen) for seen in mine[:1]]
        known = {one.key for one in self.asked}
        foreign = [seen for seen in standing if not known & set(plain(seen).split())]
        problems += [f"unexpected: {seen}" for seen in foreign]
        if order != sorted(order):
            problems.append(f"out of order: {order}")
        return problems, marked


def is_whole(seen: Standing, message: Asked) -> bool:
    """Whether this is the complete answer."""
    return plain(seen) == message.answer and not seen.open


async def keep_asking(askers: Sequence[Asker]) -> None:
    """Everybody asks again soon after the last answer, until cancelled."""
    while True:
        for asker in askers:
            if asker.look() is None and asker.chance.random() < 0.5:
                asker.ask()
        await asyncio.sleep(PAUSE)


async def all_answered(askers: Sequence[Asker], seconds: float) -> None:
    """Wait until everybody has an answer, at most so long."""
    began = time.monotonic()
    while time.monotonic() - began < seconds and any([asker.look() for asker in askers]):
        await asyncio.sleep(PAUSE)
