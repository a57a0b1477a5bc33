"""People of the real minutes to whom the bot must not listen."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from bot.dispatch.reply.diff import REPEATED_MARK
from tests.harness.sqlite import kinds_of
from tests.week.actors.person import Person
from tests.week.service_setup import Ledger


@dataclass
class Stranger(Person):
    """Asks for work without access, in private and in a group; `blocked` ones are told nothing at all."""

    chance: random.Random
    group: str
    home: Path
    ledger: Ledger
    blocked: bool = False
    said: list[str] = field(default_factory=list)

    def acts(self) -> None:
        """Ask, now and then."""
        if self.chance.random() < 0.7:
            return
        key = f"{self.wire.platform}stranger{self.number}m{len(self.said)}x"
        self.said.append(key)
        text = f'[tool=note {{"word": "{key}"}}] {key}'
        if self.chance.random() < 0.4:
            self.wire.asks(text, person=self.number, group=self.group)
        else:
            self.place = self.wire.asks(text, person=self.number)

    @property
    def done(self) -> int:
        """See Person."""
        return len(self.said)

    def judge(self) -> int:
        """See Person: no run, and at most one notice, in private; what a group sees is judged there."""
        standing = self.standing()
        marked = sum(seen.text.startswith(REPEATED_MARK) for seen in standing)
        assert not marked or self.wire.repeats, standing
        told = [key for key in self.said if any(key in seen.text for seen in standing)]
        assert not told, f"answered: {standing}"
        assert len(standing) <= (0 if self.blocked else 1 + marked), f"told more than once: {standing}"
        assert self.blocked or not self.place or standing, "never told how to be let in"
        ran = [key for key in self.said if self.ledger.count(key)]
        assert not ran, f"a tool ran for {ran}"
        kinds = {kind for key in self.said for kind in kinds_of(self.home, key)}
        assert kinds <= {"notice"}, f"turns of {kinds}"
        return marked
