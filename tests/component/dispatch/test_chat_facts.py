"""What a run is told about the chat that it answers in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from agent.core.chat_facts import ChatFacts
from agent.shared.run_identity import CHAT_FACTS
from bot.domain import ChatDescription, ChatKind, Origin, ReplyAddress, Sender
from bot.errors import DeliveryCategory, DeliveryError
from roebot_testing.adapter import RecordingAdapter
from roebot_testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed


def told(at: Bench) -> dict[str, Any]:
    facts: dict[str, Any] = list(at.runtime.runs.values())[-1].request.configurable[CHAT_FACTS]
    return facts


async def test_a_private_chat(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at)
    assert told(at) == {
        "app": "Recording",
        "kind": "private",
        "zone": "UTC",
        "today": "1970-01-12",
        "thread": False,
        "recorded": False,
        "formatting": "",
        "command": "/help",
        "services": ["schedule"],
    }
    assert ChatFacts.parse(told(at)) is not None


async def test_a_recorded_thread_in_its_time_zone(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    origin = Origin("rec", "recording", "c1", ChatKind.GROUP, "u9", Sender("7", "P7"), topic="t1")
    async with at.running():
        await at.adapter.hears("/record on", kind=ChatKind.GROUP)
        await at.adapter.hears("/digest zone Pacific/Auckland", kind=ChatKind.GROUP)
        await closed(at, 2)
        await at.adapter.hears("hi", origin=origin)
        await at.until(lambda: at.runtime.runs)
    facts = told(at)
    assert (facts["kind"], facts["thread"], facts["recorded"]) == ("group", True, True)
    assert facts["services"] == ["read_chat", "schedule"]
    assert (facts["zone"], facts["today"]) == ("Pacific/Auckland", "1970-01-13")


@dataclass(slots=True)
class Describing(RecordingAdapter):
    """A platform that knows what its chats are called."""

    problem: DeliveryError | None = None

    async def describe_chat(self, address: ReplyAddress) -> ChatDescription:
        if self.problem is not None:
            raise self.problem
        return ChatDescription("ops", 14, "public")


@pytest.mark.parametrize("problem", [None, DeliveryError(DeliveryCategory.TRANSIENT, "down")])
async def test_a_group_has_the_name_that_the_platform_tells(at: Bench, problem: DeliveryError | None) -> None:
    at.adapter, at.runtime.script = Describing(problem=problem), answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi", kind=ChatKind.GROUP)
        await at.until(lambda: at.runtime.runs)
    facts = told(at)
    found = (facts.get("title"), facts.get("people"), facts.get("visibility"))
    assert found == ((None, None, None) if problem else ("ops", 14, "public"))


async def test_a_private_chat_is_not_described(at: Bench) -> None:
    at.adapter, at.runtime.script = Describing(), answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at)
    assert "title" not in told(at)


async def test_a_group_tells_what_an_answer_can_mention(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi", kind=ChatKind.GROUP)
        await closed(at)
    assert told(at)["mentions"] == "people, channels"
