"""What a suite over all platforms needs of each: people who ask, a connection that breaks, what stands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

REASON = 60
"""Characters of the reason for a refusal that are kept."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A message of the bot as people see it; `open` while the platform shows that it still grows.

    `text` is the file's name where it is a `file`. One that is `private` only one person sees.
    """

    id: str
    text: str
    open: bool = False
    file: bool = False
    private: bool = False


class Wire(ABC):
    """An emulator of one platform with one account of the bot. Places are what `asks` returns."""

    platform: ClassVar[str]
    repeats: ClassVar[bool] = False
    """Whether the platform offers no way to find a post of unknown outcome: it may stand twice, marked."""
    posts: ClassVar[tuple[str, ...]]
    """The calls by which an answer comes to stand, as the emulator's faults name them."""
    changes: ClassVar[tuple[str, ...]]
    """The calls by which it grows and becomes final."""
    uploads: ClassVar[tuple[str, ...]]
    """The calls by which a file comes to stand."""
    rules: ClassVar[frozenset[str]] = frozenset()
    """Beginnings of reasons that no race or trouble explains: the bot has broken a rule of the platform."""

    def __init__(self, emulator: Any, scale: float) -> None:
        self.emulator = emulator
        self.scale = scale

    @classmethod
    @asynccontextmanager
    async def serve(cls, scale: float = 1.0, **options: Any) -> AsyncIterator[Self]:
        """One that listens while the block runs; `scale` shortens the platform's periods."""
        async with cls.emulated(scale, options) as emulator:
            yield cls(emulator, scale)

    @classmethod
    @abstractmethod
    def emulated(cls, scale: float, options: dict[str, Any]) -> Any:
        """The emulator's own context manager."""

    @property
    @abstractmethod
    def entry(self) -> str:
        """The account under `channels` of a configuration, as a flow mapping without its braces."""

    @abstractmethod
    def connected(self) -> bool:
        """Whether the bot receives now."""

    @abstractmethod
    def asks(self, text: str, *, person: int = 1, group: str = "") -> str:
        """A person (from 1 on) writes to the bot, in private or in a group; the place."""

    @abstractmethod
    def person(self, number: int) -> str:
        """The id of a person, as access entries name it."""

    @abstractmethod
    def group(self) -> str:
        """A new group with the bot in it, for `asks`."""

    @abstractmethod
    def standing(self, place: str) -> list[Standing]:
        """The bot's messages in a place, in order; none before the place exists."""

    @abstractmethod
    def cut(self) -> None:
        """Break the connection by which the bot receives; it may come back at once."""

    @abstractmethod
    def twice(self) -> None:
        """Deliver every event twice from now on."""

    @abstractmethod
    def again(self, count: int) -> None:
        """Deliver the last events once more."""

    @abstractmethod
    def hold(self, count: int) -> None:
        """Keep the next events back, so many of them."""

    @abstractmethod
    def let_go(self) -> None:
        """Deliver what was held, the last one first."""

    @abstractmethod
    def penalize(self, place: str, seconds: float) -> None:
        """Refuse every post and edit in a place for so long."""

    @abstractmethod
    def removes_bot(self, group: str) -> None:
        """The bot may not write in a group any more."""

    @abstractmethod
    def deletes(self, place: str, message_id: str) -> None:
        """Somebody takes a message of the bot away."""

    @abstractmethod
    def bot_says(self, text: str, group: str) -> None:
        """Another bot mentions ours in a group."""

    @abstractmethod
    def nonsense(self) -> int:
        """Deliver events that nobody knows and events that are broken; how many."""

    def revoke(self) -> None:
        """The token is good no more, and who is connected with it is cut off."""
        self.emulator.revoke_token()
        self.cut()

    def restore(self) -> None:
        """The token is good again."""
        self.emulator.restore_token()

    def fault(self, kind: str, method: str, **more: Any) -> None:
        """Arm a fault of the platform's API."""
        self.emulator.fault(kind, method=method, **more)

    def struck(self) -> int:
        """How many faults have struck."""
        return int(self.emulator.counters()["faults_struck"])

    def limited(self) -> int:
        """How many calls were refused for their rate."""
        return int(self.emulator.counters()["limited"])

    def refused(self) -> Counter[str]:
        """How often each method was refused for each reason, rate limits apart."""
        frames = self.emulator.transcript.of()
        wrong = (frame for frame in frames if frame.status >= 400 and frame.status != 429)
        return Counter(f"{frame.method}: {frame.detail[:60]}" for frame in wrong)

    def calls(self, method: str) -> int:
        """How often a method was called."""
        return int(self.emulator.counters()["calls"].get(method, 0))


def own(text: str, label: str) -> str:
    """An answer without the label that an echo repeats in groups."""
    return text.removeprefix(label).strip()
