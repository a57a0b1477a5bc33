"""People of the real minutes who change what they wrote, and who send files."""

from __future__ import annotations

import random
import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from bot.dispatch.reply.diff import REPEATED_MARK
from tests.harness.uploads_and_edits import edits, hands_over, last_written
from tests.week.actors.person import Asked, Person
from tests.week.service_setup import Ledger


def counted(person: Person, word: str) -> int:
    """How often a word stands, but for what is marked as a repeat."""
    plain = [seen.text for seen in person.standing() if not seen.text.startswith(REPEATED_MARK)]
    return sum(text.replace('"', " ").split().count(word) for text in plain)


def stands(person: Person, word: str) -> bool:
    """Whether a word stands in what does not grow any more."""
    return any(word in seen.text.replace('"', " ").split() for seen in person.standing() if not seen.open)


def marked(person: Person) -> int:
    """How many repeats are marked."""
    found = sum(seen.text.startswith(REPEATED_MARK) for seen in person.standing())
    assert not found or person.wire.repeats, person.standing()
    return found


@dataclass
class Change:
    """Three messages, the second of which is changed; `step` is how many things were done."""

    key: str
    first: Asked
    last: Asked
    step: int = 1
    message: str = ""
    edit_at: float = 0.0


@dataclass
class Editor(Person):
    """Asks for something slow and for something else, which is then changed: before the agent has read it,
    or after. Then asks once more.
    """

    chance: random.Random
    ledger: Ledger
    changes: list[Change] = field(default_factory=list)

    def pending(self, closed: AbstractSet[str]) -> list[Asked]:
        """See Person."""
        if not self.changes or self._ended(self.changes[-1]):
            return []
        last = self.changes[-1]
        return [last.last if last.step == 4 else last.first]

    @property
    def busy(self) -> bool:
        """See Person."""
        return bool(self.changes) and not self._ended(self.changes[-1])

    def _ended(self, one: Change) -> bool:
        return one.step == 4 and stands(self, f"{one.key}c")

    def acts(self) -> None:
        """The next of these."""
        last = self.changes[-1] if self.changes else None
        if last is None or self._ended(last):
            key = f"{self.wire.platform}edit{len(self.changes)}x"
            self.changes.append(Change(key, Asked(f"{key}a", ""), Asked(f"{key}c", "")))
            self._says(f"[delay={self.chance.uniform(0.5, 2.0):.2f}] {key}a")
        elif last.step == 1:
            self._says(f"{last.key}old")
            last.message = last_written(self.wire, self.place)
            last.step, last.edit_at = 2, time.monotonic() + self.chance.uniform(0.0, 4.0)
        elif last.step == 2 and time.monotonic() >= last.edit_at:
            edits(self.wire, self.place, last.message, f"{last.key}new")
            last.step = 3
        elif last.step == 3 and stands(self, f"{last.key}a") and self._second(last):
            last.step = 4
            self._says(f'[tool=note {{"word": "{last.key}c"}}] {last.key}c')

    def _second(self, one: Change) -> bool:
        return stands(self, f"{one.key}old") or stands(self, f"{one.key}new")

    def _says(self, text: str) -> None:
        self.place = self.wire.asks(text, person=self.number)

    @property
    def done(self) -> int:
        """See Person."""
        return len(self.changes)

    def judge(self) -> int:
        """See Person: the changed text is answered, or told with the next message where that was too late."""
        found = marked(self)
        for one in self.changes:
            if one.step == 4:
                self._judge(one)
        return found

    def _judge(self, one: Change) -> None:
        words = ("a", "old", "new", "c")
        a, old, new, last = (counted(self, f"{one.key}{word}") for word in words)
        said = f"{one.key}: {dict(zip(words, (a, old, new, last), strict=True))} {self.standing()[-8:]}"
        repeats = marked(self)
        assert a in range(1 - repeats, 2), said
        assert last in range(1 - repeats, 2), said
        # Discord does not tell again what was changed while the bot was away.
        missed = self.wire.platform == "discord" and one.first.cuts + one.last.cuts > 0
        assert new in range(0 if missed or repeats else 1, 2), said
        assert old in range(3), said
        assert self.ledger.count(f"{one.key}c") in ({0, 1} if one.last.cuts else {1}), said


@dataclass
class Sender(Person):
    """Sends one file after the other."""

    chance: random.Random
    home: Path
    sent: list[Asked] = field(default_factory=list)

    def pending(self, closed: AbstractSet[str]) -> list[Asked]:
        """See Person."""
        return [one for one in self.sent[-1:] if not stands(self, one.text)]

    def acts(self) -> None:
        """Send the next one, where the last was answered."""
        if self.pending(frozenset()) or self.chance.random() < 0.5:
            return
        name = f"{self.wire.platform}file{len(self.sent)}.txt"
        self.sent.append(Asked(name, ""))
        self.place = hands_over(self.wire, name, _content(name).encode(), person=self.number)

    @property
    def done(self) -> int:
        """See Person."""
        return len(self.sent)

    def judge(self) -> int:
        """See Person: the agent was told once what is in each file, and each is kept once."""
        found = marked(self)
        texts = [seen.text for seen in self.standing() if not seen.text.startswith(REPEATED_MARK)]
        for one in self.sent:
            told = sum(text.count(_content(one.text)) for text in texts)
            assert told in range(1 - found, 2), f"{one.text} was told {told} times: {texts[-6:]}"
            kept = [path.read_text() for path in self.home.rglob(one.text) if path.is_file()]
            assert kept == [_content(one.text)], f"{one.text} is kept as {kept}"
        return found


def _content(name: str) -> str:
    return f"what is in {name}"
