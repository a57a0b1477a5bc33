"""People at an emulator: they ask, and the transcript says when and how they were answered."""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roebot_testing.emulators.remote import RemoteEmulator

VISIBLE = frozenset({"post", "edit"})


@dataclass(slots=True, eq=False)
class Ask:
    """A message of a person in their private chat, or in a group `chat`, and how the answer is recognized.

    The answer is exactly `answer`, or holds every one of `words`, or, with neither, is any text. Times are
    seconds of the emulator's clock: `asked`, `shown` (typing or first text), `said` (first text), `final`; 0
    until it happens.
    """

    user: int
    text: str
    answer: str = ""
    words: tuple[str, ...] = ()
    asked: float = 0.0
    shown: float = 0.0
    said: float = 0.0
    final: float = 0.0
    reply: str = ""
    chat: int = 0

    @property
    def place(self) -> str:
        """The chat as the transcript names it."""
        return str(self.chat or self.user)

    @property
    def seconds(self) -> float:
        """From the message to the complete answer."""
        return self.final - self.asked

    @property
    def first(self) -> float:
        """From the message to typing or the first text."""
        return self.shown - self.asked

    def answered_by(self, text: str) -> bool:
        """Whether this text is the complete answer."""
        if self.answer:
            return text == self.answer
        return all(word in text for word in self.words)


@dataclass
class Watch:
    """Follows one emulator's transcript from its beginning and matches answers to asks."""

    emulator: RemoteEmulator
    disorder: int = 0
    _sent: dict[str, list[Ask]] = field(default_factory=dict)
    _open: dict[str, list[Ask]] = field(default_factory=dict)
    _next: int = 0

    async def ask(self, asks: Sequence[Ask]) -> None:
        """Send messages in one go."""
        for ask in asks:
            self._sent.setdefault(ask.place, []).append(ask)
        messages = [{"text": ask.text, "user": ask.user, "chat": ask.chat} for ask in asks]
        await self.emulator.do("says_many", messages=messages)

    async def until_answered(self, asks: Sequence[Ask], seconds: float, *, every: float = 0.05) -> None:
        """Wait for all of these. Raises AssertionError where they are not answered in time."""
        try:
            async with asyncio.timeout(seconds):
                while any(not ask.final for ask in asks):
                    await asyncio.sleep(every)
                    await self.look()
        except TimeoutError:
            late = [(ask.user, ask.text) for ask in asks if not ask.final]
            raise AssertionError(f"{len(late)} of {len(asks)} not answered: {late[:3]}") from None

    async def at_once(self, asks: Sequence[Ask], seconds: float = 60.0) -> Sequence[Ask]:
        """Send all, wait for all."""
        await self.ask(asks)
        await self.until_answered(asks, seconds)
        return asks

    async def one_by_one(self, asks: Sequence[Ask], seconds: float = 20.0) -> Sequence[Ask]:
        """Send each when the one before is answered."""
        for ask in asks:
            await self.ask([ask])
            await self.until_answered([ask], seconds, every=0.004)
        return asks

    async def look(self) -> None:
        """Take over what happened since the last look."""
        for frame in await self.emulator.transcript(self._next):
            self._next = frame["seq"] + 1
            self._take(frame)

    def _take(self, frame: Mapping[str, Any]) -> None:
        chat = frame["chat"]
        if frame["kind"] == "person":
            sent = self._sent.get(chat)
            if sent:
                ask = sent.pop(0)
                ask.asked = frame["at"]
                self._open.setdefault(chat, []).append(ask)
            return
        asks = self._open.get(chat)
        if not asks or frame["status"] != 200:
            return
        if frame["kind"] in VISIBLE or frame["kind"] == "typing":
            asks[0].shown = asks[0].shown or frame["at"]
        if frame["kind"] in VISIBLE:
            asks[0].said = asks[0].said or frame["at"]
            self._match(asks, frame["text"].strip(), frame["at"])

    def _match(self, asks: list[Ask], text: str, at: float) -> None:
        """A reply to merged messages answers them all; one that fits anything answers the oldest."""
        for ask in list(asks):
            if not ask.answered_by(text):
                continue
            self.disorder += asks[0] is not ask
            ask.final, ask.reply = at, text
            ask.shown = ask.shown or at
            asks.remove(ask)
            if not ask.words:
                return


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def median_seconds(asks: Iterable[Ask]) -> float:
    """The median time to the complete answer."""
    return statistics.median(ask.seconds for ask in asks)
