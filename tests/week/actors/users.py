"""People of the real minutes of the week: on emulated platforms, through the platforms' own SDKs."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from bot.dispatch.reply.diff import REPEATED_MARK
from tests.harness.assertions import plain
from tests.week.actors.person import Asked, Person

OFFERED = re.compile(r"digest(?:@\w+)? ok (\d+)")


@dataclass
class Asker(Person):
    """Asks one thing after the other, in private or in a group."""

    chance: random.Random
    group: str = ""
    asked: list[Asked] = field(default_factory=list)

    def pending(self, closed: AbstractSet[str]) -> list[Asked]:
        """See Person."""
        return [one for one in self.asked[-1:] if one.text not in closed]

    def waiting(self) -> bool:
        """Whether the last message has no whole answer yet."""
        if not self.asked:
            return False
        said = {word for seen in self.standing() if not seen.open for word in plain(seen).split()}
        return not said.issuperset(self.asked[-1].answer.split())

    def acts(self) -> None:
        """Ask the next thing, where the last was answered."""
        if self.waiting() or self.chance.random() < 0.3:
            return
        key = f"{self.wire.platform}{self.number}m{len(self.asked)}"
        count = self.chance.choice((1, 3, 12, 30, 160))
        answer = " ".join([key, *(f"{key}w{number}" for number in range(count))])
        every = 0.0 if count > 30 else self.chance.choice((0.0, 0.05, 0.15))
        text = f"[delay={self.chance.uniform(0, 2):.2f}] [every={every}] [reply={answer}]"
        self.asked.append(Asked(text, answer))
        self.place = self.wire.asks(text, person=self.number, group=self.group)

    @property
    def done(self) -> int:
        """See Person."""
        return len(self.asked)

    def judge(self) -> int:
        """See Person: all words stand once and in their order, but for marked repeats."""
        standing = self.standing()
        assert not any(seen.open for seen in standing), f"still growing: {standing[-2:]}"
        marked = sum(seen.text.startswith(REPEATED_MARK) for seen in standing)
        said = [word for seen in standing for word in plain(seen).split()]
        wanted = [word for one in self.asked for word in one.answer.split()]
        if marked:
            assert self.wire.repeats, f"marked on {self.wire.platform}: {standing}"
            counts = Counter(said)
            assert set(counts) == set(wanted), f"{set(counts) ^ set(wanted)}"
            assert max(counts.values()) <= 1 + marked, counts.most_common(3)
        else:
            assert said == wanted, f"{len(said)} words of {len(wanted)}: {_differ(said, wanted)}"
        return marked


def _differ(said: Sequence[str], wanted: Sequence[str]) -> str:
    place = next((n for n, (a, b) in enumerate(zip(said, wanted, strict=False)) if a != b), len(wanted))
    return f"{[*said][place - 1 : place + 3]} instead of {[*wanted][place - 1 : place + 3]}"


@dataclass
class Commander(Person):
    """Sends the same command again and again."""

    sent: int = 0

    def acts(self) -> None:
        """Ask again, where the last was answered."""
        if len(self.standing()) >= self.sent:
            self.place = self.wire.asks("/whoami", person=self.number)
            self.sent += 1

    @property
    def done(self) -> int:
        """See Person."""
        return self.sent

    def judge(self) -> int:
        """See Person."""
        standing = self.standing()
        marked = sum(seen.text.startswith(REPEATED_MARK) for seen in standing)
        assert not marked or self.wire.repeats
        assert self.sent <= len(standing) <= self.sent + marked, f"{len(standing)} answers to {self.sent}"
        return marked


@dataclass
class Planner(Person):
    """Has something said at a time."""

    minutes: int
    saved: bool = False

    def late(self, closed: AbstractSet[str]) -> list[str]:
        """See Person."""
        return [self.word] if self.place and not self.said else []

    @property
    def busy(self) -> bool:
        """See Person."""
        return bool(self.place) and not self.saved

    @property
    def word(self) -> str:
        """What is to be said."""
        return f"tea-{self.wire.platform}"

    def acts(self) -> None:
        """Plan it, and save what is shown."""
        if self.saved:
            return
        if not self.place:
            text = f"/digest in {self.minutes} minutes say {self.word}"
            self.place = self.wire.asks(text, person=self.number)
        elif offered := [found[1] for seen in self.standing() if (found := OFFERED.search(seen.text))]:
            self.wire.asks(f"/digest ok {offered[-1]}", person=self.number)
            self.saved = True

    @property
    def said(self) -> int:
        """How often it was said."""
        return sum(plain(seen) == self.word for seen in self.standing())

    @property
    def done(self) -> int:
        """See Person."""
        return int(bool(self.place))

    def judge(self) -> int:
        """See Person."""
        marked = sum(plain(s) == self.word and s.text.startswith(REPEATED_MARK) for s in self.standing())
        assert not marked or self.wire.repeats
        assert 1 <= self.said <= 1 + marked, f"{self.word} was said {self.said} times"
        return marked
