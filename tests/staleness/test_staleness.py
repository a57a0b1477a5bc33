"""A reply of 3,000 tokens in a minute, on every platform at once: how far what is shown lags behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from tests.harness.judge import until
from tests.harness.service import ServiceProcess
from tests.staleness.chats import Chat, chats, config, emulators
from tests.staleness.model import order, times, tokens
from tests.staleness.optimum import Optimum, optimum
from tests.staleness.schedule import Call, lag_of

pytestmark = [pytest.mark.soak, pytest.mark.may_block, pytest.mark.timeout(300)]

MOST = 1.3
"""For Feishu, with ten frames a second, that leaves 12 ms from the model to the card."""


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


@pytest.mark.parametrize(("count", "most"), [(3000, MOST), (500, 0.0)], ids=["minute", "ten_seconds"])
async def test_a_steady_reply_is_shown_nearly_as_soon_as_it_may_be(
    tmp_path: Path, count: int, most: float
) -> None:
    async with emulators() as served:
        service = ServiceProcess(tmp_path / "home", config(served))
        service.start()
        try:
            await service.ready()
            await until(lambda: served.discord.gateway.session, 20.0, service.log)
            places = chats(served)
            measured = await asyncio.gather(*(ask(place, tmp_path / "home", count) for place in places))
        finally:
            service.stop()
    print("", *measured, sep="\n")
    for place in places:
        assert place.emulator.counters()["limited"] == 0, place.name
    late = [str(one) for one in measured if most and one.ratio > most]
    assert not late


async def ask(chat: Chat, home: Path, count: int) -> Measured:
    """Ask in one chat and wait for the whole answer."""
    place = chat.asks(order(chat.name, count, 0.02))

    def complete() -> bool:
        return not chat.open(place) and heard(chat, place) == list(range(1, count + 1))

    await until(complete, count * 0.02 * 1.5 + 30.0, lambda: f"{chat.name}: {chat.texts(place)}")
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
