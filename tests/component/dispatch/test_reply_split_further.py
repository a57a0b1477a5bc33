"""A platform refuses the form that holds most, so the reply takes several messages after all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.domain import OutboundMessage
from bot.platforms.base import TooLong
from bot.render.measure import characters
from bot.render.renderer import MarkdownRenderer
from bot.render.split import GrowingSplit
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.bench import Bench

SMALL = MarkdownRenderer("small", lambda: GrowingSplit(limit=600, measure=characters))
LARGE = MarkdownRenderer("large", lambda: GrowingSplit(limit=6000, measure=characters))
WORDS = [f"w{number:04d}" for number in range(300)]
TEXT = " ".join(WORDS)


@dataclass
class TwoForms(RecordingAdapter):
    """Takes texts of 6000 characters while `takes_large`, else of 600."""

    takes_large: bool = False
    refusals: list[int] = field(default_factory=list)

    async def send(self, message: OutboundMessage) -> str:
        self._check(message)
        return await super().send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        self._check(message)
        await super().edit(message, message_id)

    async def draft(self, message: OutboundMessage, draft_id: int) -> None:
        self._check(message)
        await super().draft(message, draft_id)

    def _check(self, message: OutboundMessage) -> None:
        if not self.takes_large and len(message.text) > 600:
            self.refusals.append(len(message.text))
            raise TooLong(SMALL)


def use(at: Bench, **options: Any) -> TwoForms:
    adapter = TwoForms(renderer=LARGE, **options)
    at.adapter = adapter
    return adapter


def words(adapter: TwoForms) -> list[str]:
    return " ".join(adapter.texts()).split()


async def begin(at: Bench) -> ScriptedRun:
    await at.until(lambda: at.runtime.runs)
    return at.runtime.runs["run-1"]


async def test_a_reply_that_fits_the_large_form_is_one_message(at: Bench) -> None:
    adapter = use(at, takes_large=True)
    async with at.running():
        await adapter.hears("hi")
        run = await begin(at)
        run.say(TEXT)
        run.end()
        await at.rest(6.0)
    assert adapter.texts() == [TEXT]


async def test_a_refused_final_becomes_several_messages(at: Bench) -> None:
    adapter = use(at)
    async with at.running():
        await adapter.hears("hi")
        run = await begin(at)
        run.say(TEXT)
        run.end()
        await at.rest(20.0)
    assert words(adapter) == WORDS
    assert len(adapter.texts()) == 4 and len(adapter.refusals) == 1


@pytest.mark.parametrize("drafts", [False, True])
async def test_a_stream_goes_on_in_smaller_parts(at: Bench, drafts: bool) -> None:
    """The refusal of one frame is enough: the later ones and the final fit."""
    adapter = use(at, drafts=drafts)
    async with at.running():
        await adapter.hears("hi")
        run = await begin(at)
        for number, word in enumerate(WORDS):
            run.say(f"{word} ")
            if number % 4 == 0:
                await at.clock.advance(0.2)
                await at.quiet()
        run.end()
        await at.rest(20.0)
    assert words(adapter) == WORDS
    assert len(adapter.refusals) == 1


async def test_a_message_that_holds_more_than_it_may_now_is_shortened(at: Bench) -> None:
    adapter = use(at, takes_large=True)
    async with at.running():
        await adapter.hears("hi")
        run = await begin(at)
        run.say(f"{TEXT} ")
        await at.clock.advance(3.0)
        await at.quiet()
        assert len(words(adapter)) == len(WORDS)
        adapter.takes_large = False
        run.say("end")
        run.end()
        await at.rest(20.0)
    assert words(adapter) == [*WORDS, "end"]
    assert all(len(text) <= 600 for text in adapter.texts())
