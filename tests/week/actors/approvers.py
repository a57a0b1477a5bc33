"""People of the real minutes who decide whether a tool may run, by the platform's own buttons."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import product

from bot.dispatch.reply.diff import REPEATED_MARK
from tests.harness.clicks import Told, button, buttons, says_who, shown
from tests.harness.wires import Standing
from tests.week.actors.person import Asked, Person
from tests.week.service_setup import Ledger

WORDS = {"approve": 0, "reject": -1}
"""What can be pressed, and the number of its button."""
FOREIGN = "Only the person who asked for this, or an admin, can decide"
CLOSED = ("This question has already been answered", "This question is too old")
AGAIN = 5.0
"""Seconds after which somebody presses again what shows no decision."""
SIGN = re.compile(r"✓ (\w+)|✗ (Rejected)")
"""What a question shows that was decided."""


@dataclass
class Round:
    """One call of a tool that somebody has to decide, from the question to the answer."""

    key: str
    asking: Asked
    deciding: Asked
    word: str
    question: str = ""
    next_press: float = 0.0
    pressed: list[tuple[str, int]] = field(default_factory=list)
    """The words that count, and who pressed them."""
    refused: list[tuple[Told, int]] = field(default_factory=list)
    """What those were told whose press must not count."""
    ended: bool = False


@dataclass
class Approver(Person):
    """Asks in a group for what a person has to allow, and decides it; others press, too.

    `member` may not decide, `admin` may, `stranger` has no access.
    """

    chance: random.Random
    group: str
    ledger: Ledger
    member: int
    admin: int
    stranger: int
    rounds: list[Round] = field(default_factory=list)

    def pending(self, closed: AbstractSet[str]) -> list[Asked]:
        """See Person."""
        if not self.rounds or self.rounds[-1].ended:
            return []
        last = self.rounds[-1]
        if not last.question:
            return [last.asking]
        return [last.deciding] if last.pressed else []

    def late(self, closed: AbstractSet[str]) -> list[str]:
        """See Person: also a question that nobody has decided yet."""
        return [one.key for one in self.rounds[-1:] if not one.ended]

    @property
    def busy(self) -> bool:
        """See Person."""
        return bool(self.rounds) and not self.rounds[-1].ended

    def acts(self) -> None:
        """Ask, wait for the question, press, wait for the answer."""
        last = self.rounds[-1] if self.rounds else None
        if last is None or last.ended:
            self._asks()
        elif not last.question:
            self._looks(last)
        elif self._answered(last):
            last.ended = True
        elif time.monotonic() >= last.next_press and not self._decision(last):
            self._presses(last)

    def _asks(self) -> None:
        if self.chance.random() < 0.7:
            return
        key = f"{self.wire.platform}pay{len(self.rounds)}x"
        text = f'[tool=pay {{"word": "{key}"}}] {key}done'
        word = self.chance.choice(("approve", "approve", "reject"))
        self.rounds.append(Round(key, Asked(text, ""), Asked(f"{key} decided", ""), word))
        self.place = self.wire.asks(text, person=self.number, group=self.group)

    def _looks(self, last: Round) -> None:
        """The question that can be pressed: where it stands twice, the newest."""
        for seen in self._below(last):
            if buttons(self.wire, self.place, seen.id) >= len(WORDS):
                last.question = seen.id
                last.next_press = last.next_press or time.monotonic() + self.chance.uniform(0.0, 3.0)

    def _below(self, last: Round) -> list[Standing]:
        found = [seen for seen in self.standing() if not seen.private]
        return [one for one in found if last.key in one.text and f"{last.key}done" not in one.text]

    def _presses(self, last: Round) -> None:
        self._looks(last)
        last.next_press = time.monotonic() + AGAIN
        if buttons(self.wire, self.place, last.question) < len(WORDS):
            return
        press = {word: button(self.wire, self.place, last.question, number) for word, number in WORDS.items()}
        other = "reject" if last.word == "approve" else "approve"
        if not last.pressed:
            for who in (self.member, self.stranger):
                if self.chance.random() < 0.4:
                    last.refused.append((press[other](who), who))
        rival = self.chance.random() < 0.2
        turns = [(last.word, self.number)] * (2 if self.chance.random() < 0.3 else 1)
        turns += [(other, self.admin)] * rival
        self.chance.shuffle(turns)
        for word, who in turns:
            last.pressed.append((word, who))
            press[word](who)
        if self.chance.random() < 0.3:
            last.refused.append((press[other](self.member), self.member))

    def _decision(self, one: Round) -> list[tuple[str, int]]:
        """What the question says was decided, and by whom."""
        found = product(WORDS, (self.number, self.admin, self.member, self.stranger))
        return [
            (word, who) for word, who in found if says_who(self.wire, self.place, one.question, word, who)
        ]

    def _answers(self, one: Round) -> list[Standing]:
        return [
            seen for seen in self.standing() if f"{one.key}done" in seen.text.split() and not seen.private
        ]

    def _answered(self, one: Round) -> bool:
        answers = self._answers(one)
        return bool(answers) and not answers[-1].open and bool(self._decision(one))

    @property
    def done(self) -> int:
        """See Person."""
        return len(self.rounds)

    def judge(self) -> int:
        """See Person: decided once and shown so, the run went on, the tool ran as was decided."""
        for one in self.rounds:
            self._judge(one)
        marked = sum(seen.text.startswith(REPEATED_MARK) for seen in self.standing())
        assert not marked or self.wire.repeats, self.standing()
        return marked

    def _judge(self, one: Round) -> None:
        text = shown(self.wire, self.place, one.question) if one.question else ""
        decided = self._decision(one) if one.question else []
        assert len(decided) == 1, f"{one.key} is decided {decided}, pressed {one.pressed}: {text!r}"
        [(word, who)] = decided
        assert (word, who) in one.pressed, f"{one.key} is decided {decided}, pressed {one.pressed}"
        signs = {found[1] or ("reject" if found[2] else "") for found in SIGN.finditer(text)}
        assert signs == {word}, f"{one.key} was decided as {word}: {text!r}"
        assert not buttons(self.wire, self.place, one.question), f"{one.key} still has buttons: {text!r}"
        ran = self.ledger.count(one.key)
        # What ran when the agent was killed is not run again.
        right = {1, 0} if one.deciding.cuts else {1}
        assert ran in (right if word == "approve" else {0}), f"{word}, but {one.key} ran {ran} times"
        answers = self._answers(one)
        marked = sum(seen.text.startswith(REPEATED_MARK) for seen in answers)
        assert 1 <= len(answers) <= 1 + marked, f"{one.key}: {answers}"
        for told, presser in one.refused:
            assert not told() or told().startswith((FOREIGN, *CLOSED)), f"{presser} was told {told()!r}"
