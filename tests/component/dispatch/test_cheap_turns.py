"""What a turn costs: its calls and the frames that are rendered; how soon its final follows the last word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.platforms.telegram.entity_renderer import TELEGRAM_ENTITIES
from bot.platforms.telegram.manifest import MANIFEST as TELEGRAM
from bot.render.renderer import MarkdownRenderer, Splitter
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import ScriptedRun
from tests.component.dispatch.bench import Bench

EVERY = 0.05
WORDS = 30


@dataclass
class Counted:
    """A renderer that counts how often it is asked for a frame."""

    frames: int = 0

    def renderer(self) -> MarkdownRenderer:
        return MarkdownRenderer("counted", self.growing)

    def growing(self) -> Splitter:
        inner = TELEGRAM_ENTITIES.growing()
        counted = self

        class Counting:
            def split(self, markdown: str) -> list[str]:
                counted.frames += 1
                return inner.split(markdown)

        return Counting()


@dataclass
class Timed(RecordingAdapter):
    """Writes down when a chat was shown something, and what it was."""

    now: Callable[[], float] = float
    shown_at: dict[str, list[tuple[float, str]]] = field(default_factory=dict)

    async def send(self, message: OutboundMessage) -> str:
        self.note(message.address, message.text)
        return await super().send(message)

    async def edit(self, message: OutboundMessage, message_id: str) -> None:
        self.note(message.address, message.text)
        await super().edit(message, message_id)

    def note(self, address: ReplyAddress, text: str) -> None:
        self.shown_at.setdefault(address.chat, []).append((self.now(), text))


async def write(at: Bench, runs: list[ScriptedRun], words: int) -> None:
    """Let the runs write so many words at once, word by word."""
    for number in range(words):
        for run in runs:
            run.say(f"word{number} ")
        await at.quiet()
        await at.clock.advance(EVERY)


@pytest.mark.parametrize(("kind", "most"), [(ChatKind.PRIVATE, 0.1), (ChatKind.GROUP, 0.3)])
@pytest.mark.parametrize("words", [0, 7, 26, 31])
async def test_the_final_follows_the_last_word_at_once(
    at: Bench, kind: ChatKind, most: float, words: int
) -> None:
    """Typing was shown, and then a frame or none, at another distance from the last word each time."""
    adapter = Timed(renderer=TELEGRAM_ENTITIES, now=at.clock.now)
    at.adapter, at.manifest = adapter, TELEGRAM
    async with at.running():
        await adapter.hears("hi", kind=kind)
        await at.until(lambda: any(operation == "typing" for operation, _, _ in adapter.calls), step=0.01)
        run = at.runtime.runs["run-1"]
        await write(at, [run], words)
        run.say("last")
        run.end()
        ended = at.clock.now()
        await at.rest(1.0, step=0.01)
    last_at, text = adapter.shown_at["c1"][-1]
    assert text.endswith("last")
    assert last_at - ended <= most


async def test_no_frame_is_rendered_while_none_may_be_shown(at: Bench) -> None:
    counted = Counted()
    at.adapter, at.manifest = RecordingAdapter(renderer=counted.renderer()), TELEGRAM
    async with at.running():
        await at.adapter.hears("hi")
        await at.until(lambda: at.runtime.runs)
        assert at.channel is not None
        at.channel.governor.add_penalty(ReplyAddress("rec", "c1", ChatKind.PRIVATE), 60.0)
        await write(at, [at.runtime.runs["run-1"]], WORDS)
    assert counted.frames == 0


async def calls_of_a_reply(at: Bench, chats: int) -> float:
    """Return the calls of one reply if so many chats are answered at the same time."""
    adapter, at.manifest = at.adapter, TELEGRAM
    async with at.running():
        for number in range(chats):
            await adapter.hears("hi", chat=f"c{number}")
        await at.until(lambda: len(at.runtime.runs) == chats)
        runs = list(at.runtime.runs.values())
        await write(at, runs, WORDS)
        for run in runs:
            run.end()
        await at.rest(5.0)
        at.runtime.runs.clear()
    counts = Counter(operation for operation, _, _ in adapter.calls)
    adapter.calls.clear()
    assert counts["post"] == chats
    return counts.total() / chats


async def test_a_reply_takes_as_many_calls_among_many_as_alone(at: Bench) -> None:
    alone = await calls_of_a_reply(at, 1)
    assert await calls_of_a_reply(at, 8) <= alone
