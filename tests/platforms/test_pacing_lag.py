"""How far each platform's schedule by itself lags behind the best one: no latency, a clock of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

import pytest

from bot.clock import Clock
from bot.domain import ChatKind, OutboundMessage
from bot.platforms.discord.manifest import MANIFEST as DISCORD
from bot.platforms.discord.renderer import DISCORD as DISCORD_TEXT
from bot.platforms.feishu.manifest import MANIFEST as FEISHU
from bot.platforms.feishu.renderer import FEISHU as FEISHU_CARD
from bot.platforms.manifest import Manifest
from bot.platforms.slack.manifest import MANIFEST as SLACK
from bot.platforms.slack.renderer import SLACK as SLACK_TEXT
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES
from bot.platforms.telegram.manifest import MANIFEST as TELEGRAM
from bot.render.renderer import Renderer
from roebot_testing.adapter import RecordingAdapter
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.conftest import at
from tests.staleness.model import token, tokens
from tests.staleness.optimum import optimum
from tests.staleness.schedule import Call, Kind, Rule, Table, lag_of

__all__ = ["at"]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]
COUNT, EVERY, MOST = 3000, 0.02, 1.3
SECOND = Rule(1, 1.0)
POSTS, EDITS = frozenset({Kind.POST}), frozenset({Kind.EDIT})


@dataclass(frozen=True)
class Place:
    """A kind of chat, and what its platform allows (tests/staleness/chats.py, without what cannot bind)."""

    name: str
    manifest: Manifest
    renderer: Renderer
    table: Table
    kind: ChatKind = ChatKind.PRIVATE


PLACES = (
    Place("telegram", TELEGRAM, TELEGRAM_ENTITIES, Table((SECOND,))),
    Place("telegram_group", TELEGRAM, TELEGRAM_ENTITIES, Table((SECOND, Rule(20, 60.0))), ChatKind.GROUP),
    Place("slack", SLACK, SLACK_TEXT, Table((Rule(1, 1.0, POSTS), Rule(100, 60.0, EDITS)))),
    Place("feishu", FEISHU, FEISHU_CARD, Table((Rule(5, 1.0, POSTS), Rule(10, 1.0, EDITS)))),
    Place("discord", DISCORD, DISCORD_TEXT, Table((Rule(5, 5.0, POSTS), Rule(5, 5.0, EDITS)))),
)


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


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
async def test_a_minute_is_shown_nearly_as_well_as_it_may_be(at: Bench, place: Place) -> None:
    adapter = Timed(renderer=place.renderer, clock=at.clock)
    at.adapter, at.manifest = adapter, place.manifest
    arrivals: list[float] = []
    async with at.running():
        await adapter.hears("hi", kind=place.kind)
        await at.until(lambda: at.runtime.runs)
        run = at.runtime.runs["run-1"]
        for number in range(1, COUNT + 1):
            run.say(token(number))
            arrivals.append(at.clock.now())
            await at.quiet()
            await at.clock.advance(EVERY)
        run.end()
        await at.rest(5.0, step=EVERY)
    borders = list(accumulate(len(tokens(text)) for text in adapter.texts()))
    best = optimum(arrivals, borders, place.table)
    ratio = lag_of(arrivals, adapter.shown_at) / best.lag
    assert borders[-1] == COUNT
    assert ratio <= MOST, (ratio, [(f"{call.at - arrivals[0]:.2f}", call.shown) for call in adapter.shown_at])
