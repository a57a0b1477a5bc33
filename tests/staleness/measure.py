"""A reply at a steady pace on real platforms' emulators: how far what is shown lags behind."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.harness.service import ServiceProcess
from tests.harness.waiters import until
from tests.staleness.chats import Chat, chats, config, emulators
from tests.staleness.model import order, times, tokens
from tests.staleness.optimum import Optimum, optimum
from tests.staleness.schedule import Call, lag_of

EVERY = 0.02
"""Seconds from one token to the next."""


@dataclass(frozen=True)
class Measured:
    """One reply: what was called, how far it lagged, and how far it had to (token-seconds)."""

    name: str
    parts: int
    calls: list[Call]
    seconds: float
    lag: float
    best: Optimum

    @property
    def ratio(self) -> float:
        return self.lag / self.best.lag

    def __str__(self) -> str:
        exact = "" if self.best.exact else " (bound)"
        return (
            f"{self.name:15} {self.parts} messages, {len(self.calls):3} calls, staleness "
            f"{self.lag / self.seconds:6.2f} tokens, optimum {self.best.lag / self.seconds:6.2f}{exact} with "
            f"{len(self.best.calls):3} calls: {self.ratio:.3f}"
        )


async def replies(home: Path, names: Collection[str], count: int) -> list[Measured]:
    """A reply of so many tokens in each of these chats at once. Whoever was limited fails."""
    async with emulators() as served:
        service = ServiceProcess(home, config(served))
        await asyncio.to_thread(service.start)
        try:
            await service.ready()
            await until(lambda: served.discord.gateway.session, 20.0, service.log)
            places = [place for place in chats(served) if place.name in names]
            assert len(places) == len(names)
            measured = await asyncio.gather(*(ask(place, home, count) for place in places))
        finally:
            await asyncio.to_thread(service.stop)
        for place in places:
            assert place.emulator.counters()["limited"] == 0, place.name
    return measured


async def ask(chat: Chat, home: Path, count: int) -> Measured:
    """Ask in one chat and wait for the whole answer."""
    place = chat.asks(order(chat.name, count, EVERY))

    def complete() -> bool:
        return not chat.open(place) and heard(chat, place) == list(range(1, count + 1))

    await until(complete, count * EVERY * 1.5 + 30.0, lambda: f"{chat.name}: {chat.texts(place)}")
    await asyncio.sleep(2.0)
    assert complete(), f"{chat.name}: {chat.texts(place)}"
    arrivals, calls = times(home, chat.name), chat.calls(place)
    borders = list(accumulate(len(tokens(text)) for text in chat.texts(place)))
    best = await asyncio.to_thread(optimum, arrivals, borders, chat.table)
    lag = lag_of(arrivals, calls)
    return Measured(chat.name, len(borders), calls, arrivals[-1] - arrivals[0], lag, best)


def heard(chat: Chat, place: Any) -> list[int]:
    """The tokens of all messages, in order."""
    return [number for text in chat.texts(place) for number in tokens(text)]
