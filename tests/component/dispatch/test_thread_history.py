"""On a first mention in a thread the agent is told what stands there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from agent.shared.envelope import without_envelopes
from bot.domain import ChatKind, HistoryMessage, InboundMessage, Origin, ReplyAddress, Sender
from bot.errors import DeliveryCategory, DeliveryError
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench

SAID = (
    HistoryMessage("m1", Sender("30", "Cleo"), 'lunch? "now"', 1_000_000.0, "https://chat.example/m1"),
    HistoryMessage("m2", Sender("31", "Dan"), "pizza", 1_000_001.0),
)


@dataclass(slots=True)
class Reading(RecordingAdapter):
    """A platform whose threads can be read."""

    said: Sequence[HistoryMessage] = SAID
    asked: list[tuple[str, str]] = field(default_factory=list)
    problem: DeliveryError | None = None

    async def earlier(self, address: ReplyAddress, before: str, limit: int) -> Sequence[HistoryMessage]:
        self.asked.append((address.topic, before))
        if self.problem is not None:
            raise self.problem
        return self.said[-limit:]


@pytest.fixture
def reading(at: Bench) -> Reading:
    at.adapter = Reading()
    at.runtime.script = answer_with("noted")
    return at.adapter


async def mentions(at: Bench, text: str, topic: str = "t1", chat: str = "group") -> str:
    """What the agent reads when somebody turns to it in a thread."""
    context, before = at.adapter.context, len(at.runtime.runs)
    assert context is not None
    number = f"x{before}-{topic}"
    sender = Sender("7", "Ann")
    origin = Origin("rec", "recording", chat, ChatKind.GROUP, number, sender, topic)
    await context.inbox.accept([InboundMessage(f"e{number}", origin, text, at.clock.now())])
    await at.until(lambda: len(at.runtime.runs) > before)
    await at.rest(0.5)
    content: str = without_envelopes([*at.runtime.runs.values()][-1].request.messages[0]["content"])
    return content


async def test_a_first_mention_brings_what_stands_there(at: Bench, reading: Reading) -> None:
    async with at.running():
        read = await mentions(at, "what do they want?")
        assert '"Cleo" (recording:30) "lunch? \\"now\\"" https://chat.example/m1' in read
        assert '"Dan" (recording:31) "pizza"' in read
        assert read.endswith("what do they want?")
        assert "pizza" not in await mentions(at, "and now?")
        assert reading.asked == [("t1", "x0-t1")]


async def test_an_answer_mentions_who_wrote_there(at: Bench, reading: Reading) -> None:
    at.runtime.script = answer_with("@Cleo and @Dan, not @Eve")
    async with at.running():
        await mentions(at, "who was it?")
        await at.until(lambda: at.adapter.texts("group"))
    assert at.adapter.texts("group") == ["<@30> and <@31>, not @Eve"]


async def test_outside_of_threads_nothing_is_read(at: Bench, reading: Reading) -> None:
    async with at.running():
        assert "pizza" not in await mentions(at, "hello", topic="")
    assert reading.asked == []


async def test_what_cannot_be_read_holds_nothing_up(at: Bench, reading: Reading) -> None:
    reading.problem = DeliveryError(DeliveryCategory.PERMISSION, "missing_scope")
    async with at.running():
        assert (await mentions(at, "hello")).endswith("hello")


async def test_a_blocked_person_is_not_heard(at: Bench, reading: Reading) -> None:
    async with at.running():
        at.role = None
        await at.adapter.hears("/role recording:31 blocked", person="9")
        await at.rest(1.0)
        read = await mentions(at, "hello")
        assert "Cleo" in read
        assert "pizza" not in read
