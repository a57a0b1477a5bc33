"""Somebody in the real minutes of the week, and what they have asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from tests.harness.wires import Standing, Wire


@dataclass
class Asked:
    """A message, and the whole text of its answer; `cuts` counts the deaths that it has met."""

    text: str
    answer: str
    cuts: int = 0


@dataclass
class Person(ABC):
    """Somebody, and where they meet the bot ("" before they do)."""

    wire: Wire
    number: int
    place: str = field(default="", init=False)

    @property
    def name(self) -> str:
        """How the report calls them."""
        return f"{self.wire.platform} {type(self).__name__} {self.number}"

    def standing(self) -> list[Standing]:
        """What the bot has said here."""
        return self.wire.standing(self.place) if self.place else []

    @property
    def busy(self) -> bool:
        """Whether they have begun something that takes more of their doing."""
        return False

    @abstractmethod
    def acts(self) -> None:
        """Do the next thing, if it is time for it. The bot receives now."""

    def pending(self, closed: AbstractSet[str]) -> list[Asked]:
        """What the agent may be at work for; `closed` are the texts whose turns are closed."""
        del closed
        return []

    def late(self, closed: AbstractSet[str]) -> list[str]:
        """What is still to come."""
        return [one.text for one in self.pending(closed)]

    @property
    @abstractmethod
    def done(self) -> int:
        """How many things they asked for."""

    @abstractmethod
    def judge(self) -> int:
        """How many repeats are marked. Raises AssertionError where anything is not as it should be."""
