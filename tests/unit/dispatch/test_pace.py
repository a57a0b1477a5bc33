"""How far the schedule by itself lags behind the best one: no latency, a clock of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

import pytest

from bot.clock import Clock
from bot.domain import ChatKind, OutboundMessage
from bot.render.port import TELEGRAM_ENTITIES
from bot.testing.adapter import RecordingAdapter
from tests.staleness.model import token, tokens
from tests.staleness.optimum import optimum
from tests.staleness.schedule import Call, Kind, Rule, Table, lag_of
from tests.unit.dispatch.bench import Bench

COUNT, EVERY, MOST = 3000, 0.02, 1.3
PRIVATE = Table((Rule(1, 1.0),))
GROUP = Table((Rule(1, 1.0), Rule(20, 60.0)))


@dataclass
class Timed(RecordingAdapter):
    """Writes down when how many tokens could be read."""

    clock: Clock | None = None
    shown_at: list[Call] = field(default_factory=list)

    async def send(self, message: OutboundMessage) -> str:
        identity = await super().send(message)
        self._note(Kind.POST)
        return identity

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        await super().edit(message, message_id)
        self._note(Kind.EDIT)

    def _note(self, kind: Kind) -> None:
        assert self.clock is not None
        seen = max(max(tokens(text)) for text in self.texts())
        self.shown_at.append(Call(self.clock.now(), kind, seen))


@pytest.mark.parametrize(("kind", "table"), [(ChatKind.PRIVATE, PRIVATE), (ChatKind.GROUP, GROUP)])
async def test_a_minute_is_shown_nearly_as_well_as_it_may_be(at: Bench, kind: ChatKind, table: Table) -> None:
    adapter = Timed(renderer=TELEGRAM_ENTITIES, clock=at.clock)
    at.adapter = adapter
    arrivals: list[float] = []
    async with at.running():
        await adapter.hears("hi", kind=kind)
        await at.until(lambda: at.runtime.runs)
        run = at.runtime.runs["run-1"]
        for number in range(1, COUNT + 1):
            run.say(token(number))
            arrivals.append(at.clock.now())
            await at.clock.settle()
            await at.clock.advance(EVERY)
        run.end()
        await at.rest(5.0, step=EVERY)
    borders = list(accumulate(len(tokens(text)) for text in adapter.texts()))
    best = optimum(arrivals, borders, table)
    ratio = lag_of(arrivals, adapter.shown_at) / best.lag
    assert borders[-1] == COUNT
    assert ratio <= MOST, (ratio, [(f"{call.at - arrivals[0]:.2f}", call.shown) for call in adapter.shown_at])
