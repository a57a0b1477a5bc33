"""A reply that grows over the borders of its parts: no word vanishes, no call is wasted."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bot.domain import OutboundMessage
from bot.render.measure import characters
from bot.render.renderer import MarkdownRenderer
from bot.render.split import GrowingSplit
from roebot_testing.adapter import RecordingAdapter
from tests.component.dispatch.bench import Bench

WORDS = [f"w{number:04d}" for number in range(400)]
RENDERER = MarkdownRenderer("small", lambda: GrowingSplit(limit=600, measure=characters))


@dataclass
class Logged(RecordingAdapter):
    """Writes down what can be read after each call, and how often a message became shorter."""

    views: list[list[str]] = field(default_factory=list)
    shorter: int = 0

    async def send(self, message: OutboundMessage) -> str:
        identity = await super().send(message)
        self.views.append(self.texts())
        return identity

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        before = len(self.shown[message_id].text)
        await super().edit(message, message_id)
        self.shorter += len(message.text) < before
        self.views.append(self.texts())


def words(view: list[str]) -> list[str]:
    return "\n\n".join(view).split()


async def speak(at: Bench, said: list[str], every: float) -> Logged:
    """Say these words in paragraphs of 25, one after another, and end."""
    adapter = Logged(renderer=RENDERER)
    at.adapter = adapter
    async with at.running():
        await adapter.hears("hi")
        await at.until(lambda: at.runtime.runs)
        run = at.runtime.runs["run-1"]
        for number, word in enumerate(said, 1):
            run.say(word + ("\n\n" if number % 25 == 0 else " "))
            await at.clock.advance(every)
            await at.quiet()
        run.end()
        await at.rest(6.0)
    assert words(adapter.texts()) == said
    return adapter


async def test_no_word_vanishes_and_no_call_takes_back(at: Bench) -> None:
    adapter = await speak(at, WORDS, 0.04)
    assert len(adapter.texts()) >= 4
    for before, after in zip(adapter.views, adapter.views[1:], strict=False):
        assert set(words(before)) <= set(words(after))
    assert adapter.shorter == 0


@pytest.mark.parametrize("count", [88, 92, 96, 99])
async def test_what_a_full_part_holds_back_shows_once_the_text_rests(at: Bench, count: int) -> None:
    """The border before which a frame stops is a guess: it may never be needed."""
    adapter = Logged(renderer=RENDERER)
    at.adapter = adapter
    async with at.running():
        await adapter.hears("hi")
        await at.until(lambda: at.runtime.runs)
        run = at.runtime.runs["run-1"]
        for number, word in enumerate(WORDS[:count], 1):
            run.say(word + ("\n\n" if number % 25 == 0 else " "))
            await at.clock.advance(0.04)
            await at.quiet()
        await at.rest(4.0)
        assert words(adapter.texts()) == WORDS[:count]
        run.end()
        await at.rest(3.0)
    assert words(adapter.texts()) == WORDS[:count]
